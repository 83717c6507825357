/* Pipe in C: one thread makes messages of 32 to 248 bytes without pointers, another
   reads and drops them, through a ring of 32,768 slots. Two semaphores count the
   batches of 256 slots that are empty and that are filled. A program includes its
   memory.h before this. */
#ifndef PEERS_PIPE_H
#define PEERS_PIPE_H

#include "common.h"
#include "object.h"
#include "threads.h"

#include <semaphore.h>

enum { RING_SLOTS = 1 << 15, BATCH = 256 };
#define DEFAULT_MESSAGES 20000000
#define MAX_MESSAGES (UINT64_C(1) << 48)

struct pipe {
    uint64_t **ring;
    uint64_t messages, checksum;
    sem_t empty, filled;
};

static inline uint64_t *new_message(uint64_t r) {
    size_t bytes = 8 * (4 + (r >> 32) % 28);
    uint64_t *message = check_memory(PLAIN_MEMORY(bytes));
    write_object(message, bytes, r);
    return message;
}

/* A signal, such as a collector's, ends the waiting early. */
static inline void wait_for(sem_t *semaphore) {
    while (sem_wait(semaphore) != 0) continue;
}

static inline void produce(struct pipe *pipe) {
    uint64_t rng = SEED;
    for (uint64_t number = 0; number < pipe->messages; number++) {
        if (number % BATCH == 0) wait_for(&pipe->empty);
        pipe->ring[number % RING_SLOTS] = new_message(next_random(&rng));
        if (number % BATCH == BATCH - 1 || number == pipe->messages - 1) sem_post(&pipe->filled);
    }
}

static void *consume(void *arg) {
    struct pipe *pipe = arg;
    uint64_t checksum = 0;
    for (uint64_t number = 0; number < pipe->messages; number++) {
        if (number % BATCH == 0) wait_for(&pipe->filled);
        uint64_t **slot = pipe->ring + number % RING_SLOTS;
        checksum = add_to_checksum(checksum, *slot);
        RELEASE(*slot);
        *slot = NULL;
        if (number % BATCH == BATCH - 1) sem_post(&pipe->empty);
    }
    pipe->checksum = checksum;
    return NULL;
}

static void run_pipe(uint64_t messages, struct report *report) {
    /* On the stack, where a conservative collector sees the ring. */
    struct pipe pipe = {.messages = messages};
    pipe.ring = check_memory(TABLE_MEMORY(RING_SLOTS * sizeof *pipe.ring));
    sem_init(&pipe.empty, 0, RING_SLOTS / BATCH);
    sem_init(&pipe.filled, 0, 0);
    pthread_t consumer;
    start_helper(&consumer, 0, consume, &pipe);
    produce(&pipe);
    pthread_join(consumer, NULL);
    report_checksum("pipe", "messages", messages, pipe.checksum, report);
    sem_destroy(&pipe.empty);
    sem_destroy(&pipe.filled);
    RELEASE(pipe.ring);
}

#endif
