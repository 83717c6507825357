/* The program limits its address space after it has begun (Guile's setrlimit, sandboxes): a small heap takes up little of it, what the
   program wants itself is granted, and the heap ends at the limit, with an answer. */
#include "lists.h"
#include <sys/mman.h>
#include <sys/resource.h>
static long status_kb(const char *key) {
    static char line[256];
    FILE *status = fopen("/proc/self/status", "r");
    CHECK(status);
    long kb = -1;
    while (kb < 0 && fgets(line, sizeof line, status))
        if (!strncmp(line, key, strlen(key))) kb = strtol(line + strlen(key), NULL, 10);
    fclose(status);
    return kb;
}
static void quiet(char *text, GC_word word) { (void)text; (void)word; }
static void *thread(void *argument) { return make_list(1000) ? argument : NULL; }
/* Objects that are kept, until there is no room. */
static long n;
static void fill(void) {
    void **all = NULL;
    for (; n < 4000; n++) {
        void **more = GC_MALLOC(1000000);
        if (!more) break;
        *more = all;
        all = more;
    }
    for (long left = n; left; left--) all = *all;
    CHECK(!all);
}
int main(void) {
    GC_INIT();
    GC_set_warn_proc(quiet);
    struct list *kept = make_list(1000);
    CHECK(status_kb("VmSize:") < 512 << 10);
    struct rlimit limit = { 1u << 30, 1u << 30 };
    CHECK(!setrlimit(RLIMIT_AS, &limit));
    void *own = malloc(50 << 20), *mapped = mmap(NULL, 50 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(own && mapped != MAP_FAILED);
    free(own);
    CHECK(!munmap(mapped, 50 << 20));
    pthread_t other;
    void *result;
    CHECK(!pthread_create(&other, NULL, thread, kept) && !pthread_join(other, &result) && result == kept);
    far_down(fill);
    CHECK(n > 500 && n < 1100);
    check_list(kept, 1000);
    collect();
    CHECK(GC_MALLOC(100 << 20));
    puts("ok");
    return 0;
}
