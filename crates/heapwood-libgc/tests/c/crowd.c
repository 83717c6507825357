/* A thousand threads are there at once: all allocate, some collect, each finds what it has made, and ends. Twice, so that the second
   thousand takes over from the first. */
#include "check.h"
enum { THREADS = 1000, ROUNDS = 2, KEPT = 200 };
struct list { struct list *next; long n; };
static pthread_barrier_t all;
static long done;
static struct list *make(long n, long me) {
    struct list *l = NULL;
    for (long i = 0; i < n; i++) { struct list *m = GC_MALLOC(sizeof *m); m->next = l; m->n = me + i; l = m; }
    return l;
}
static void check(struct list *l, long n, long me) {
    for (; l; l = l->next) CHECK(l->n == me + --n);
    CHECK(n == 0);
}
static void *wait_for_all(void *argument) { pthread_barrier_wait(&all); return argument; }
static void *work(void *argument) {
    long me = (long)(intptr_t)argument;
    struct list *kept = make(KEPT, me);
    /* Half of them wait outside, half where a signal has to interrupt them. */
    if (me & 1) GC_do_blocking(wait_for_all, NULL);
    else wait_for_all(NULL);
    if (me % 50 == 0) GC_gcollect();
    check(make(1000, me), 1000, me);
    check(kept, KEPT, me);
    __atomic_add_fetch(&done, 1, __ATOMIC_RELAXED);
    return me % 3 ? kept : NULL;
}
int main(void) {
    GC_INIT();
    static pthread_t threads[THREADS];
    pthread_attr_t small;
    CHECK(!pthread_attr_init(&small) && !pthread_attr_setstacksize(&small, 256 << 10));
    CHECK(!pthread_barrier_init(&all, NULL, THREADS));
    for (int round = 0; round < ROUNDS; round++) {
        for (long i = 0; i < THREADS; i++) CHECK(!GC_pthread_create(&threads[i], &small, work, (void *)i));
        for (long i = 0; i < THREADS; i++) {
            void *result;
            CHECK(!GC_pthread_join(threads[i], &result));
            if (i % 3) check(result, KEPT, i);
            else CHECK(!result);
        }
    }
    CHECK(done == THREADS * ROUNDS && GC_get_gc_no() >= 20);
    puts("ok");
    return 0;
}
