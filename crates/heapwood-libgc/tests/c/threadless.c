/* A program with one thread stays a process with one thread; and where the process may have no more threads, collections go on with
   those that there are. (oven-sh/bun#37777, golang/go#24484) */
#define _GNU_SOURCE
#include "lists.h"
#include <dirent.h>
#include <errno.h>
#include <sys/resource.h>
#include <unistd.h>
static int tasks(void) {
    int n = 0;
    DIR *all = opendir("/proc/self/task");
    CHECK(all);
    for (struct dirent *one; (one = readdir(all));) n += one->d_name[0] != '.';
    closedir(all);
    return n;
}
static volatile int stop;
static void *run(void *argument) {
    while (!stop) check_list(make_list(1000), 1000);
    return argument;
}
static void work(void) {
    for (int i = 0; i < 30; i++) {
        check_list(make_list(20000), 20000);
        GC_gcollect();
        GC_FREE(GC_MALLOC_ATOMIC(3 << 20));
    }
    GC_gcollect_and_unmap();
}
int main(void) {
    GC_INIT();
    struct list *kept = make_list(10000);
    work();
    CHECK(tasks() == 1);
    if (!geteuid()) CHECK(!setgid(12345) && !setuid(12345));
    struct rlimit none = { 0, 0 };
    CHECK(!setrlimit(RLIMIT_NPROC, &none));
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, run, NULL) == EAGAIN);
    work();
    check_list(kept, 10000);
    CHECK(tasks() == 1);
    puts("ok");
    return 0;
}
