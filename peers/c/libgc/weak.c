/* Weak references with libgc: a table of hidden pointers without pointers for the
   collector, each a disappearing link. N objects of two words, all alive until every
   second one is dropped; then a collection, and each reference is read. One thread
   reads without the allocation lock, since no collection comes meanwhile. */
#include "memory.h"
#include "stray.h"

#include "../gaps.h"

#define DEFAULT_REFERENCES 10000000
#define MAX_REFERENCES (UINT64_C(1) << 31)

/* Room for a pointer, here none, and a number. */
struct node {
    struct node *pointer;
    uint64_t number;
};

static __attribute__((noinline)) void fill(struct node **kept, GC_hidden_pointer *weak, uint64_t n,
                                           struct gaps *gaps) {
    for (uint64_t i = 0; i < n; i++) {
        struct node *node = check_memory(POINTER_MEMORY(sizeof *node));
        node->number = i;
        kept[i] = node;
        weak[i] = GC_HIDE_POINTER(node);
        if (GC_general_register_disappearing_link((void **)&weak[i], node) == GC_NO_MEMORY) {
            check_memory(NULL);
        }
        if (i % 16 == 15) gaps_sample(gaps);
    }
}

static void weak(uint64_t n, struct report *report) {
    /* On the stack, where a conservative collector sees them. */
    struct node **volatile kept = check_memory(TABLE_MEMORY(n * sizeof *kept));
    GC_hidden_pointer *volatile links =
        check_memory(GC_MALLOC_ATOMIC_IGNORE_OFF_PAGE(n * sizeof *links));
    struct gaps gaps = gaps_start();
    fill(kept, links, n, &gaps);
    gaps_stop(&gaps);

    for (uint64_t i = 1; i < n; i += 2) kept[i] = NULL;
    clear_below();
    uint64_t start = monotonic_ns();
    GC_gcollect();
    uint64_t collect = monotonic_ns() - start;

    uint64_t alive = 0, stray = 0, checksum = 0;
    for (uint64_t i = 0; i < n; i++) {
        /* A cleared link is 0, not a hidden one. */
        if (links[i] == 0) continue;
        struct node *node = GC_REVEAL_POINTER(links[i]);
        if (i % 2 == 0) {
            alive++;
            checksum = checksum * 31 + node->number;
        } else {
            stray++;
        }
    }
    require_few_stray(stray, n, "weak references of dropped objects were not cleared");
    gaps_figures(n, &gaps, report);
    report_checksum("weak", "alive", alive, checksum, report);
    report_largest(report, "collect_s", (double)collect / 1e9);
}

int main(int argc, char **argv) {
    start_collector(&argc, argv);
    return run_alone(argc, argv, DEFAULT_REFERENCES, MAX_REFERENCES, weak);
}
