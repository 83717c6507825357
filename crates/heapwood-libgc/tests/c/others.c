/* What one thread has just made, another looks up, resizes and frees. */
#include "check.h"
enum { COUNT = 200000 };
static void *volatile made[COUNT];
static volatile int ready;
static void *make(void *argument) {
    (void)argument;
    for (int i = 0; i < COUNT; i++) {
        char *p = i % 3 ? GC_MALLOC(16 + i % 500) : GC_MALLOC_ATOMIC(16 + i % 500);
        memset(p, i & 127, 16);
        __atomic_store_n(&made[i], p, __ATOMIC_RELEASE);
    }
    return NULL;
}
int main(void) {
    GC_INIT();
    pthread_t thread;
    CHECK(!GC_pthread_create(&thread, NULL, make, NULL));
    for (int i = 0; i < COUNT; i++) {
        char *p;
        while (!(p = __atomic_load_n(&made[i], __ATOMIC_ACQUIRE))) sched_yield();
        size_t size;
        CHECK(GC_base(p) == p && GC_base(p + 5) == p && GC_is_heap_ptr(p));
        CHECK(GC_size(p) >= (size_t)(16 + i % 500));
        CHECK(GC_get_kind_and_size(p, &size) == (i % 3 ? 1 : 0) && size == GC_size(p));
        if (i % 5 == 0) {
            char *q = GC_REALLOC(p, 700);
            for (int j = 0; j < 16; j++) CHECK(q[j] == (i & 127));
            made[i] = q;
        } else if (i % 7 == 0) {
            made[i] = NULL;
            GC_FREE(p);
        }
    }
    CHECK(!GC_pthread_join(thread, NULL));
    puts("ok");
    return 0;
}
