/* Frag in C: objects of 100 bytes to two kilobytes without pointers, 15 of 16 of
   which die soon, beside 60,000 long-lived ones, while the sizes drift in eight
   phases. Only the ends of an object are written. A program includes its memory.h
   before this. */
#ifndef PEERS_FRAG_H
#define PEERS_FRAG_H

#include "common.h"
#include "object.h"
#include "threads.h"

enum { LONG_LIVED = 60000, SHORT_LIVED = 2048, PHASES = 8 };
#define DEFAULT_ALLOCATIONS 1500000
#define MAX_ALLOCATIONS (UINT64_C(1) << 45)

/* Whole words of a range that moves from phase to phase. In every other phase it is
   narrow. */
static inline size_t object_bytes(uint64_t phase, uint64_t r) {
    uint64_t range = phase % 2 == 0 ? 1900 - 200 * phase : 300;
    return (size_t)((100 + 200 * phase + (r >> 32) % range) & ~UINT64_C(7));
}

static inline uint64_t **new_table(size_t slots) {
    return check_memory(TABLE_MEMORY(slots * sizeof(uint64_t *)));
}

static inline void drop_table(uint64_t **table, size_t slots) {
    for (size_t i = 0; i < slots; i++) RELEASE(table[i]);
    RELEASE(table);
}

static inline void frag(uint64_t allocations, struct report *report) {
    uint64_t rng = SEED, checksum = 0;
    /* On the stack, where a conservative collector sees them. */
    uint64_t **volatile long_lived = new_table(LONG_LIVED);
    uint64_t **volatile short_lived = new_table(SHORT_LIVED);
    for (uint64_t phase = 0; phase < PHASES; phase++) {
        for (uint64_t n = 0; n < allocations; n++) {
            uint64_t r = next_random(&rng), s = next_random(&rng);
            uint64_t **slot = s % 16 == 0 ? long_lived + (s >> 32) % LONG_LIVED
                                          : short_lived + (s >> 32) % SHORT_LIVED;
            if (*slot != NULL) {
                checksum = add_to_checksum(checksum, *slot);
                RELEASE(*slot);
            }
            size_t bytes = object_bytes(phase, r);
            *slot = check_memory(PLAIN_MEMORY(bytes));
            write_ends(*slot, bytes, r);
        }
    }
    report_checksum("frag", "allocations", PHASES * allocations, checksum, report);
    drop_table(long_lived, LONG_LIVED);
    drop_table(short_lived, SHORT_LIVED);
}

#endif
