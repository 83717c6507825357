/* Roots: many ranges, overlapping ones, and a piece that is taken out of one. */
#include "check.h"
#include <sys/mman.h>
enum { RANGES = 100000 };
static int gone;
static void note(void *object, void *data) { (void)object; gone |= 1 << (intptr_t)data; }
static void **words;
static void at(size_t word, intptr_t number) {
    words[word] = GC_MALLOC_ATOMIC(16);
    GC_register_finalizer_no_order(words[word], note, (void *)number, NULL, NULL);
}
static void make(void) { for (int i = 0; i < 5; i++) at(i * 100, i); at(1000 + 3 * (RANGES / 2), 8); }
int main(void) {
    size_t bytes = (1000 + 3 * RANGES) * sizeof *words;
    words = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    GC_INIT();
    GC_add_roots(words, words + 250);
    GC_add_roots(words + 150, words + 450);
    for (int i = 0; i < RANGES; i++) GC_add_roots(words + 1000 + 3 * i, words + 1000 + 3 * i + 1);
    far_down(make);
    collect();
    CHECK(gone == 0);
    /* A piece out of the middle, of both ranges. */
    GC_remove_roots(words + 180, words + 320);
    collect();
    GC_invoke_finalizers();
    CHECK(gone == (1 << 2 | 1 << 3));
    GC_remove_roots(words + 1000, words + 1000 + 3 * RANGES);
    collect();
    GC_invoke_finalizers();
    CHECK(gone == (1 << 2 | 1 << 3 | 1 << 8));
    GC_clear_roots();
    GC_set_no_dls(1);
    collect();
    GC_invoke_finalizers();
    CHECK(gone == (1 << 5) - 1 + (1 << 8));
    puts("ok");
    return 0;
}
