/* Threads that are suspended: they stand still while others allocate, collect and fork, wherever they were, and go on whole. */
#include "check.h"
#include <gc/javaxfc.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>
enum { WORKERS = 4, ROUNDS = 400, KEPT = 3000 };
struct list { struct list *next; long n; };
static volatile int stop;
static volatile long turns[WORKERS];
static struct list *make(long n) {
    struct list *l = NULL;
    for (long i = 0; i < n; i++) { struct list *m = GC_MALLOC(sizeof *m); m->next = l; m->n = i; l = m; }
    return l;
}
static void check(struct list *l, long n) {
    for (; l; l = l->next) CHECK(l->n == --n);
    CHECK(n == 0);
}
static void *in_lock(void *data) { return GC_base(data); }
static void *outside(void *data) { sched_yield(); return data; }
/* Allocates, frees, takes the lock, collects, leaves the heap: it is suspended in any of these, or while it waits. */
static void *work(void *argument) {
    long me = (long)(intptr_t)argument;
    struct list *kept = make(KEPT);
    while (!stop) {
        check(make(300), 300);
        check(kept, KEPT);
        CHECK(GC_call_with_alloc_lock(in_lock, (char *)kept + 8) == kept);
        CHECK(GC_do_blocking(outside, kept) == kept);
        GC_free(GC_MALLOC_ATOMIC(5000));
        if (me % 2) GC_gcollect();
        turns[me]++;
    }
    check(kept, KEPT);
    return NULL;
}
static volatile int begun, gone_on;
static void *suspends_itself(void *argument) {
    struct list *kept = make(KEPT);
    begun = 1;
    GC_suspend_thread((GC_SUSPEND_THREAD_ID)pthread_self());
    check(kept, KEPT);
    gone_on = 1;
    return argument;
}
static void *ends(void *argument) { return argument; }
int main(void) {
    GC_INIT();
    pthread_t workers[WORKERS];
    for (long i = 0; i < WORKERS; i++) CHECK(!GC_pthread_create(&workers[i], NULL, work, (void *)i));
    unsigned random = 1;
    for (int round = 0; round < ROUNDS; round++) {
        random = random * 1103515245 + 12345;
        int which = random >> 16 & (WORKERS - 1), other = (which + 1) & (WORKERS - 1);
        GC_SUSPEND_THREAD_ID thread = (GC_SUSPEND_THREAD_ID)workers[which];
        CHECK(!GC_is_thread_suspended(thread));
        GC_suspend_thread(thread);
        CHECK(GC_is_thread_suspended(thread));
        if (round % 8 == 0) {
            /* Suspended twice, and it goes on at once. */
            GC_suspend_thread(thread);
            GC_suspend_thread((GC_SUSPEND_THREAD_ID)workers[other]);
        }
        /* In GC_do_blocking it may be at the end. */
        long before = turns[which];
        check(make(1000), 1000);
        GC_gcollect();
        check(make(1000), 1000);
        CHECK(turns[which] == before);
        if (round % 50 == 0) {
            pid_t child = fork();
            CHECK(child >= 0);
            if (!child) {
                check(make(1000), 1000);
                GC_gcollect();
                _exit(0);
            }
            int status;
            CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status));
        }
        CHECK(turns[which] == before);
        GC_resume_thread(thread);
        CHECK(!GC_is_thread_suspended(thread));
        GC_resume_thread(thread);
        GC_resume_thread((GC_SUSPEND_THREAD_ID)workers[other]);
    }
    /* All have gone on. */
    for (int i = 0; i < WORKERS; i++) {
        long before = turns[i];
        while (turns[i] == before) sched_yield();
    }
    stop = 1;
    for (int i = 0; i < WORKERS; i++) CHECK(!GC_pthread_join(workers[i], NULL));
    pthread_t one;
    CHECK(!GC_pthread_create(&one, NULL, suspends_itself, NULL));
    while (!begun || !GC_is_thread_suspended((GC_SUSPEND_THREAD_ID)one)) sched_yield();
    GC_gcollect();
    for (int i = 0; i < 20000; i++) memset(GC_MALLOC_ATOMIC(16), 0x5a, 16);
    CHECK(!gone_on);
    GC_resume_thread((GC_SUSPEND_THREAD_ID)one);
    CHECK(!GC_pthread_join(one, NULL) && gone_on);
    /* One that has ended, and was not joined, counts as libgc's does. */
    CHECK(!GC_pthread_create(&one, NULL, ends, NULL));
    usleep(20000);
    GC_suspend_thread((GC_SUSPEND_THREAD_ID)one);
    CHECK(GC_is_thread_suspended((GC_SUSPEND_THREAD_ID)one));
    GC_resume_thread((GC_SUSPEND_THREAD_ID)one);
    CHECK(!GC_is_thread_suspended((GC_SUSPEND_THREAD_ID)one));
    CHECK(!GC_pthread_join(one, NULL));
    /* One that is not registered is left alone. */
    GC_suspend_thread((GC_SUSPEND_THREAD_ID)(uintptr_t)8);
    CHECK(!GC_is_thread_suspended((GC_SUSPEND_THREAD_ID)(uintptr_t)8));
    puts("ok");
    return 0;
}
