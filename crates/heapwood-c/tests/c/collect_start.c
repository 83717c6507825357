/* Threads ask for full collections, go on, and wait later; a child waits for what its parent has asked for. The argument "beside" asks
 * for markings beside the program. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "list.h"
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4, ROUNDS = 20, LENGTH = 300 };

static hw_heap *heap;
static hw_type type;

static uint64_t figure(size_t offset) {
    hw_stats stats = {.size = sizeof stats};
    CHECK(hw_stats_get(heap, &stats) == HW_OK);
    uint64_t value;
    memcpy(&value, (char *)&stats + offset, sizeof value);
    return value;
}

static void start_and_wait(hw_mutator *m) {
    hw_ticket ticket;
    bool done = false;
    CHECK(hw_collect_start(m, &ticket) == HW_OK);
    CHECK(hw_collect_wait(m, ticket) == HW_OK);
    CHECK(hw_collect_done(m, ticket, &done) == HW_OK && done);
}

static void *asks(void *arg) {
    hw_mutator *m;
    (void)arg;
    CHECK(hw_attach(heap, NULL, &m, NULL) == HW_OK);
    for (uint64_t round = 0; round < ROUNDS; round++) {
        struct node *list = NULL;
        hw_frame frame;
        hw_frame_push(m, &frame, &list, 1);
        for (uint64_t i = 0; i < LENGTH; i++) list = extend(m, type, list, round + i);
        start_and_wait(m);
        walk(list, LENGTH, round);
        hw_frame_pop(m, &frame);
    }
    CHECK(hw_detach(m) == HW_OK);
    return NULL;
}

static void join(void *thread) { CHECK(pthread_join(*(pthread_t *)thread, NULL) == 0); }

int main(int argc, char **argv) {
    hw_options options;
    hw_mutator *m;
    pthread_t threads[THREADS];
    struct node *list = NULL;
    hw_options_init(&options);
    options.conservative_stacks = 0;
    options.concurrent = HW_CONCURRENT_ON;
    options.max_pause = argc > 1 && strcmp(argv[1], "beside") == 0 ? 0 : HW_TIME_OFF;
    options.min_heap = 1 << 30;
    CHECK(hw_heap_create(&options, &heap, NULL) == HW_OK);
    type = node_type_of(heap);
    CHECK(hw_attach(heap, NULL, &m, NULL) == HW_OK);
    hw_root root = hw_root_slots(heap, &list, 1, NULL);
    CHECK(root != 0);

    /* What was dropped is gone. */
    for (uint64_t i = 0; i < LENGTH; i++) list = extend(m, type, list, i);
    start_and_wait(m);
    CHECK(figure(offsetof(hw_stats, live_objects)) == LENGTH);
    walk(list, LENGTH, 0);
    list = NULL;
    start_and_wait(m);
    CHECK(figure(offsetof(hw_stats, live_objects)) == 0);
    CHECK(figure(offsetof(hw_stats, concurrent_markings)) == (options.max_pause == 0 ? 2 : 0));

    /* A program that only asks. */
    hw_ticket ticket, other = {{1, 1}};
    bool done = false;
    CHECK(hw_collect_start(m, &ticket) == HW_OK);
    while (!done) {
        CHECK(hw_collect_done(m, ticket, &done) == HW_OK);
        hw_safepoint(m);
    }

    /* Misuse. */
    CHECK(hw_collect_start(NULL, &ticket) == HW_EINVAL && hw_collect_wait(NULL, other) == HW_EINVAL);
    CHECK(hw_collect_start(m, NULL) == HW_EINVAL && strstr(hw_last_error(m)->text, "out is NULL") != NULL);
    CHECK(hw_collect_wait(m, other) == HW_EINVAL && strstr(hw_last_error(m)->text, "not one of this heap") != NULL);
    CHECK(hw_collect_done(m, other, &done) == HW_EINVAL && done);
    CHECK(hw_collect_done(m, other, NULL) == HW_EINVAL && strstr(hw_last_error(m)->text, "done is NULL") != NULL);
    CHECK(hw_collect_start(m, &ticket) == HW_OK);
    ticket.words[1] += 1000;
    CHECK(hw_collect_wait(m, ticket) == HW_EINVAL);

    for (int i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, asks, NULL) == 0);
    for (int i = 0; i < THREADS; i++) CHECK(hw_call_blocking(m, join, &threads[i]) == HW_OK);

    CHECK(hw_collect_start(m, &ticket) == HW_OK);
    int status;
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        alarm(60);
        CHECK(hw_collect_wait(m, ticket) == HW_OK);
        start_and_wait(m);
        _exit(0);
    }
    CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK(hw_collect_wait(m, ticket) == HW_OK);
    CHECK(hw_root_remove(heap, root, NULL) == HW_OK);
    CHECK(hw_detach(m) == HW_OK);
    CHECK(hw_heap_destroy(heap, NULL) == HW_OK);
    return 0;
}
