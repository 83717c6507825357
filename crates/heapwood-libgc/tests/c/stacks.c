/* Stacks that the program switches to, as Crystal does: it writes GC_stackbottom before it switches, names the stacks of the other
 * fibers as roots, and allocates on each. Blocking regions, and calls in them that use the heap. */
#include "check.h"
#include <ucontext.h>
#include <unistd.h>
enum { FIBERS = 8, BYTES = 256 << 10, TURNS = 300 };
static struct fiber { ucontext_t context; char *low, *bottom; void **top; int done; } fibers[FIBERS + 1];
static int now;
static void push(void) {
    for (int i = 0; i <= FIBERS; i++)
        if (i != now && fibers[i].top) {
            GC_push_all_eager(fibers[i].top, fibers[i].bottom);
            GC_push_all(&fibers[i].context, &fibers[i].context + 1);
        }
}
static void __attribute__((noinline)) switch_to(int next) {
    struct fiber *from = &fibers[now];
    void *here;
    from->top = &here - 16;
    now = next;
    GC_stackbottom = fibers[next].bottom;
    swapcontext(&from->context, &fibers[next].context);
}
struct list { struct list *next; long n; };
static void run(void) {
    int me = now;
    for (int turn = 0; turn < TURNS; turn++) {
        struct list *l = NULL;
        for (long i = 0; i < 100; i++) {
            struct list *n = GC_MALLOC(sizeof *n);
            n->next = l; n->n = i * me; l = n;
            if (i % 50 == 7) switch_to(1 + (me + turn) % FIBERS);
        }
        for (long i = 99; l; l = l->next, i--) CHECK(l->n == i * me);
        if (turn % 20 == 0) GC_gcollect();
    }
    fibers[me].done = 1;
    for (;;) {
        int next = 0;
        for (int i = 1; i <= FIBERS; i++) if (!fibers[i].done) next = i;
        switch_to(next);
    }
}
/* On its way back through the region nothing but this refers to what `inner` makes. */
static char *text;
static void *inner(void *argument) {
    text = GC_strdup(argument);
    GC_gcollect();
    return text;
}
static void *outer(void *argument) {
    usleep(1000);
    return GC_call_with_gc_active(inner, argument);
}
static volatile int stop;
static void *collects(void *argument) { (void)argument; while (!stop) { GC_gcollect(); usleep(100); } return NULL; }
int main(void) {
    GC_INIT();
    GC_set_push_other_roots(push);
    fibers[0].bottom = GC_stackbottom;
    for (int i = 1; i <= FIBERS; i++) {
        struct fiber *f = &fibers[i];
        getcontext(&f->context);
        f->low = malloc(BYTES);
        f->bottom = f->low + BYTES;
        f->context.uc_stack.ss_sp = f->low;
        f->context.uc_stack.ss_size = BYTES;
        makecontext(&f->context, run, 0);
    }
    pthread_t thread;
    CHECK(!GC_pthread_create(&thread, NULL, collects, NULL));
    switch_to(1);
    for (int i = 1; i <= FIBERS; i++) CHECK(fibers[i].done);
    char *kept = GC_strdup("kept");
    for (int i = 0; i < 50; i++) CHECK(!strcmp(GC_do_blocking(outer, "a text"), "a text"));
    CHECK(!strcmp(kept, "kept"));
    stop = 1;
    CHECK(!GC_pthread_join(thread, NULL));
    puts("ok");
    return 0;
}
