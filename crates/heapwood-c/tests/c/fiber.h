/* Fibers for the test programs: a stack of memory with a context, registered with a heap. */
#ifndef FIBER_H
#define FIBER_H

#include "check.h"
#include <heapwood.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { FIBER_BYTES = 512 << 10 };

struct fiber {
    ucontext_t context, back;
    char *memory;
    hw_stack *stack;
};

struct swap {
    ucontext_t *from, *to;
};

static inline void swap_contexts(void *arg) {
    struct swap *swap = (struct swap *)arg;
    CHECK(swapcontext(swap->from, swap->to) == 0);
}

/* Memory for a stack, and a context that begins there; it is registered unless there is no heap. */
static inline void fiber_make(struct fiber *f, hw_heap *heap, void (*begin)(void)) {
    f->memory = (char *)mmap(NULL, FIBER_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(f->memory != MAP_FAILED && getcontext(&f->context) == 0);
    f->context.uc_stack.ss_sp = f->memory;
    f->context.uc_stack.ss_size = FIBER_BYTES;
    f->context.uc_link = NULL;
    makecontext(&f->context, begin, 0);
    if (heap != NULL) {
        CHECK(hw_stack_range_add(heap, f->memory, f->memory + FIBER_BYTES, &f->stack, NULL) == HW_OK);
    }
}

/* Switches to the fiber. Returns when a thread switches back to this stack, the thread's own. */
static inline void fiber_enter(hw_mutator *m, struct fiber *f) {
    struct swap swap = {&f->back, &f->context};
    CHECK(hw_stack_switch(m, f->stack, swap_contexts, &swap) == HW_OK);
}

/* From the fiber to the stack of the thread that has entered it. m must not be used afterwards if another thread may
 * enter next. */
static inline void fiber_leave(hw_mutator *m, struct fiber *f) {
    struct swap swap = {&f->context, &f->back};
    CHECK(hw_stack_switch(m, NULL, swap_contexts, &swap) == HW_OK);
}

static inline void fiber_unmake(struct fiber *f, hw_heap *heap) {
    if (heap != NULL) CHECK(hw_stack_range_remove(heap, f->stack, NULL) == HW_OK);
    CHECK(munmap(f->memory, FIBER_BYTES) == 0);
}

#endif
