/* What everyone who ports an interpreter does wrong once: it is refused with a sentence, and the heap goes on. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "check.h"
#include <heapwood.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

struct pair {
    struct pair *first, *second;
};

static hw_heap *heap;
static hw_mutator *me;
static hw_type pair_type;
static int verify;

static int said(const char *text) { return strstr(hw_last_error(me)->text, text) != NULL; }

static void blocked(void *arg) {
    CHECK(hw_alloc_bytes(me, 100000) == NULL && hw_last_error(me)->status == HW_ESTATE);
    CHECK(said("inside a blocking region"));
    CHECK(hw_collect(me) == HW_ESTATE && said("inside a blocking region"));
    CHECK(hw_detach(me) == HW_ESTATE && said("inside a blocking region"));
    CHECK(!verify || hw_alloc(me, pair_type) == NULL);
    ++*(int *)arg;
}

static int traced;

static void collects(void *object, size_t size, hw_tracer *tracer) {
    (void)object, (void)size, (void)tracer;
    CHECK(hw_collect(me) == HW_ESTATE && said("inside a trace function"));
    CHECK(hw_alloc_bytes(me, 100000) == NULL && said("inside a trace function"));
    traced++;
}

static void *other_thread(void *arg) {
    (void)arg;
    CHECK(hw_collect(me) == HW_ESTATE);
    CHECK(strstr(hw_last_error(me)->text, "another thread's") != NULL);
    CHECK(hw_alloc_bytes(me, 100000) == NULL);
    CHECK(hw_detach(me) == HW_ESTATE);
    CHECK(hw_call_blocking(me, blocked, NULL) == HW_ESTATE);
    return NULL;
}

static void *ends_attached(void *arg) {
    hw_mutator *m;
    CHECK(hw_attach(heap, NULL, &m, NULL) == HW_OK);
    CHECK(hw_alloc(m, pair_type) != NULL);
    return arg;
}

static ucontext_t thread_stack, fiber;
static int on_fiber;

static void runs_on_a_fiber(void) {
    CHECK(hw_alloc(me, pair_type) != NULL);
    CHECK(hw_collect(me) == HW_ESTATE && said("runs on another stack"));
    hw_safepoint_slow(me);
    int called = 0;
    CHECK(hw_call_blocking(me, blocked, &called) == HW_ESTATE && called == 0);
    on_fiber = 1;
}

static void fibers(void) {
    enum { SIZE = 256 << 10 };
    void *stack = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(stack != MAP_FAILED && getcontext(&fiber) == 0);
    fiber.uc_stack.ss_sp = stack;
    fiber.uc_stack.ss_size = SIZE;
    fiber.uc_link = &thread_stack;
    makecontext(&fiber, runs_on_a_fiber, 0);
    CHECK(swapcontext(&thread_stack, &fiber) == 0 && on_fiber == 1);
    on_fiber = 0;
    munmap(stack, SIZE);
}

static void *fibers_of_a_thread(void *arg) {
    CHECK(hw_attach(heap, NULL, &me, NULL) == HW_OK);
    fibers();
    CHECK(hw_collect(me) == HW_OK && hw_detach(me) == HW_OK);
    return arg;
}

static void join(void *arg) { pthread_join(*(pthread_t *)arg, NULL); }

static void run_thread(hw_mutator *m, void *(*f)(void *)) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, f, NULL) == 0);
    if (m != NULL) {
        CHECK(hw_call_blocking(m, join, &thread) == HW_OK);
    } else {
        pthread_join(thread, NULL);
    }
}

int main(int argc, char **argv) {
    hw_options options;
    hw_options_init(&options);
    verify = argc > 1 && strcmp(argv[1], "verify") == 0;
    options.verify = (uint32_t)verify;
    CHECK(hw_heap_create(&options, &heap, NULL) == HW_OK && hw_attach(heap, NULL, &me, NULL) == HW_OK);
    const uint64_t mask = HW_POINTER(struct pair, first) | HW_POINTER(struct pair, second);
    CHECK(hw_type_mask(heap, sizeof(struct pair), &mask, 1, &pair_type, NULL) == HW_OK);

    /* In a blocking region; and in verify mode the inline path is refused, too, though there was a run. */
    int calls = 0;
    CHECK(hw_alloc(me, pair_type) != NULL);
    CHECK(hw_call_blocking(me, blocked, &calls) == HW_OK && calls == 1);
    CHECK(hw_alloc(me, pair_type) != NULL);

    /* In a trace function. */
    hw_type traced_type;
    CHECK(hw_type_trace(heap, 32, collects, &traced_type, NULL) == HW_OK);
    void *object = hw_alloc(me, traced_type);
    hw_root root = hw_root_slots(heap, &object, 1, NULL);
    CHECK(root != 0 && hw_collect(me) == HW_OK && traced > 0);
    CHECK(hw_root_remove(heap, root, NULL) == HW_OK);

    /* On another thread, and by one that ends attached. */
    run_thread(me, other_thread);
    run_thread(me, ends_attached);
    hw_stats stats = {.size = sizeof stats};
    CHECK(hw_stats_get(heap, &stats) == HW_OK && stats.threads == 1);
    CHECK(hw_collect(me) == HW_OK);

    /* On another stack, of the first thread and of another. */
    fibers();
    CHECK(hw_collect(me) == HW_OK);

    /* Attached twice, detached twice, used after that. */
    hw_mutator *twice;
    hw_error why;
    CHECK(hw_attach(heap, NULL, &twice, &why) == HW_ESTATE && strstr(why.text, "attached to this heap already") != NULL);
    CHECK(hw_heap_destroy(heap, &why) == HW_ESTATE && strstr(why.text, "1 thread") != NULL);
    CHECK(hw_detach(me) == HW_OK);
    CHECK(hw_detach(me) == HW_ESTATE && said("was detached"));
    CHECK(hw_alloc(me, pair_type) == NULL && hw_collect(me) == HW_ESTATE);
    hw_safepoint_slow(me);
    run_thread(NULL, fibers_of_a_thread);
    CHECK(hw_heap_destroy(heap, &why) == HW_OK);
    puts("all is refused");
    return 0;
}
