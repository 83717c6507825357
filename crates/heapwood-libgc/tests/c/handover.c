/* Objects go from thread to thread, which resize and free them while collections run: each is found where it is. */
#include "check.h"
enum { THREADS = 4, SLOTS = 64, ROUNDS = 150000 };
static void *slots[SLOTS];
static long sizes[SLOTS];
static pthread_mutex_t locks[SLOTS];
static void *work(void *argument) {
    unsigned random = 1 + (unsigned)(intptr_t)argument;
    for (int i = 0; i < ROUNDS; i++) {
        random = random * 1103515245 + 12345;
        int at = random >> 16 & (SLOTS - 1);
        long size = 16 + (random >> 22) % 400;
        pthread_mutex_lock(&locks[at]);
        char *p = slots[at];
        if (p) {
            CHECK(GC_base(p) == p && GC_size(p) >= (size_t)sizes[at] && *p == at);
            if (random >> 12 & 1) {
                p = GC_REALLOC(p, size);
                CHECK(p && *p == at);
                sizes[at] = size;
            } else if (random >> 13 & 1) {
                GC_FREE(p);
                p = NULL;
            }
        } else {
            p = random >> 14 & 1 ? GC_MALLOC(size) : GC_MALLOC_ATOMIC(size);
            *p = at;
            sizes[at] = size;
        }
        slots[at] = p;
        pthread_mutex_unlock(&locks[at]);
        for (int j = 0; j < 20; j++) *(char *)GC_MALLOC_ATOMIC(16 + (random >> 8) % 300) = 1;
    }
    return NULL;
}
int main(void) {
    GC_INIT();
    for (int i = 0; i < SLOTS; i++) pthread_mutex_init(&locks[i], NULL);
    pthread_t threads[THREADS];
    for (long i = 0; i < THREADS; i++) CHECK(!GC_pthread_create(&threads[i], NULL, work, (void *)i));
    for (int i = 0; i < THREADS; i++) CHECK(!GC_pthread_join(threads[i], NULL));
    CHECK(GC_get_gc_no() > 5);
    puts("ok");
    return 0;
}
