/* What a prefetch in hw_alloc is worth, by what becomes of an object: docs/design/prefetch.md.
 *
 *     cc -O2 -DHW_PREFETCH=512 -I crates/heapwood-c/include docs/programs/prefetch.c \
 *        target/release/libheapwood.a -lpthread -lm -ldl -lgcc_s -o prefetch-512
 *
 * prints the nanoseconds of an object for each kind and size, collections included. Nothing survives. -1 is no prefetch, 0 the
 * object, 64 the next line of the run, other numbers so many bytes ahead.
 */
#include <heapwood.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BYTES = 1 << 30 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

/* Where an address is left that nothing scans. */
static volatile uintptr_t place;

/* Objects that nobody writes to; or that are filled at once. One function for each, so that each has a loop of its own. */
#define LOOP(name, fill)                                                                             \
    __attribute__((noinline)) static void name(hw_mutator *m, hw_type type, size_t size, size_t n) { \
        for (size_t i = 0; i < n; i++) {                                                             \
            char *object = hw_alloc(m, type);                                                        \
            fill;                                                                                    \
            place = (uintptr_t)object;                                                               \
        }                                                                                            \
        (void)size;                                                                                  \
    }

LOOP(untouched, (void)0)
LOOP(filled, memset(object, 1, size))
LOOP(zeroed_and_filled, memset(object, 0, size))

static void check(hw_status status) {
    if (status != HW_OK) exit(1);
}

int main(void) {
    hw_heap *heap;
    hw_mutator *m;
    hw_error why;
    check(hw_heap_create(NULL, &heap, &why));
    check(hw_attach(heap, NULL, &m, &why));
    static const size_t sizes[] = {16, 32, 64, 256};
    struct {
        const char *name;
        int pointers;
        void (*loop)(hw_mutator *, hw_type, size_t, size_t);
    } kinds[] = {
        {"no pointers, not zeroed, untouched", 0, untouched},
        {"no pointers, not zeroed, filled", 0, filled},
        {"pointers, zeroed, untouched", 1, untouched},
        {"pointers, zeroed, filled", 1, zeroed_and_filled},
    };
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            hw_type type;
            uint64_t mask = sizes[s] == 256 ? (1ull << 32) - 1 : (1ull << sizes[s] / 8) - 1;
            check(kinds[k].pointers ? hw_type_mask(heap, sizes[s], &mask, 1, &type, &why)
                                    : hw_type_no_pointers(heap, sizes[s], &type, &why));
            size_t n = BYTES / sizes[s];
            kinds[k].loop(m, type, sizes[s], n / 10);
            double start = now();
            kinds[k].loop(m, type, sizes[s], n);
            printf("%s, %zu bytes: %.3f\n", kinds[k].name, sizes[s], (now() - start) / n);
        }
    }
    check(hw_detach(m));
    check(hw_heap_destroy(heap, &why));
}
