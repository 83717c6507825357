/* Generators on stacks of their own: pipelines of three fibers, each of which makes and walks lists that nothing but its stack
 * refers to. A fiber's stack is registered with the heap, and each switch is announced; that is all.
 *
 *     fibers [SWITCHES]                       a million by default
 *     HEAPWOOD=stop=signals fibers            threads are stopped by signals: the polls are for nothing
 *     HEAPWOOD=verify=on fibers 10000         and so on: docs/guide/options.md has the options
 */
#define _GNU_SOURCE
#include <heapwood.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { PIPELINES = 8, STACK = 256 << 10, KEPT = 40 };

struct node {
    struct node *next;
    uint64_t number;
};

struct fiber {
    void (*body)(struct fiber *self);
    struct fiber *source;     /* where its lists come from; NULL at the beginning of a pipeline */
    uint64_t seed;
    struct node *given;       /* what it gives to whoever resumed it: a root, for this memory is not the heap's */
    hw_root root;
    int ends;                 /* it is to return, for nobody will ask it for more */
    char *memory;
    hw_stack *stack;
    ucontext_t context, back; /* where it goes on, and where whoever resumed it does */
    hw_stack *resumer;        /* on which stack; NULL is the thread's own */
};

static hw_heap *heap;
static hw_mutator *m;
static hw_type node_type;
static struct fiber *running; /* NULL while the thread is on its own stack */
static unsigned long switches;

static void fail(const char *what) {
    fprintf(stderr, "fibers: %s\n", what);
    exit(1);
}

/* ------------------------------------------------------------------------------------------------- switching -- */

struct swap {
    ucontext_t *from, *to;
};

static void jump(void *arg) {
    struct swap *swap = arg;
    swapcontext(swap->from, swap->to);
}

static void switch_to(hw_stack *stack, ucontext_t *from, ucontext_t *to) {
    struct swap swap = {from, to};
    switches++;
    if (hw_stack_switch(m, stack, jump, &swap)) fail(hw_last_error(m)->text);
}

/* Lets a fiber run until it gives something, and returns that. */
static struct node *resume(struct fiber *f) {
    struct fiber *me = running;
    f->resumer = me == NULL ? NULL : me->stack;
    running = f;
    switch_to(f->stack, &f->back, &f->context);
    running = me;
    struct node *list = f->given;
    f->given = NULL;
    return list;
}

/* Gives a list to whoever has resumed this fiber, and returns when somebody does again. */
static void give(struct fiber *self, struct node *list) {
    self->given = list;
    switch_to(self->resumer, &self->context, &self->back);
}

/* Where a fiber begins: what it is told is a number, so it finds itself in a variable. */
static void begin(void) {
    struct fiber *self = running;
    self->body(self);
    give(self, NULL); /* for good: nothing of its stack is needed any more */
}

static void start(struct fiber *f) {
    hw_error why;
    f->memory = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (f->memory == MAP_FAILED || getcontext(&f->context) != 0) fail("no memory for a stack");
    f->context.uc_stack.ss_sp = f->memory;
    f->context.uc_stack.ss_size = STACK;
    makecontext(&f->context, begin, 0);
    f->root = hw_root_slots(heap, &f->given, 1, &why);
    if (f->root == 0 || hw_stack_range_add(heap, f->memory, f->memory + STACK, &f->stack, &why)) fail(why.text);
}

static void end(struct fiber *f) {
    hw_error why;
    f->ends = 1;
    resume(f);
    if (hw_stack_range_remove(heap, f->stack, &why) || hw_root_remove(heap, f->root, &why)) fail(why.text);
    munmap(f->memory, STACK);
}

/* ------------------------------------------------------------------------------------- what the fibers do -- */

static struct node *cons(uint64_t number, struct node *next) {
    struct node *n = hw_alloc(m, node_type);
    if (n == NULL) fail(hw_last_error(m)->text);
    n->number = number;
    n->next = next; /* new: no barrier */
    return n;
}

static uint64_t sum(const struct node *list) {
    uint64_t s = 0;
    for (; list != NULL; list = list->next) s = s * 31 + list->number;
    return s;
}

/* Gives lists of numbers that nobody can foresee. */
static void numbers(struct fiber *self) {
    uint64_t random = self->seed;
    while (!self->ends) {
        struct node *list = NULL;
        for (uint64_t n = random >> 60; n > 0; n--) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            list = cons(random >> 40, list);
        }
        random += 0x9e3779b97f4a7c15u;
        give(self, list);
    }
}

/* Gives the lists of its source, reversed, with each number squared. */
static void squares(struct fiber *self) {
    while (!self->ends) {
        struct node *list = NULL;
        for (struct node *n = resume(self->source); n != NULL; n = n->next) list = cons(n->number * n->number, list);
        give(self, list);
    }
}

/* Keeps a list of what it was given last, on its stack, and gives a list of one number: the sum of all that it has kept. */
static void history(struct fiber *self) {
    struct node *kept = NULL;
    while (!self->ends) {
        kept = cons(sum(resume(self->source)), kept);
        struct node *last = kept;
        for (int i = 1; i < KEPT && last != NULL; i++) last = last->next;
        if (last != NULL) hw_write(m, last, &last->next, NULL); /* not new: a barrier */
        give(self, cons(sum(kept), NULL));
        hw_safepoint(m);
    }
}

int main(int argc, char **argv) {
    static struct fiber fibers[PIPELINES][3];
    unsigned long most = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000000;
    hw_options options;
    hw_error why;
    uint64_t mask = HW_POINTER(struct node, next), check = 0;
    hw_options_init(&options);
    hw_options_env(&options, NULL);
    if (hw_heap_create(&options, &heap, &why) || hw_attach(heap, NULL, &m, &why) ||
        hw_type_mask(heap, sizeof(struct node), &mask, 1, &node_type, &why))
        fail(why.text);
    for (int i = 0; i < PIPELINES; i++) {
        void (*const bodies[3])(struct fiber *) = {numbers, squares, history};
        for (int k = 0; k < 3; k++) {
            struct fiber *f = &fibers[i][k];
            f->body = bodies[k];
            f->source = k == 0 ? NULL : f - 1;
            f->seed = (uint64_t)i + 1;
            start(f);
        }
    }
    while (switches < most) {
        for (int i = 0; i < PIPELINES; i++) check = check * 31 + sum(resume(&fibers[i][2]));
    }
    for (int i = 0; i < PIPELINES; i++) {
        for (int k = 2; k >= 0; k--) end(&fibers[i][k]);
    }
    hw_stats stats = {.size = sizeof stats};
    hw_stats_get(heap, &stats);
    printf("check %016llx of %lu switches, %d collections\n", (unsigned long long)check, switches, (int)stats.collections);
    hw_detach(m);
    return hw_heap_destroy(heap, NULL) != HW_OK;
}
