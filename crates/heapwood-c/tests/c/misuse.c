/* Common errors in porting an interpreter. Each is refused with a sentence, and the heap stays usable. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "check.h"
#include "fiber.h"
#include <heapwood.h>
#include <pthread.h>
#include <stdint.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

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
    hw_ticket none = {{0, 0}};
    CHECK(hw_collect_start(me, &none) == HW_ESTATE && said("inside a blocking region"));
    CHECK(hw_collect_wait(me, none) == HW_ESTATE && said("inside a blocking region"));
    CHECK(!verify || hw_alloc(me, pair_type) == NULL);
    ++*(int *)arg;
}

static int traced;

static void collects(void *object, size_t size, hw_tracer *tracer) {
    (void)object, (void)size, (void)tracer;
    CHECK(hw_collect(me) == HW_ESTATE && said("inside a trace function"));
    CHECK(hw_alloc_bytes(me, 100000) == NULL && said("inside a trace function"));
    hw_ticket none = {{0, 0}};
    CHECK(hw_collect_start(me, &none) == HW_ESTATE && said("inside a trace function"));
    CHECK(hw_collect_wait(me, none) == HW_ESTATE && said("inside a trace function"));
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

/* A frame that is pushed again before it was popped is its own predecessor, or that of one above it: a collection
 * ends the process with a sentence instead of looping forever. */
static void frame_pushed_twice(int between) {
    static char text[4096];
    int ends[2], status;
    CHECK(pipe(ends) == 0);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        CHECK(dup2(ends[1], 2) == 2);
        struct pair *local[1] = {NULL};
        hw_frame frames[3];
        alarm(100);
        for (int i = 0; i <= between; i++) hw_frame_push(me, &frames[i], local, 1);
        hw_frame_push(me, &frames[0], local, 1);
        hw_collect(me);
        _exit(0);
    }
    close(ends[1]);
    size_t length = 0;
    ssize_t got;
    while ((got = read(ends[0], text + length, sizeof text - 1 - length)) > 0) length += (size_t)got;
    text[length] = 0;
    close(ends[0]);
    CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    CHECK(strstr(text, "was pushed again before it was popped") != NULL);
}

static void *ends_attached(void *arg) {
    hw_mutator *m;
    CHECK(hw_attach(heap, NULL, &m, NULL) == HW_OK);
    CHECK(hw_alloc(m, pair_type) != NULL);
    return arg;
}

static ucontext_t thread_stack, unknown;
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
    CHECK(stack != MAP_FAILED && getcontext(&unknown) == 0);
    unknown.uc_stack.ss_sp = stack;
    unknown.uc_stack.ss_size = SIZE;
    unknown.uc_link = &thread_stack;
    makecontext(&unknown, runs_on_a_fiber, 0);
    CHECK(swapcontext(&thread_stack, &unknown) == 0 && on_fiber == 1);
    on_fiber = 0;
    munmap(stack, SIZE);
}

static void *fibers_of_a_thread(void *arg) {
    CHECK(hw_attach(heap, NULL, &me, NULL) == HW_OK);
    fibers();
    CHECK(hw_collect(me) == HW_OK && hw_detach(me) == HW_OK);
    return arg;
}

/* A registered stack, and two threads that claim to be on it. */
static struct fiber known;

static void not_called(void *arg) { ++*(int *)arg; }

static void *would_be_on_it_too(void *arg) {
    hw_mutator *m;
    int calls = 0;
    CHECK(hw_attach(heap, NULL, &m, NULL) == HW_OK);
    CHECK(hw_stack_switch(m, known.stack, not_called, &calls) == HW_ESTATE && calls == 0);
    CHECK(strstr(hw_last_error(m)->text, "a thread is on the stack") != NULL);
    CHECK(hw_stack_announce(m, known.stack, &calls) == HW_ESTATE);
    CHECK(hw_stack_announce(me, known.stack, &calls) == HW_ESTATE); /* not its own mutator */
    CHECK(hw_detach(m) == HW_OK);
    return arg;
}

static void run_thread(hw_mutator *m, void *(*f)(void *));

static void runs_on_a_known_stack(void) {
    hw_error why;
    struct swap swap = {&known.context, &known.back};
    CHECK(hw_collect(me) == HW_OK);
    run_thread(me, would_be_on_it_too);
    CHECK(hw_stack_range_remove(heap, known.stack, &why) == HW_ESTATE && strstr(why.text, "a thread is on the stack") != NULL);
    fiber_leave(me, &known);
    /* A thread that returned without an announcement is not on the announced stack. */
    CHECK(hw_stack_switch(me, NULL, swap_contexts, &swap) == HW_ESTATE && said("each switch is announced"));
    swap_contexts(&swap);
    abort();
}

static void on_a_known_stack(void) {
    hw_error why;
    int calls = 0;
    struct swap swap = {&known.back, &known.context};
    fiber_make(&known, heap, runs_on_a_known_stack);
    CHECK(hw_stack_announce(me, known.stack, known.memory) == HW_ESTATE && said("not on the stack that it was said to be on"));
    fiber_enter(me, &known);
    swap_contexts(&swap);
    CHECK(hw_stack_range_remove(heap, known.stack, &why) == HW_OK);
    CHECK(hw_stack_range_remove(heap, known.stack, &why) == HW_EINVAL && strstr(why.text, "was removed") != NULL);
    CHECK(hw_stack_switch(me, known.stack, not_called, &calls) == HW_EINVAL && said("was removed") && calls == 0);
    fiber_unmake(&known, NULL);
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
    /* Emulators abort where a forked child starts a thread. */
    options.background_release = 0;
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

    frame_pushed_twice(0);
    frame_pushed_twice(2);

    /* hw_last_error has the last reason, even from a function without a mutator. */
    CHECK(hw_alloc_bytes(me, SIZE_MAX) == NULL && !said("no root of this heap"));
    CHECK(hw_root_remove(heap, 0, NULL) == HW_EINVAL && said("no root of this heap"));
    CHECK(hw_type_mask(heap, 0, &mask, 1, &traced_type, NULL) != HW_OK && !said("no root of this heap"));
    CHECK(hw_stack_range_add(heap, &me, &me, NULL, NULL) == HW_EINVAL && said("out is NULL"));
    CHECK(hw_heap_destroy(heap, NULL) == HW_ESTATE && said("1 thread"));

    /* A mask that is longer than its type. */
    const uint64_t long_mask[2] = {mask, 0};
    CHECK(hw_type_mask(heap, sizeof(struct pair), long_mask, 2, &traced_type, NULL) == HW_EDESC && said("no more than 1"));

    /* On another thread, and by one that ends attached. */
    run_thread(me, other_thread);
    run_thread(me, ends_attached);
    hw_stats stats = {.size = sizeof stats};
    CHECK(hw_stats_get(heap, &stats) == HW_OK && stats.threads == 1);
    CHECK(hw_collect(me) == HW_OK);

    /* On another stack, of the first thread and of another. */
    fibers();
    CHECK(hw_collect(me) == HW_OK);

    on_a_known_stack();
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
