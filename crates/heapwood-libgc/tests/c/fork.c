/* One thread forks while others allocate; each child allocates, collects, and finds its data whole. */
#include "check.h"
#include <sys/wait.h>
#include <unistd.h>
struct list { struct list *next; long n; };
static volatile int stop;
static struct list *make(long n) {
    struct list *l = NULL;
    while (n--) { struct list *m = GC_MALLOC(sizeof *m); m->next = l; m->n = n; l = m; }
    return l;
}
static void *allocate(void *argument) {
    (void)argument;
    while (!stop) { struct list *l = make(1000); CHECK(l->n == 0); }
    return NULL;
}
int main(void) {
    GC_INIT();
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) CHECK(!GC_pthread_create(&threads[i], NULL, allocate, NULL));
    struct list *kept = make(5000);
    for (int i = 0; i < 40; i++) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            alarm(60);
            for (int j = 0; j < 20; j++) make(1000);
            GC_gcollect();
            long n = 0;
            for (struct list *l = kept; l; l = l->next) CHECK(l->n == n++);
            _exit(n == 5000 ? 0 : 1);
        }
        int status;
        CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    stop = 1;
    for (int i = 0; i < 3; i++) CHECK(!GC_pthread_join(threads[i], NULL));
    puts("ok");
    return 0;
}
