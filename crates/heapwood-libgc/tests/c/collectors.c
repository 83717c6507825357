/* Several threads ask for collections at once, while others allocate, register finalizers and links, and take the lock. */
#include "check.h"
enum { THREADS = 6, ROUNDS = 60 };
struct pair { void *a; void *b; };
static long finalized;
static void final(void *object, void *data) {
    struct pair *p = object;
    CHECK(p->a == data && p->b == NULL);
    __atomic_add_fetch(&finalized, 1, __ATOMIC_RELAXED);
}
static int never(void) { return 0; }
static void *locked(void *data) { return GC_base(data); }
static void *work(void *argument) {
    long me = (long)(intptr_t)argument;
    for (int i = 0; i < ROUNDS; i++) {
        if (me < 2) GC_gcollect();
        else if (me == 2) CHECK(GC_try_to_collect(never) == 1);
        struct pair *kept = GC_MALLOC(sizeof *kept);
        void **hidden = GC_MALLOC_ATOMIC(sizeof *hidden);
        *hidden = (void *)~(GC_word)kept;
        CHECK(GC_general_register_disappearing_link(hidden, kept) == GC_SUCCESS);
        for (int j = 0; j < 200; j++) {
            struct pair *p = GC_MALLOC(sizeof *p);
            p->a = (void *)(intptr_t)(j + 1);
            GC_REGISTER_FINALIZER(p, final, p->a, NULL, NULL);
            void **link = GC_MALLOC_ATOMIC(sizeof *link);
            *link = (void *)~(GC_word)p;
            GC_general_register_disappearing_link(link, p);
        }
        CHECK(GC_call_with_alloc_lock(locked, (char *)kept + 8) == kept);
        CHECK(*hidden == (void *)~(GC_word)kept);
        CHECK(GC_unregister_disappearing_link(hidden) == 1);
        GC_invoke_finalizers();
    }
    return NULL;
}
int main(void) {
    GC_INIT();
    pthread_t threads[THREADS];
    for (long i = 0; i < THREADS; i++) CHECK(!GC_pthread_create(&threads[i], NULL, work, (void *)i));
    for (int i = 0; i < THREADS; i++) CHECK(!GC_pthread_join(threads[i], NULL));
    for (int i = 0; i < 5; i++) { GC_gcollect(); GC_invoke_finalizers(); }
    CHECK(finalized > THREADS * ROUNDS * 200 * 9 / 10);
    puts("ok");
    return 0;
}
