/* The program's own data are roots, until GC_no_dls says that none are, or a range is excluded; a thread's stack is one. */
#include "check.h"
static void *global, *excluded[8];
static int gone, asked, is_named, refuses;
/* Refuses the program's own data. */
static int may_be_root(const char *name, void *start, size_t bytes) {
    char *data = start, *mine = (char *)&global;
    asked++;
    is_named |= strstr(name, "libc.so") != NULL;
    return !(refuses && data <= mine && mine < data + bytes);
}
static void note(void *object, void *data) { (void)object; gone |= 1 << (intptr_t)data; }
static void make(void) {
    global = GC_MALLOC(16);
    excluded[3] = GC_MALLOC(16);
    GC_register_finalizer_no_order(global, note, (void *)0, NULL, NULL);
    GC_register_finalizer_no_order(excluded[3], note, (void *)1, NULL, NULL);
}
int main(void) {
    GC_register_has_static_roots_callback(may_be_root);
    GC_INIT();
    far_down(make);
    collect();
    CHECK(gone == 0);
    GC_exclude_static_roots(excluded, excluded + 8);
    collect();
    GC_invoke_finalizers();
    CHECK(gone == 2);
    CHECK(gone == 2 && asked > 1 && is_named);
    /* It is asked again only when it has changed, or the libraries have. */
    int before = asked;
    collect();
    CHECK(asked == before);
    refuses = 1;
    GC_register_has_static_roots_callback(may_be_root);
    collect();
    GC_invoke_finalizers();
    CHECK(gone == 3 && asked > before);
    GC_register_has_static_roots_callback(NULL);
    before = asked;
    collect();
    CHECK(asked == before);
    /* Those of no library. */
    far_down(make);
    gone = 0;
    collect();
    CHECK(!(gone & 1));
    GC_set_no_dls(1);
    CHECK(GC_get_no_dls() == 1);
    GC_clear_roots();
    collect();
    GC_invoke_finalizers();
    CHECK(gone & 1);
    puts("ok");
    return 0;
}
