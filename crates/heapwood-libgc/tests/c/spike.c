/* A program with one thread, hence without threads of the library's, drops much: collections give it back, in parts. */
#include "check.h"
enum { BLOCKS = 10, BYTES = 16 << 20 };
static void drop(void) {
    char *volatile all[BLOCKS];
    for (int i = 0; i < BLOCKS; i++) {
        all[i] = GC_MALLOC_ATOMIC(BYTES);
        CHECK(all[i]);
        for (int j = 0; j < BYTES; j += 4096) all[i][j] = 1;
    }
    for (int i = 0; i < BLOCKS; i++) all[i] = NULL;
}
int main(void) {
    GC_INIT();
    far_down(drop);
    size_t before = GC_get_unmapped_bytes(), after;
    for (int i = 0; i < 12; i++) {
        clear_stack();
        GC_gcollect();
        after = GC_get_unmapped_bytes();
        /* No more than a part at once. */
        CHECK(after - before <= 48 << 20);
        before = after;
    }
    CHECK(after >= 140 << 20 && GC_get_heap_size() <= 24 << 20);
    puts("ok");
    return 0;
}
