/* Sizes and realloc: content, zeros, kinds; frees; held objects and what they lead to. */
#include "check.h"
static void *volatile slot;
static void hold(void) {
    void **held = GC_MALLOC_UNCOLLECTABLE(32);
    held[0] = GC_strdup("led to");
    slot = (void *)~(uintptr_t)held;
}
int main(void) {
    GC_INIT();
    GC_gcollect();
    CHECK(GC_get_expl_freed_bytes_since_gc() == 0);
    for (int i = 0; i < 1000; i++) GC_FREE(GC_MALLOC(48));
    GC_FREE(GC_MALLOC_ATOMIC(100000));
    CHECK(GC_get_expl_freed_bytes_since_gc() >= 148000 && GC_get_expl_freed_bytes_since_gc() < 200000);
    GC_gcollect();
    CHECK(GC_get_expl_freed_bytes_since_gc() == 0);
    for (size_t n = 1; n < 200000; n += n / 3 + 1) {
        char *p = GC_MALLOC(n);
        for (size_t i = 0; i < n; i++) CHECK(p[i] == 0);
        memset(p, 7, n);
        CHECK(GC_size(p) >= n && GC_base(p + n - 1) == p);
        p = GC_REALLOC(p, 2 * n + 5);
        for (size_t i = 0; i < n; i++) CHECK(p[i] == 7);
        for (size_t i = n; i < 2 * n + 5; i++) CHECK(p[i] == 0);
        p = GC_REALLOC(p, n / 2 + 1);
        for (size_t i = 0; i < n / 2 + 1; i++) CHECK(p[i] == 7 || i >= n);
        GC_FREE(p);
    }
    CHECK(GC_size(GC_MALLOC(64)) == 64 && GC_size(GC_MALLOC(65)) == 80);
    size_t size;
    CHECK(GC_get_kind_and_size(GC_MALLOC_ATOMIC(100), &size) == 0 && size >= 100);
    CHECK(GC_get_kind_and_size(GC_MALLOC(100), NULL) == 1);
    CHECK(GC_get_kind_and_size(GC_MALLOC_UNCOLLECTABLE(100), NULL) == 2);
    CHECK(GC_get_kind_and_size(GC_malloc_atomic_uncollectable(100), NULL) == 3);
    char *big = GC_REALLOC(GC_malloc_atomic_uncollectable(100), 5000);
    CHECK(GC_get_kind_and_size(big, NULL) == 3);
    CHECK(GC_REALLOC(NULL, 10) && !GC_REALLOC(GC_MALLOC(10), 0));
    GC_FREE(NULL);
    far_down(hold);
    collect();
    void **held = (void **)~(uintptr_t)slot;
    CHECK(GC_base(held) == held && !strcmp(held[0], "led to"));
    held = GC_REALLOC(held, 300);
    CHECK(GC_get_kind_and_size(held, NULL) == 2 && !strcmp(held[0], "led to"));
    GC_FREE(held);
    puts("ok");
    return 0;
}
