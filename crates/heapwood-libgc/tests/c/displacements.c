/* Interior pointers off: a word in an object or a root counts if it leads to the first byte or a registered displacement. */
#include "check.h"
#include <errno.h>
static int gone;
static void note(void *object, void *data) { (void)object; gone |= 1 << (intptr_t)data; }
static char *roots[4];
/* Aligned objects, known by an object alone; what is larger than a page is refused. */
static void **aligned;
static void make_aligned(void) {
    aligned = GC_MALLOC(60 * sizeof(void *));
    for (size_t i = 0; i < 60; i++) {
        size_t align = (size_t[]) { 64, 4096, 8192 }[i % 3];
        if (i % 2) CHECK(GC_posix_memalign(&aligned[i], align, 24) == 0);
        else aligned[i] = GC_memalign(align, 24);
        CHECK((uintptr_t)aligned[i] % align == 0);
        memset(aligned[i], 90, 24);
    }
    void *other;
    CHECK(!GC_memalign(16384, 24) && GC_posix_memalign(&other, 16384, 24) == ENOMEM);
}
static void check_aligned(void) {
    for (int i = 0; i < 60; i++) for (int j = 0; j < 24; j++) CHECK(((char *)aligned[i])[j] == 90);
}
static char **box;
static void make(void) {
    box = GC_MALLOC(4 * sizeof(char *));
    for (intptr_t i = 0; i < 4; i++) {
        char *p = GC_MALLOC_ATOMIC(32);
        GC_register_finalizer_no_order(p, note, (void *)i, NULL, NULL);
        static const int offsets[] = { 0, 8, 6, 5 };
        /* The first two are known by roots, the others by an object. */
        (i < 2 ? roots : box)[i] = p + offsets[i];
    }
}
int main(void) {
    GC_set_all_interior_pointers(0);
    GC_INIT();
    CHECK(GC_get_all_interior_pointers() == 0 && GC_size(GC_MALLOC(100)) == 112);
    GC_register_displacement(6);
    far_down(make);
    far_down(make_aligned);
    collect();
    for (int i = 0; i < 20000; i++) memset(GC_MALLOC(40 + i % 9000), 0x77, 40);
    check_aligned();
    GC_invoke_finalizers();
    CHECK(gone == (1 << 1 | 1 << 3));
    CHECK(GC_is_valid_displacement(roots[0]) == roots[0]);
    CHECK(GC_base(box[2]) == box[2] - 6);
    /* The stack may lead to the inside. */
    char *volatile inside = (char *)GC_MALLOC_ATOMIC(32) + 9;
    GC_register_finalizer_no_order(inside - 9, note, (void *)7, NULL, NULL);
    collect();
    CHECK(!(gone & 1 << 7) && GC_base(inside) == inside - 9);
    puts("ok");
    return 0;
}
