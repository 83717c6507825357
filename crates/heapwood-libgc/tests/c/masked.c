/* All signals are blocked before the library is initialised, and threads inherit that: they stop all the same. (bdwgc#175) */
#include "lists.h"
#include <signal.h>
static volatile int stop, began;
static void *spins(void *argument) {
    struct list *kept = make_list(100);
    began = 1;
    while (!stop) {}
    check_list(kept, 100);
    return argument;
}
static void *collects(void *argument) {
    for (int i = 0; i < 10; i++) {
        check_list(make_list(3000), 3000);
        GC_gcollect();
    }
    return argument;
}
int main(void) {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    GC_INIT();
    pthread_t spinning, collecting;
    CHECK(!pthread_create(&spinning, NULL, spins, NULL));
    while (!began) {}
    CHECK(!pthread_create(&collecting, NULL, collects, NULL));
    struct list *kept = make_list(1000);
    CHECK(!pthread_join(collecting, NULL));
    stop = 1;
    CHECK(!pthread_join(spinning, NULL));
    check_list(kept, 1000);
    puts("ok");
    return 0;
}
