/* Queue in C: objects of 64 bytes without pointers that wait in a queue as long as
   N / 40, and die in the order in which they came. A program includes its memory.h
   before this. */
#ifndef PEERS_QUEUE_H
#define PEERS_QUEUE_H

#include "common.h"
#include "threads.h"

enum { ROUNDS = 40 };
#define DEFAULT_ALLOCATIONS 40000000
#define MAX_ALLOCATIONS (UINT64_C(1) << 36)

struct item {
    uint64_t words[8];
};

static inline struct item *new_item(uint64_t number) {
    struct item *item = check_memory(PLAIN_MEMORY(sizeof *item));
    for (uint64_t k = 0; k < 8; k++) item->words[k] = number + k;
    return item;
}

/* Adds the oldest item, if there is one, to the checksum, and drops it. */
static inline uint64_t drop_item(struct item *item, uint64_t checksum) {
    if (item == NULL) return checksum;
    checksum = checksum * 31 + item->words[0] + item->words[7];
    RELEASE(item);
    return checksum;
}

static inline void queue(uint64_t allocations, struct report *report) {
    uint64_t length = allocations < ROUNDS ? 1 : allocations / ROUNDS, at = 0, checksum = 0;
    /* On the stack, where a conservative collector sees it. */
    struct item **volatile kept = check_memory(TABLE_MEMORY(length * sizeof *kept));
    struct item **places = kept;
    for (uint64_t number = 0; number < allocations; number++) {
        checksum = drop_item(places[at], checksum);
        places[at] = new_item(number);
        if (++at == length) at = 0;
    }
    for (uint64_t left = length; left > 0; left--) {
        checksum = drop_item(places[at], checksum);
        if (++at == length) at = 0;
    }
    report_checksum("queue", "allocations", allocations, checksum, report);
    RELEASE(places);
}

#endif
