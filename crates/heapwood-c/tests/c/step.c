/* A thread single-steps through the header's inline functions by the trap flag, and a collection stops it before
 * each instruction. After an instruction the kernel raises SIGTRAP. Its handler asks the collector's thread for a
 * collection, and waits until the signal that stops this thread is pending. The signal is delivered when the handler
 * returns, before the next instruction. At the next trap that collection must have ended. Inside the library no
 * collection is asked for: this tests the inline code.
 *
 * It prints the offset of each instruction in the section "stepped" that was executed, and whether the thread was
 * stopped there. A thread that is not attached is not stopped. The argument selects verify mode, in which arenas
 * take each value by a call. */
#define _GNU_SOURCE
#include "check.h"
#include <heapwood.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

enum { CODE = 1 << 14, NODES = 48, ATTACHMENTS = 3 };

struct node {
    struct node *next, *other;
    uintptr_t number;
};

static hw_heap *heap;
static hw_type type;
static atomic_uint asked, done;
static atomic_bool ready, over;

extern const char __start_stepped[], __stop_stepped[];
static unsigned char executed[CODE], stopped[CODE], alone[CODE];
static unsigned long steps, stops;
static volatile bool is_attached; /* for all of what is stepped */

/* ------------------------------------------------------------------------------------------------- the stepped code
 * -- */

#define STEPPED __attribute__((noinline, section("stepped")))

STEPPED static struct node *make(hw_mutator *m, struct node *next, uintptr_t number) {
    struct node *n = (struct node *)hw_alloc(m, type);
    n->next = next;
    n->number = number;
    return n;
}

STEPPED static uintptr_t *bytes(hw_mutator *m, size_t size, uintptr_t number) {
    uintptr_t *text = (uintptr_t *)hw_alloc_bytes(m, size);
    *text = number;
    return text;
}

STEPPED static void store(hw_mutator *m, struct node *n, struct node *other) { hw_write(m, n, &n->other, other); }

STEPPED static uintptr_t framed(hw_mutator *m, struct node *n) {
    struct node *volatile slot = n;
    hw_frame frame;
    hw_frame_push(m, &frame, (const void *)&slot, 1);
    n = make(m, n, 1);
    hw_safepoint(m);
    hw_frame_pop(m, &frame);
    return n->number + slot->number;
}

STEPPED static struct node *make_in(hw_arena *arena, struct node *next, uintptr_t number) {
    struct node *n = (struct node *)hw_arena_alloc(arena, type, 1);
    n->next = next;
    n->number = number;
    n->other = next;
    return n;
}

STEPPED static uintptr_t *bytes_in(hw_arena *arena, size_t size, uintptr_t number) {
    uintptr_t *text = (uintptr_t *)hw_arena_alloc_bytes(arena, size);
    *text = number;
    return text;
}

/* Each third value is an object of the heap, which the arena's alone lead to. */
STEPPED static void fill(hw_mutator *m, hw_arena *arena) {
    struct node *head = NULL;
    for (uintptr_t i = 0; i < NODES / 2; i++) {
        head = i % 3 == 1 ? make(m, head, i) : make_in(arena, head, i);
        if (i % 8 == 0) CHECK(*bytes_in(arena, 8 + i, i) == i);
    }
    for (uintptr_t i = NODES / 2; i-- > 0; head = head->next) CHECK(head != NULL && head->number == i);
    CHECK(head == NULL);
}

/* The list is in this function's variables, and nowhere else. */
STEPPED static void build(hw_mutator *m) {
    struct node *head = NULL;
    for (uintptr_t i = 0; i < NODES; i++) {
        head = make(m, head, i);
        store(m, head, head->next ? head->next : head);
        if (i % 8 == 0) {
            CHECK(*bytes(m, 8 + i, i) == i);
            CHECK(framed(m, head) == i + 1);
        }
    }
    for (uintptr_t i = NODES; i-- > 0; head = head->next) {
        CHECK(head != NULL && head->number == i);
        CHECK(head->other == (i > 0 ? head->next : head));
    }
    CHECK(head == NULL);
}

STEPPED static void attach_and_detach(void) {
    for (uintptr_t i = 0; i < ATTACHMENTS; i++) {
        hw_mutator *m = NULL;
        CHECK(hw_attach(heap, NULL, &m, NULL) == HW_OK);
        CHECK(make(m, NULL, i)->number == i);
        CHECK(hw_detach(m) == HW_OK);
    }
}

STEPPED static void begin(void) { __asm__ volatile("pushfq; orq $256, (%%rsp); popfq" ::: "memory", "cc"); }

