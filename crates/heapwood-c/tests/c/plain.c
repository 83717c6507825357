/* Stores without an owner, announced ones, objects that take plain stores, root functions, a walk, polls that are asked for, regions
 * with a beginning and an end, and a mutator that changes threads.
 *
 *     plain [young|beside|verify] */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "check.h"
#include <heapwood.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

enum { STACK = 64, FIBERS = 20, NODES = 200 };

struct node {
    struct node *next;
    uint64_t number;
};

struct fiber {
    struct node **stack;
    struct fiber *next;
};

static hw_heap *heap;
static hw_mutator *m;
static hw_type node_type, fiber_type, pointer_type;
static hw_error why;
static int by_signals; /* then the top does not matter */

static int said(const char *text) { return strstr(hw_last_error(m)->text, text) != NULL; }

static struct node *new_node(uint64_t number) {
    struct node *node = (struct node *)hw_alloc(m, node_type);
    CHECK(node != NULL);
    node->number = number;
    return node;
}

/* ------------------------------------------------------------------------------------------------------ stores -- */

static void stores(void) {
    struct node *root = NULL, *outside = NULL;
    hw_root slot = hw_root_slots(heap, &root, 1, &why);
    CHECK(slot != 0);
    root = (struct node *)hw_alloc_array(m, pointer_type, NODES);
    CHECK(hw_collect(m) == HW_OK);
    for (size_t i = 0; i < NODES; i++) {
        struct node **slots = (struct node **)root;
        struct node *node = new_node(i);
        slots = (struct node **)root;
        if (i % 2) {
            hw_write_inside(m, &slots[i], node);
        } else {
            CHECK(hw_dirty(m, root) == HW_OK);
            slots[i] = node;
        }
        hw_write_inside(m, &outside, node);
        CHECK(outside == node);
        if (i % 20 == 0) CHECK(hw_collect_young(m) == HW_OK);
    }
    for (size_t i = 0; i < NODES; i++) CHECK(((struct node **)root)[i]->number == i);
    CHECK(hw_dirty(m, (char *)root + 8) == HW_EINVAL && said("is no object of this heap"));
    CHECK(hw_dirty(m, NULL) == HW_EINVAL && said("object is NULL") && hw_dirty(NULL, root) == HW_EINVAL);
    CHECK(hw_root_remove(heap, slot, &why) == HW_OK);
}

/* ------------------------------------------------------------------------------------------------------ stacks -- */

static struct fiber *fibers;

static void push(struct node **stack, volatile size_t *top, struct node *node) {
    stack[*top] = node;
    *top = *top + 1;
}

