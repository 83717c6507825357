/* A program whose threads register types, allocate and collect, forks: each child registers types of its own, allocates, collects, has
 * a thread attach, and ends its heap. The first argument says how threads are stopped. */
#define _GNU_SOURCE
#include "check.h"
#include <heapwood.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4, CHILDREN = 30, NODES = 500 };

struct node {
    struct node *next;
    size_t number;
};

static hw_heap *heap;
static hw_type node_type;
static struct node *kept;
static volatile int done;

static struct node *list(hw_mutator *m, size_t nodes) {
    struct node *head = NULL;
    for (size_t i = 0; i < nodes; i++) {
        struct node *node = hw_alloc(m, node_type);
        CHECK(node != NULL);
        node->number = i;
        hw_write(m, node, &node->next, head);
        head = node;
    }
    return head;
}

static void check(const struct node *at, size_t nodes) {
    for (size_t i = nodes; i-- > 0; at = at->next) CHECK(at != NULL && at->number == i);
    CHECK(at == NULL);
}

/* Registers types of many sizes: others do so, too, and a process that forks meanwhile must not leave their table locked. */
static void register_types(size_t from) {
    for (size_t i = 0; i < 20; i++) {
        hw_type type;
        uint64_t mask = 1;
        CHECK(hw_type_mask(heap, 16 + 16 * ((from + i) % 500), &mask, 1, &type, NULL) == HW_OK);
    }
}

static void *busy(void *arg) {
    hw_mutator *m;
    CHECK(hw_attach(heap, NULL, &m, NULL) == HW_OK);
    for (size_t round = (size_t)arg * 100; !done; round++) {
        check(list(m, NODES), NODES);
        register_types(round);
        if (round % 16 == 0) CHECK(hw_collect(m) == HW_OK);
    }
    CHECK(hw_detach(m) == HW_OK);
    return NULL;
}

static void *in_a_thread_of_the_child(void *arg) {
    hw_mutator *m;
    (void)arg;
    CHECK(hw_attach_if_needed(heap, &m, NULL) == HW_OK);
    check(list(m, NODES), NODES);
    CHECK(hw_collect(m) == HW_OK);
    return NULL;
}

static void join(void *thread) { CHECK(pthread_join(*(pthread_t *)thread, NULL) == 0); }

static void child(hw_mutator *m) {
    pthread_t thread;
    alarm(60);
    register_types(250);
    check(kept, NODES);
    struct node *mine = list(m, NODES);
    CHECK(hw_collect(m) == HW_OK);
    check(mine, NODES);
    check(kept, NODES);
    CHECK(pthread_create(&thread, NULL, in_a_thread_of_the_child, NULL) == 0);
    CHECK(hw_call_blocking(m, join, &thread) == HW_OK);
    CHECK(hw_detach(m) == HW_OK);
    CHECK(hw_heap_destroy(heap, NULL) == HW_OK);
    _exit(0);
}

int main(int argc, char **argv) {
    hw_options options;
    hw_mutator *m;
    pthread_t threads[THREADS];
    hw_options_init(&options);
    options.verify = 1;
    options.stop = argc > 1 && strcmp(argv[1], "signals") == 0 ? HW_STOP_SIGNALS : HW_STOP_POLLS;
    CHECK(hw_heap_create(&options, &heap, NULL) == HW_OK);
    uint64_t mask = 1;
    CHECK(hw_type_mask(heap, sizeof(struct node), &mask, 1, &node_type, NULL) == HW_OK);
    CHECK(hw_attach(heap, NULL, &m, NULL) == HW_OK);
    CHECK(hw_root_slots(heap, &kept, 1, NULL) != 0);
    kept = list(m, NODES);
    for (size_t i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, busy, (void *)i) == 0);
    for (int i = 0; i < CHILDREN; i++) {
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (pid == 0) child(m);
        check(list(m, NODES), NODES);
        int status;
        while (waitpid(pid, &status, WNOHANG) == 0) hw_safepoint(m);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    done = 1;
    for (int i = 0; i < THREADS; i++) CHECK(hw_call_blocking(m, join, &threads[i]) == HW_OK);
    check(kept, NODES);
    CHECK(hw_detach(m) == HW_OK);
    CHECK(hw_heap_destroy(heap, NULL) == HW_OK);
    return 0;
}
