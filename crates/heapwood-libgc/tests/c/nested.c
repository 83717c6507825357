/* Objects die whose finalizers collect, and so call finalizers: they are not nested without bound. (ruby/ruby#11229, crystal#565) */
#include "lists.h"
static long ran, depth, deepest;
static void collects(void *object, void *data) {
    (void)object;
    (void)data;
    if (++depth > deepest) deepest = depth;
    ran++;
    GC_gcollect();
    depth--;
}
static void make(void) {
    for (int i = 0; i < 2000; i++) GC_REGISTER_FINALIZER(GC_MALLOC(48), collects, NULL, NULL, NULL);
}
int main(void) {
    GC_INIT();
    far_down(make);
    for (int i = 0; i < 20 && ran < 1980; i++) collect();
    CHECK(ran >= 1980 && deepest > 1 && deepest <= 11);
    puts("ok");
    return 0;
}