static void stacks(void) {
    hw_root slot = hw_root_slots(heap, &fibers, 1, &why);
    volatile size_t *top[FIBERS];
    for (size_t i = 0; i < FIBERS; i++) {
        struct fiber *fiber = (struct fiber *)hw_alloc(m, fiber_type);
        hw_write(m, fiber, &fiber->next, fibers);
        fibers = fiber;
        void *stack = hw_alloc_array(m, pointer_type, STACK);
        hw_write(m, fibers, &fibers->stack, stack);
        CHECK(hw_plain_begin(m, stack, 0, &top[FIBERS - 1 - i]) == HW_OK);
    }
    hw_ticket ticket;
    for (uint64_t round = 0; round < 300; round++) {
        size_t i = 0;
        if (round % 50 == 1) CHECK(hw_collect_start(m, &ticket) == HW_OK);
        for (struct fiber *fiber = fibers; fiber; fiber = fiber->next, i++) {
            struct node *node = new_node(round);
            if (*top[i] < STACK && (round + i) % 3) {
                push(fiber->stack, top[i], node);
            } else if (*top[i] > 0) {
                /* The topmost goes onto the stack of the next. */
                struct fiber *other = fiber->next ? fiber->next : fibers;
                size_t of_other = fiber->next ? i + 1 : 0;
                if (other == fiber || *top[of_other] == STACK) continue;
                struct node *moved = fiber->stack[*top[i] - 1];
                push(other->stack, top[of_other], moved);
                *top[i] = *top[i] - 1;
            }
        }
        i = 0;
        for (struct fiber *fiber = fibers; fiber; fiber = fiber->next, i++) {
            for (size_t at = 0; at < *top[i]; at++) CHECK(fiber->stack[at]->number <= round);
        }
        if (round % 40 == 0) CHECK(hw_collect_young(m) == HW_OK);
        if (round % 100 == 0) CHECK(hw_collect(m) == HW_OK);
    }
    void *stack = fibers->stack;
    CHECK(hw_plain_begin(m, stack, 0, NULL) == HW_EINVAL && said("takes plain stores already"));
    CHECK(hw_plain_top(m, stack, 1000) == HW_EINVAL && said("beyond the object"));
    CHECK(hw_free(m, stack) == HW_EINVAL && said("takes plain stores"));
    CHECK(hw_plain_top(m, stack, HW_PLAIN_ALL) == HW_OK && hw_plain_top(m, stack, 1) == HW_OK);
    CHECK(hw_plain_end(m, stack) == HW_OK && (by_signals || fibers->stack[1] == NULL));
    CHECK(hw_plain_end(m, stack) == HW_EINVAL && said("no object at") && said("takes plain stores"));
    CHECK(hw_plain_top(m, stack, 1) == HW_EINVAL && said("no object at"));
    CHECK(hw_plain_begin(m, (char *)stack + 8, 0, NULL) == HW_EINVAL && said("is no object"));
    void *bytes = hw_alloc_bytes(m, 64);
    CHECK(hw_plain_begin(m, bytes, 0, NULL) == HW_EINVAL && said("has no slots"));
    CHECK(hw_plain_begin(m, NULL, 0, NULL) == HW_EINVAL && said("object is NULL"));
    CHECK(hw_plain_begin(NULL, stack, 0, NULL) == HW_EINVAL && hw_plain_end(NULL, stack) == HW_EINVAL);
    /* Dead ones make room. */
    for (int i = 0; i < 5000; i++) {
        void *dead = hw_alloc_array(m, pointer_type, 8);
        hw_status begun = hw_plain_begin(m, dead, 0, NULL);
        if (begun == HW_EFULL) {
            CHECK(said("4096 objects take plain stores"));
            CHECK(hw_collect(m) == HW_OK);
        } else {
            CHECK(begun == HW_OK);
        }
    }
    fibers = NULL;
    CHECK(hw_root_remove(heap, slot, &why) == HW_OK && hw_collect(m) == HW_OK);
}

/* ------------------------------------------------------------------------------------------------------- roots -- */

static struct node *table[NODES];
static int calls;

static void name_table(void *arg, hw_tracer *tracer) {
    struct node **slots = (struct node **)arg;
    for (int i = 0; i < NODES / 2; i++) hw_visit(tracer, &slots[i]);
    hw_visit_range(tracer, &slots[NODES / 2], &slots[NODES]);
    calls++;
}

static size_t walked, nodes, named;

static void walk_one(void *arg, void *object, hw_type type, size_t size) {
    CHECK(arg == &walked && object != NULL && size >= 8);
    CHECK(hw_alloc_bytes(m, 100000) == NULL);
    walked++;
    if (type == node_type) nodes++;
    for (int i = 0; i < NODES; i++) named += table[i] == object;
}

static void roots(void) {
    hw_root root = hw_root_function(heap, name_table, table, &why);
    CHECK(root != 0);
    for (int i = 0; i < NODES; i++) {
        table[i] = new_node((uint64_t)i);
        if (i % 20 == 0) CHECK(hw_collect_young(m) == HW_OK);
        if (i % 50 == 0) CHECK(hw_collect(m) == HW_OK);
    }
    CHECK(hw_collect(m) == HW_OK && calls > 0);
    for (int i = 0; i < NODES; i++) CHECK(table[i]->number == (uint64_t)i);
    /* Words of the stack may keep more. */
    CHECK(hw_walk(m, walk_one, &walked) == HW_OK && named == NODES && nodes >= NODES && walked >= nodes);
    CHECK(hw_walk(m, NULL, NULL) == HW_EINVAL && said("fn is NULL") && hw_walk(NULL, walk_one, NULL) == HW_EINVAL);
    CHECK(hw_root_remove(heap, root, &why) == HW_OK && hw_root_remove(heap, root, &why) == HW_EINVAL);
    CHECK(hw_root_function(heap, NULL, NULL, &why) == 0 && why.status == HW_EINVAL);
    CHECK(hw_root_function(NULL, name_table, NULL, &why) == 0 && why.status == HW_EINVAL);
    int before = calls;
    CHECK(hw_collect(m) == HW_OK && calls == before);
    memset(table, 0, sizeof table);
    named = 0;
    CHECK(hw_walk(m, walk_one, &walked) == HW_OK && named == 0);
}

