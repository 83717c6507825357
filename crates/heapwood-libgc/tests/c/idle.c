/* A process whose other thread waits: callbacks come on threads of the program alone, and finalizers on none that it does not know. */
#include "check.h"
#include <unistd.h>
static pthread_t me;
static long starts, finals;
static void start(void) { CHECK(pthread_equal(pthread_self(), me)); starts++; }
static void final(void *object, void *data) { (void)object; (void)data; CHECK(pthread_equal(pthread_self(), me)); finals++; }
static void *waits(void *ends) { char byte; CHECK(read(((int *)ends)[0], &byte, 1) == 0); return NULL; }
static void __attribute__((noinline)) make(void) {
    for (int i = 0; i < 1000; i++) GC_REGISTER_FINALIZER(GC_MALLOC(32), final, NULL, NULL, NULL);
    for (int i = 0; i < 200000; i++) CHECK(GC_MALLOC(100));
}
int main(void) {
    me = pthread_self();
    GC_INIT();
    GC_set_start_callback(start);
    int ends[2];
    CHECK(!pipe(ends));
    pthread_t other;
    CHECK(!GC_pthread_create(&other, NULL, waits, ends));
    for (int i = 0; i < 3; i++) { far_down(make); }
    GC_gcollect();
    CHECK(starts > 0 && finals > 0);
    close(ends[1]);
    CHECK(!GC_pthread_join(other, NULL));
    puts("ok");
    return 0;
}
