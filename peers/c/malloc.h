/* Malloc in C: objects of seven kinds, each made, its address stored, and dropped at
   once. Before including this, a program defines
     PLAIN_MEMORY(bytes)    zeroed, for what has no pointers,
     POINTER_MEMORY(bytes)  zeroed, for what has,
   and
     RELEASE(p)
   for what is no longer used; it may do nothing. */
#ifndef PEERS_MALLOC_H
#define PEERS_MALLOC_H

#include "common.h"
#include "threads.h"

enum { UNIT = 1000, WARM_UP = 10, LARGE_STRUCTS = 768 };
#define DEFAULT_THOUSANDS 30000
#define MAX_THOUSANDS (UINT64_C(1) << 40)

/* Where a thread leaves the address of the last object, as an integer: memory of the
   C library, at which no collector looks, two cache lines of its own. Volatile, so
   that the compiler leaves no object out. */
typedef volatile uintptr_t place;

/* A loop of its own for each kind, which knows the size. */
#define KIND(name, memory, bytes)                                           \
    static __attribute__((noinline)) void allocate_##name(place *place,     \
                                                          uint64_t count) { \
        for (uint64_t i = 0; i < count; i++) {                              \
            void *object = check_memory(memory(bytes));                     \
            *place = (uintptr_t)object;                                     \
            RELEASE(object);                                                \
        }                                                                   \
    }
KIND(malloc8, PLAIN_MEMORY, 8)
KIND(malloc16, PLAIN_MEMORY, 16)
KIND(malloc32, PLAIN_MEMORY, 32)
KIND(typeinfo8, POINTER_MEMORY, 8)
KIND(typeinfo16, POINTER_MEMORY, 16)
KIND(typeinfo32, POINTER_MEMORY, 32)
KIND(largestruct, POINTER_MEMORY, LARGE_STRUCTS)
#undef KIND

static const struct kind {
    const char *name, *figure;
    uint64_t bytes, one_of;
    void (*allocate)(place *place, uint64_t count);
} kinds[] = {
    {"malloc8", "malloc8_ns", 8, 1, allocate_malloc8},
    {"malloc16", "malloc16_ns", 16, 1, allocate_malloc16},
    {"malloc32", "malloc32_ns", 32, 1, allocate_malloc32},
    {"typeinfo8", "typeinfo8_ns", 8, 1, allocate_typeinfo8},
    {"typeinfo16", "typeinfo16_ns", 16, 1, allocate_typeinfo16},
    {"typeinfo32", "typeinfo32_ns", 32, 1, allocate_typeinfo32},
    {"largestruct", "largestruct_ns", LARGE_STRUCTS, 8, allocate_largestruct},
};

static void allocate_and_drop(uint64_t n, struct report *report) {
    place *place = check_memory(aligned_alloc(128, 128));
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        const struct kind *kind = &kinds[k];
        uint64_t allocations = n * UNIT / kind->one_of;
        kind->allocate(place, allocations / WARM_UP);
        uint64_t start = monotonic_ns();
        kind->allocate(place, allocations);
        double ns = (double)(monotonic_ns() - start) / (double)allocations;
        fprintf(report->lines, "%s allocations %" PRIu64 " bytes %" PRIu64 "\n", kind->name,
                allocations, allocations * kind->bytes);
        report_largest(report, kind->figure, ns);
    }
    free((void *)place);
}

#endif
