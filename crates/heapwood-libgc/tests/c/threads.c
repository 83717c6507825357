/* Threads: results, arguments, registration, exits, locks, a thousand of them, unregistered ones. */
#include "check.h"
struct list { struct list *next; long n; };
static void *grow(void *argument) {
    struct list *l = NULL;
    long n = (long)(intptr_t)((struct list *)argument)->n;
    for (long i = 0; i < n; i++) { struct list *m = GC_MALLOC(sizeof *m); m->next = l; m->n = i; l = m; }
    for (long i = n - 1; i >= 0; i--) { CHECK(l->n == i); if (l->next) l = l->next; }
    struct list *result = GC_MALLOC(sizeof *result);
    result->n = n;
    return result;
}
static void *leave(void *argument) { (void)argument; pthread_exit(GC_strdup("left")); return NULL; }
#undef pthread_create
#undef pthread_join
static void *registers(void *argument) {
    struct GC_stack_base base;
    CHECK(!GC_thread_is_registered());
    CHECK(GC_get_stack_base(&base) == GC_SUCCESS && GC_register_my_thread(&base) == GC_SUCCESS);
    CHECK(GC_register_my_thread(&base) == GC_DUPLICATE && GC_thread_is_registered());
    void *result = grow(argument);
    (void)result;
    CHECK(GC_unregister_my_thread() == GC_SUCCESS && !GC_thread_is_registered());
    CHECK(GC_register_my_thread(&base) == GC_SUCCESS);
    grow(argument);
    return NULL;
}
static void *unregistered(void *argument) { grow(argument); return NULL; }
static void *locked(void *data) { return GC_base((char *)data + 3); }
static pthread_key_t key;
static void at_exit(void *word) { (void)word; for (int i = 0; i < 100; i++) CHECK(GC_MALLOC(24)); }
static void *with_key(void *argument) { pthread_setspecific(key, &key); return grow(argument); }
int main(void) {
    GC_INIT();
    GC_allow_register_threads();
    struct list *argument = GC_MALLOC(sizeof *argument);
    argument->n = 20000;
    pthread_t threads[8];
    for (int i = 0; i < 8; i++) CHECK(!GC_pthread_create(&threads[i], NULL, grow, argument));
    for (int i = 0; i < 8; i++) {
        void *result;
        CHECK(!GC_pthread_join(threads[i], &result));
        CHECK(((struct list *)result)->n == 20000);
    }
    void *text;
    CHECK(!GC_pthread_create(&threads[0], NULL, leave, NULL) && !GC_pthread_join(threads[0], &text));
    CHECK(!strcmp(text, "left"));
    pthread_key_create(&key, at_exit);
    void *(*functions[])(void *) = { registers, unregistered, with_key };
    for (int i = 0; i < 3; i++) CHECK(!pthread_create(&threads[i], NULL, functions[i], argument));
    for (int i = 0; i < 3; i++) CHECK(!pthread_join(threads[i], NULL));
    argument->n = 50;
    for (int i = 0; i < 1000; i++) {
        pthread_t one;
        CHECK(!GC_pthread_create(&one, NULL, i % 2 ? grow : with_key, argument));
        if (i % 3) CHECK(!GC_pthread_join(one, NULL));
        else CHECK(!GC_pthread_detach(one));
    }
    char *object = GC_MALLOC(16);
    CHECK(GC_call_with_alloc_lock(locked, object) == object);
    GC_alloc_lock();
    GC_alloc_unlock();
    sigset_t all, now;
    sigfillset(&all);
    CHECK(!GC_pthread_sigmask(SIG_SETMASK, &all, NULL) && !GC_pthread_sigmask(SIG_BLOCK, NULL, &now));
    CHECK(!sigismember(&now, GC_get_suspend_signal()) && sigismember(&now, SIGUSR1));
    puts("ok");
    return 0;
}
