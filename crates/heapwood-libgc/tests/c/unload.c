/* The library stays when it is closed: its handler, its keys and its threads do. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
static void *(*gc_malloc)(unsigned long);
static void *allocate(void *argument) { (void)argument; for (int i = 0; i < 100000; i++) if (!gc_malloc(16)) return argument; return NULL; }
int main(void) {
    void *library = dlopen("libgc.so.1", RTLD_NOW);
    if (!library) return puts(dlerror()), 1;
    gc_malloc = (void *(*)(unsigned long))dlsym(library, "GC_malloc");
    pthread_t thread;
    pthread_create(&thread, NULL, allocate, &thread);
    pthread_join(thread, NULL);
    dlclose(library);
    void *result;
    pthread_create(&thread, NULL, allocate, &thread);
    pthread_join(thread, &result);
    if (result) return 1;
    puts("ok");
    return 0;
}