STEPPED static void end(void) { __asm__ volatile("pushfq; andq $-257, (%%rsp); popfq" ::: "memory", "cc"); }

/* ----------------------------------------------------------------------------------------------------- the handler -- */

static uintptr_t last = CODE; /* where the signal was pending when the handler last returned */

static bool is_pending(void) {
    sigset_t set;
    sigpending(&set);
    return sigismember(&set, SIGURG);
}

/* Asks for a collection; whether it waits for this thread. */
static bool ask(void) {
    while (is_pending()) {
        /* One that was sent again, and came too late. */
        sigset_t set;
        struct timespec now = {0, 0};
        sigemptyset(&set);
        sigaddset(&set, SIGURG);
        sigtimedwait(&set, NULL, &now);
    }
    asked++;
    for (;;) {
        if (is_pending()) return true;
        if (done == asked) return false;
        sched_yield();
    }
}

static void trapped(int signal, siginfo_t *info, void *context) {
    (void)signal;
    /* Linux says TRAP_BRKPT where a hypervisor has lost the bit that names the step: once in a million steps on one. An int3
     * would be SI_KERNEL. */
    CHECK(info->si_code == TRAP_TRACE || info->si_code == TRAP_BRKPT);
    uintptr_t offset = (uintptr_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] - (uintptr_t)__start_stepped;
    steps++;
    if (last < CODE) {
        /* The collection waited for this thread alone, which has executed one instruction since. */
        while (done != asked) sched_yield();
        stopped[last] = 1;
        stops++;
    }
    last = CODE;
    if (offset >= (uintptr_t)(__stop_stepped - __start_stepped)) return;
    executed[offset] = 1;
    if (ask()) {
        last = offset;
    } else {
        CHECK(!is_attached);
        alone[offset] = 1;
    }
}

/* ----------------------------------------------------------------------------------------------------- the threads -- */

static void *collect(void *unused) {
    hw_mutator *m = NULL;
    CHECK(hw_attach(heap, NULL, &m, NULL) == HW_OK);
    ready = true;
    while (!over) {
        unsigned now = asked;
        if (now == done) {
            sched_yield();
            continue;
        }
        CHECK(hw_collect(m) == HW_OK);
        done = now;
    }
    CHECK(hw_detach(m) == HW_OK);
    return unused;
}

int main(int argc, char **argv) {
    hw_options options;
    hw_options_init(&options);
    options.stop = HW_STOP_SIGNALS;
    options.verify = argc > 1 && strcmp(argv[1], "verify") == 0;
    options.background_release = 0;
    options.mark_threads = 1;
    options.address_space = 16 << 20;
    options.min_heap = 8 << 20;
    CHECK(hw_heap_create(&options, &heap, NULL) == HW_OK);
    uint64_t mask = HW_POINTER(struct node, next) | HW_POINTER(struct node, other);
    CHECK(hw_type_mask(heap, sizeof(struct node), &mask, 1, &type, NULL) == HW_OK);
    CHECK(__stop_stepped - __start_stepped < CODE);

    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = trapped;
    action.sa_flags = SA_SIGINFO;
    sigfillset(&action.sa_mask);
    CHECK(sigaction(SIGTRAP, &action, NULL) == 0);
    pthread_t other;
    CHECK(pthread_create(&other, NULL, collect, NULL) == 0);
    while (!ready) sched_yield();

    hw_mutator *m = NULL;
    CHECK(hw_attach(heap, NULL, &m, NULL) == HW_OK);
    CHECK(hw_alloc(m, type) != NULL); /* the heap grows for the first */
    is_attached = true;
    hw_arena *arena;
    CHECK(hw_arena_new(m, 0, &arena) == HW_OK && hw_arena_alloc(arena, type, 1) != NULL);
    begin();
    build(m);
    fill(m, arena);
    end();
    CHECK(hw_arena_free(arena) == HW_OK);
    is_attached = false;
    CHECK(hw_detach(m) == HW_OK);
    begin();
    attach_and_detach();
    end();
    over = true;
    CHECK(pthread_join(other, NULL) == 0);
    hw_stats stats = {.size = sizeof stats};
    CHECK(hw_stats_get(heap, &stats) == HW_OK && stats.verified >= (options.verify ? stops : 0));
    CHECK(hw_heap_destroy(heap, NULL) == HW_OK);

    printf("%lu steps, %u collections, stopped there %lu\n", steps, done, stops);
    for (size_t i = 0; i < CODE; i++) {
        if (executed[i]) printf("%s %zx\n", stopped[i] ? "stopped" : alone[i] ? "alone" : "MISSED", i);
    }
    return 0;
}
