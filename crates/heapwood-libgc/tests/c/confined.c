/* The process sees no files, neither of /proc nor of /sys: it works all the same, with threads and fork. (bdwgc#225, bdwgc#498) */
#define _GNU_SOURCE
#include "lists.h"
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>
static void *global;
static void *run(void *argument) {
    for (int i = 0; i < 10; i++) {
        struct list *list = make_list(1000);
        GC_gcollect();
        check_list(list, 1000);
    }
    return argument;
}
int main(void) {
    char empty[] = "/tmp/confined-XXXXXX";
    CHECK(mkdtemp(empty) && !chdir(empty) && !rmdir(empty));
    if (chroot(".") && (unshare(CLONE_NEWUSER) || chroot("."))) {
        puts("ok, SKIPPED: chroot is not allowed");
        return 0;
    }
    CHECK(access("/proc", F_OK));
    GC_INIT();
    global = make_list(500);
    struct list *on_stack = make_list(500);
    for (int i = 0; i < 10; i++) {
        make_list(10000);
        GC_gcollect();
    }
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) CHECK(!pthread_create(&threads[i], NULL, run, NULL));
    run(NULL);
    for (int i = 0; i < 3; i++) CHECK(!pthread_join(threads[i], NULL));
    pid_t child = fork();
    if (child == 0) {
        run(NULL);
        check_list(on_stack, 500);
        _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    void *big = GC_MALLOC_ATOMIC(100 << 20);
    CHECK(big);
    GC_FREE(big);
    check_list(global, 500);
    check_list(on_stack, 500);
    puts("ok");
    return 0;
}
