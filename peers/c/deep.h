/* Deep in C: a recursion of N calls, each of which holds an object, and at its bottom
   half a million objects that die at once. Each call keeps a few numbers beside its
   object. The stack is that of a thread of its own. A program includes its memory.h
   before this. */
#ifndef PEERS_DEEP_H
#define PEERS_DEEP_H

#include "common.h"
#include "threads.h"

enum { OBJECTS = 1 << 19 };
#define DEFAULT_CALLS 1000000
#define MAX_CALLS (UINT64_C(1) << 24)
/* More than a frame takes, and room for all else on the stack, in bytes. */
#define MOST_FRAME (UINT64_C(1) << 10)
#define STACK_ROOM (UINT64_C(4) << 20)

struct node {
    uint64_t number;
    struct node *above;
};

struct short_lived {
    uint64_t words[8];
};

struct deep {
    uint64_t calls, checksum;
};

/* A step of the checksum. */
static inline uint64_t mixed(uint64_t sum, uint64_t number) {
    return (sum << 5 | sum >> 59) * 31 + number;
}

static inline uint64_t bottom(void) {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < OBJECTS; i++) {
        /* Volatile, so that the compiler leaves no object out. */
        struct short_lived *volatile object = check_memory(PLAIN_MEMORY(sizeof *object));
        struct short_lived *written = object;
        for (int k = 0; k < 8; k++) written->words[k] = i;
        sum = mixed(sum, object->words[3]);
        RELEASE(object);
    }
    return sum;
}

/* A call: its own numbers and object are used after the calls below have returned. */
static __attribute__((noinline)) uint64_t descend(struct node *above, uint64_t left) {
    volatile uint64_t numbers[] = {left, left * 3, left ^ 0x55};
    struct node *own = check_memory(POINTER_MEMORY(sizeof *own));
    *own = (struct node){left * UINT64_C(0x9E3779B97F4A7C15), above};
    uint64_t sum = left == 0 ? bottom() : descend(own, left - 1);
    sum = mixed(sum, own->number ^ (own->above == NULL ? 0 : own->above->number) ^ numbers[1]);
    RELEASE(own);
    return sum;
}

static void *do_calls(void *arg) {
    struct deep *deep = arg;
    deep->checksum = descend(NULL, deep->calls - 1);
    return NULL;
}

static void run_deep(uint64_t calls, struct report *report) {
    struct deep deep = {.calls = calls};
    pthread_t thread;
    start_helper(&thread, calls * MOST_FRAME + STACK_ROOM, do_calls, &deep);
    pthread_join(thread, NULL);
    report_checksum("deep", "calls", calls, deep.checksum, report);
}

#endif
