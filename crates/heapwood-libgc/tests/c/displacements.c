/* Interior pointers off: a word in an object or a root counts if it leads to the first byte or a registered displacement. */
#include "check.h"
static int gone;
static void note(void *object, void *data) { (void)object; gone |= 1 << (intptr_t)data; }
static char *roots[4];
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
    collect();
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
