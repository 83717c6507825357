/* The program's own data are roots, until GC_no_dls says that none are, or a range is excluded; a thread's stack is one. */
#include "check.h"
static void *global, *excluded[8];
static int gone;
static void note(void *object, void *data) { (void)object; gone |= 1 << (intptr_t)data; }
static void make(void) {
    global = GC_MALLOC(16);
    excluded[3] = GC_MALLOC(16);
    GC_register_finalizer_no_order(global, note, (void *)0, NULL, NULL);
    GC_register_finalizer_no_order(excluded[3], note, (void *)1, NULL, NULL);
}
int main(void) {
    GC_INIT();
    far_down(make);
    collect();
    CHECK(gone == 0);
    GC_exclude_static_roots(excluded, excluded + 8);
    collect();
    GC_invoke_finalizers();
    CHECK(gone == 2);
    GC_set_no_dls(1);
    CHECK(GC_get_no_dls() == 1);
    GC_clear_roots();
    collect();
    GC_invoke_finalizers();
    CHECK(gone & 1);
    puts("ok");
    return 0;
}
