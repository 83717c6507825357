/* While a finalizer waits on one thread, others are called on the others, and in a child that is forked meanwhile. (mmtk-core#1054,
   crystal#10403) */
#include "lists.h"
#include <sys/wait.h>
#include <unistd.h>
static volatile int inside, leave;
static volatile long ran;
static void *volatile got;
static void waits(void *object, void *data) {
    (void)object;
    (void)data;
    if (__atomic_exchange_n(&inside, 1, __ATOMIC_SEQ_CST)) return;
    while (!leave) usleep(1000);
}
static void note(void *object, void *data) {
    (void)object;
    (void)data;
    ran++;
}
static void make_waiting(void) {
    for (int i = 0; i < 10; i++) GC_REGISTER_FINALIZER(GC_MALLOC(64), waits, NULL, NULL, NULL);
}
static void make(void) {
    for (int i = 0; i < 100; i++) GC_REGISTER_FINALIZER(GC_MALLOC(64), note, NULL, NULL, NULL);
}
static void allocate(void) {
    for (int i = 0; i < 100000; i++) got = GC_MALLOC(64);
}
static void *enters(void *argument) {
    far_down(make_waiting);
    while (!inside) allocate();
    return argument;
}
static int are_called(void) {
    ran = 0;
    far_down(make);
    for (int i = 0; i < 300 && ran < 90; i++) allocate();
    return ran >= 90;
}
int main(void) {
    GC_set_handle_fork(1);
    GC_INIT();
    CHECK(are_called());
    pthread_t thread;
    CHECK(!pthread_create(&thread, NULL, enters, NULL));
    while (!inside) usleep(1000);
    pid_t child = fork();
    if (child == 0) _exit(are_called() ? 0 : 7);
    int status;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    CHECK(are_called());
    leave = 1;
    CHECK(!pthread_join(thread, NULL));
    CHECK(are_called());
    puts("ok");
    return 0;
}
