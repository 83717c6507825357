/* Slots in C: an old array of pointers, 2 N / 5 of them, into which new pairs are
   stored at random. A program includes its memory.h before this. */
#ifndef PEERS_SLOTS_H
#define PEERS_SLOTS_H

#include "common.h"
#include "threads.h"

#define DEFAULT_STORES 20000000
#define MAX_STORES (UINT64_C(1) << 32)

/* Room for two pointers, here none, and a number twice. */
struct pair {
    struct pair *pointers[2];
    uint64_t numbers[2];
};

static inline struct pair *new_pair(uint64_t r) {
    struct pair *pair = check_memory(POINTER_MEMORY(sizeof *pair));
    *pair = (struct pair){{NULL, NULL}, {r, r + 1}};
    return pair;
}

static inline void slots(uint64_t stores, struct report *report) {
    uint64_t rng = SEED, replaced = 0, count = stores < 5 ? 1 : stores * 2 / 5;
    /* On the stack, where a conservative collector sees it. */
    struct pair **volatile kept = check_memory(TABLE_MEMORY(count * sizeof *kept));
    struct pair **array = kept;
    for (uint64_t i = 0; i < stores; i++) {
        uint64_t r = next_random(&rng);
        struct pair **slot = array + (r & 0xffffffff) % count;
        if (*slot != NULL) {
            replaced++;
            RELEASE(*slot);
        }
        *slot = new_pair(r);
    }
    uint64_t checksum = replaced;
    for (uint64_t i = 0; i < count; i++) {
        if (array[i] == NULL) continue;
        checksum = checksum * 31 + array[i]->numbers[0] + array[i]->numbers[1];
        RELEASE(array[i]);
    }
    report_checksum("slots", "stores", stores, checksum, report);
    RELEASE(array);
}

#endif
