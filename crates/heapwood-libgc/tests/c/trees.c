/* Binary trees: what lives is whole, and what dies makes room. */
#include "check.h"
struct node { struct node *left, *right; };
static struct node *make(int depth) {
    struct node *n = GC_MALLOC(sizeof *n);
    CHECK(n && !n->left && !n->right);
    if (depth) { n->left = make(depth - 1); n->right = make(depth - 1); }
    return n;
}
static long count(struct node *n) { return n->left ? 1 + count(n->left) + count(n->right) : 1; }
int main(void) {
    GC_INIT();
    CHECK(GC_is_init_called());
    struct node *kept = make(14);
    for (int i = 0; i < 100; i++) CHECK(count(make(12)) == 8191);
    CHECK(count(kept) == 32767);
    CHECK(GC_get_gc_no() > 0 && GC_get_heap_size() < 64 << 20);
    size_t heap, free_bytes, unmapped, since, total;
    GC_get_heap_usage_safe(&heap, &free_bytes, &unmapped, &since, &total);
    /* What comes back unused of a span is taken off, and some cells of it may have died since it was opened. */
    CHECK(total + 8192 >= (32767 + 100 * 8191) * 16 && total <= (32767 + 110 * 8191) * 16 && since <= total && free_bytes <= heap);
    struct GC_prof_stats_s stats;
    CHECK(GC_get_prof_stats(&stats, sizeof stats) == sizeof stats && stats.gc_no == GC_get_gc_no());
    CHECK(GC_size(kept) == 16 && GC_base((char *)kept + 9) == kept && GC_is_heap_ptr(kept) && !GC_is_heap_ptr(&kept));
    char *text = GC_STRDUP("a text"), *part = GC_STRNDUP("a text", 3);
    CHECK(!strcmp(text, "a text") && !strcmp(part, "a t"));
    void *aligned = GC_memalign(256, 100), *other = NULL;
    CHECK((uintptr_t)aligned % 256 == 0 && GC_posix_memalign(&other, 64, 10) == 0 && (uintptr_t)other % 64 == 0);
    CHECK(GC_malloc(0) && GC_malloc_atomic(0) && GC_malloc(0) != GC_malloc(0));
    puts("ok");
    return 0;
}
