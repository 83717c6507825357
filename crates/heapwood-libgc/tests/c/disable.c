/* Collections off: neither another thread's allocation nor a request collects; nested; by the variable; only those not asked for. */
#include "check.h"
static void *allocate(void *argument) {
    (void)argument;
    for (int i = 0; i < 100000; i++) CHECK(GC_MALLOC(1000));
    return NULL;
}
static void in_another(void) {
    pthread_t thread;
    CHECK(!GC_pthread_create(&thread, NULL, allocate, NULL) && !GC_pthread_join(thread, NULL));
}
int main(void) {
    GC_INIT();
    GC_gcollect();
    GC_word before = GC_get_gc_no();
    GC_disable();
    GC_disable();
    CHECK(GC_is_disabled());
    in_another();
    GC_gcollect();
    CHECK(GC_get_gc_no() == before);
    GC_enable();
    CHECK(GC_is_disabled());
    GC_gcollect();
    CHECK(GC_get_gc_no() == before);
    GC_enable();
    CHECK(!GC_is_disabled());
    GC_gcollect();
    CHECK(GC_get_gc_no() == before + 1);
    GC_dont_gc = 1;
    CHECK(GC_is_disabled());
    for (int i = 0; i < 100000; i++) GC_MALLOC(1000);
    GC_gcollect();
    CHECK(GC_get_gc_no() == before + 1);
    GC_dont_gc = 0;
    GC_set_disable_automatic_collection(1);
    CHECK(GC_get_disable_automatic_collection());
    for (int i = 0; i < 100000; i++) GC_MALLOC(1000);
    CHECK(GC_get_gc_no() == before + 1);
    GC_gcollect();
    CHECK(GC_get_gc_no() == before + 2);
    GC_set_disable_automatic_collection(0);
    in_another();
    CHECK(GC_get_gc_no() > before + 2);
    puts("ok");
    return 0;
}
