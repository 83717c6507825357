/* Finalisers with libgc: GC_register_finalizer_no_order, with the handle as its data.
   N objects without pointers that own a handle outside the heap, 10,000 alive; libgc
   calls the finalisers of dead ones inside later allocations, its default. */
#include "memory.h"
#include "stray.h"

#include "../gaps.h"

#define DEFAULT_OBJECTS 5000000
#define MAX_OBJECTS (UINT64_C(1) << 31)
enum { ALIVE = 10000 };

struct port {
    uint64_t number, position;
};

/* Handles are open or closed, each closed once. */
static struct {
    bool *is_closed;
    uint64_t closed, checksum;
} handles;

static void close_handle(uint64_t number) {
    if (handles.is_closed[number]) {
        fputs("a handle was closed twice\n", stderr);
        exit(1);
    }
    handles.is_closed[number] = true;
    handles.closed++;
    handles.checksum += number * UINT64_C(0x9E3779B97F4A7C15) >> 7;
}

static void GC_CALLBACK close_handle_of(void *object, void *handle) {
    (void)object;
    close_handle((uint64_t)(uintptr_t)handle);
}

static __attribute__((noinline)) void make(uint64_t n, struct gaps *gaps) {
    uint64_t places = n < ALIVE ? n : ALIVE, at = 0;
    /* On the stack, where a conservative collector sees it. */
    struct port **volatile kept = check_memory(TABLE_MEMORY(places * sizeof *kept));
    struct port **table = kept;
    for (uint64_t i = 0; i < n; i++) {
        struct port *port = check_memory(PLAIN_MEMORY(sizeof *port));
        *port = (struct port){i, 0};
        GC_register_finalizer_no_order(port, close_handle_of, (void *)(uintptr_t)i, NULL, NULL);
        table[at] = port;
        if (++at == places) at = 0;
        if (i % 16 == 15) gaps_sample(gaps);
    }
    /* Nobody reads the zeros but the collector, so the compiler would leave them out. */
    memset(table, 0, places * sizeof *table);
    __asm__ volatile("" ::"r"(table) : "memory");
}

static void finalize(uint64_t n, struct report *report) {
    handles.is_closed = check_memory(calloc(n, sizeof *handles.is_closed));
    struct gaps gaps = gaps_start();
    make(n, &gaps);
    gaps_stop(&gaps);

    clear_below();
    GC_gcollect();
    GC_invoke_finalizers();
    require_few_stray(n - handles.closed, n, "handles were not closed");
    for (uint64_t i = 0; i < n; i++) {
        if (!handles.is_closed[i]) close_handle(i);
    }
    gaps_figures(n, &gaps, report);
    report_checksum("finalize", "closed", handles.closed, handles.checksum, report);
}

int main(int argc, char **argv) {
    start_collector(&argc, argv);
    return run_alone(argc, argv, DEFAULT_OBJECTS, MAX_OBJECTS, finalize);
}