/* ----------------------------------------------------------------------------------------------------- threads -- */

static volatile sig_atomic_t wants;

static void on_signal(int signal) {
    (void)signal;
    wants = 1;
    hw_request_poll(m);
}

static void polls(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
    int slow = 0;
    for (int i = 0; i < 100; i++) {
        if (i % 10 == 5) CHECK(raise(SIGUSR1) == 0);
        if (m->poll) {
            hw_safepoint_slow(m);
            CHECK(m->poll == 0);
            slow += wants;
            wants = 0;
        }
    }
    CHECK(slow == 10);
    hw_request_poll(NULL);
}

static void *collects(void *arg) {
    hw_mutator *mine = NULL;
    CHECK(hw_attach(heap, NULL, &mine, NULL) == HW_OK);
    for (int i = 0; i < 20; i++) CHECK(hw_collect(mine) == HW_OK);
    CHECK(hw_detach(mine) == HW_OK);
    return arg;
}

static void regions(void) {
    pthread_t thread;
    CHECK(hw_blocking_end(m) == HW_ESTATE && said("no blocking region was begun"));
    CHECK(hw_blocking_begin(m) == HW_OK);
    CHECK(pthread_create(&thread, NULL, collects, NULL) == 0 && pthread_join(thread, NULL) == 0);
    CHECK(hw_blocking_begin(m) == HW_ESTATE && hw_collect(m) == HW_ESTATE);
    CHECK(hw_blocking_end(m) == HW_OK && hw_collect(m) == HW_OK);
    CHECK(hw_blocking_begin(NULL) == HW_EINVAL && hw_blocking_end(NULL) == HW_EINVAL);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t made;

static void *host(void *arg) {
    for (int i = 0; i < 50; i++) {
        CHECK(pthread_mutex_lock(&lock) == 0);
        CHECK(hw_mutator_take(heap, m, NULL) == HW_OK && hw_self(heap) == m);
        hw_error reason;
        CHECK(hw_mutator_take(heap, m, &reason) == HW_ESTATE && strstr(reason.text, "attached to this heap already"));
        for (int j = 0; j < 20; j++) {
            struct node *node = new_node(made++);
            hw_write(m, node, &node->next, fibers);
            fibers = (struct fiber *)node;
        }
        if (i % 10 == 0) CHECK(hw_collect(m) == HW_OK);
        CHECK(hw_mutator_give(m) == HW_OK && hw_self(heap) == NULL);
        CHECK(pthread_mutex_unlock(&lock) == 0);
    }
    return arg;
}

static void moves(void) {
    enum { HOSTS = 4 };
    pthread_t threads[HOSTS];
    hw_root slot = hw_root_slots(heap, &fibers, 1, &why);
    CHECK(hw_mutator_give(NULL) == HW_EINVAL && hw_mutator_take(NULL, m, &why) == HW_EINVAL);
    CHECK(hw_mutator_take(heap, NULL, &why) == HW_EINVAL && why.status == HW_EINVAL);
    CHECK(hw_mutator_give(m) == HW_OK);
    CHECK(hw_collect(m) == HW_ESTATE && strcmp(hw_last_error(m)->text, "") != 0);
    CHECK(hw_heap_destroy(heap, &why) == HW_ESTATE);
    for (int i = 0; i < HOSTS; i++) CHECK(pthread_create(&threads[i], NULL, host, NULL) == 0);
    for (int i = 0; i < HOSTS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK(hw_mutator_take(heap, m, &why) == HW_OK);
    uint64_t left = made;
    for (struct node *node = (struct node *)fibers; node; node = node->next) CHECK(node->number == --left);
    CHECK(left == 0 && made == HOSTS * 50 * 20);
    fibers = NULL;
    CHECK(hw_root_remove(heap, slot, &why) == HW_OK);
}

/* ---------------------------------------------------------------------------------------------------- reserves -- */

static void reserves(void) {
    enum { BYTES = 1 << 20, LIMIT = 8 << 20 };
    hw_options options;
    hw_options_init(&options);
    options.limit = LIMIT;
    options.conservative_stacks = 0; /* nothing is kept by accident */
    hw_heap *small = NULL;
    hw_mutator *mine = NULL;
    CHECK(hw_heap_create(&options, &small, &why) == HW_OK && hw_attach(small, NULL, &mine, &why) == HW_OK);
    uint64_t mask = HW_POINTER(struct node, next);
    hw_type type = 0;
    CHECK(hw_type_mask(small, sizeof(struct node), &mask, 1, &type, &why) == HW_OK);
    struct node *list = NULL, *filled = NULL;
    hw_root slot = hw_root_slots(small, &list, 1, &why);
    CHECK(hw_reserve(mine, 2 * (size_t)LIMIT) == HW_ELIMIT && hw_reserve(NULL, 1) == HW_EINVAL);
    CHECK(hw_reserve(mine, BYTES) == HW_OK && hw_reserve(mine, BYTES) == HW_OK);
    for (int round = 0; round < 3; round++) {
        /* The heap is filled without the reserve, of which so many bytes are left then. */
        size_t before = 0, more = 0;
        for (;; before++) {
            struct node *node = (struct node *)hw_alloc(mine, type);
            if (node == NULL) break;
            node->next = list;
            node->number = before;
            list = node;
        }
        CHECK(hw_last_error(mine)->status == HW_ELIMIT && before >= BYTES / 16);
        CHECK(hw_reserve(mine, BYTES) == HW_ELIMIT);
        filled = list;
        for (struct node *node = list; node; node = node->next) more++;
        CHECK(more == before);
        list = NULL;
        filled = NULL;
        CHECK(hw_collect(mine) == HW_OK && hw_reserve(mine, BYTES) == HW_OK);
    }
    CHECK(filled == NULL && hw_reserve(mine, 0) == HW_OK);
    CHECK(hw_root_remove(small, slot, &why) == HW_OK);
    CHECK(hw_reserve(mine, BYTES) == HW_OK);
    CHECK(hw_detach(mine) == HW_OK && hw_heap_destroy(small, &why) == HW_OK);
}

int main(int argc, char **argv) {
    const char *way = argc > 1 ? argv[1] : "";
    hw_options options;
    hw_options_init(&options);
    if (strcmp(way, "young") == 0) options.generational = HW_GENERATIONAL_ALWAYS;
    if (strcmp(way, "beside") == 0) options.concurrent = HW_CONCURRENT_ALWAYS;
    by_signals = strcmp(way, "signals") == 0;
    if (by_signals) options.stop = HW_STOP_SIGNALS;
    options.verify = strcmp(way, "verify") == 0;
    CHECK(hw_heap_create(&options, &heap, &why) == HW_OK);
    CHECK(hw_attach(heap, NULL, &m, &why) == HW_OK);
    uint64_t mask = HW_POINTER(struct node, next), both = 3, one = 1;
    CHECK(hw_type_mask(heap, sizeof(struct node), &mask, 1, &node_type, &why) == HW_OK);
    CHECK(hw_type_mask(heap, sizeof(struct fiber), &both, 1, &fiber_type, &why) == HW_OK);
    CHECK(hw_type_mask(heap, sizeof(void *), &one, 1, &pointer_type, &why) == HW_OK);
    stores();
    stacks();
    roots();
    polls();
    regions();
    moves();
    reserves();
    hw_stats stats;
    stats.size = sizeof stats;
    CHECK(hw_stats_get(heap, &stats) == HW_OK && stats.barrier_violations == 0);
    CHECK(hw_detach(m) == HW_OK && hw_heap_destroy(heap, &why) == HW_OK);
    puts("all of it lives");
    return 0;
}
