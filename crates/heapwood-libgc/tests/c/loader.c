/* A thread allocates and collects in a callback of the loader's, with its lock, while others run. (Crystal looks for the places of a
   backtrace that way.) The others do not collect: who does waits for the lock, and is waited for. */
#define _GNU_SOURCE
#include "check.h"
#include <link.h>
#include <sched.h>
static volatile int stop;
static int calls;
static void *run(void *argument) {
    while (!stop) sched_yield();
    return argument;
}
static int callback(struct dl_phdr_info *info, size_t size, void *kept) {
    (void)info;
    (void)size;
    *(void **)kept = GC_strdup("kept");
    GC_gcollect();
    CHECK(!strcmp(*(char **)kept, "kept"));
    return ++calls >= 3;
}
int main(void) {
    GC_INIT();
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) CHECK(!GC_pthread_create(&threads[i], NULL, run, NULL));
    for (int i = 0; i < 3; i++) {
        void **kept = GC_MALLOC(sizeof(void *));
        calls = 0;
        dl_iterate_phdr(callback, kept);
        GC_gcollect();
    }
    stop = 1;
    for (int i = 0; i < 2; i++) CHECK(!GC_pthread_join(threads[i], NULL));
    puts("ok");
    return 0;
}
