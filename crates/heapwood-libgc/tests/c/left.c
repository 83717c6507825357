/* Finalizers are left by longjmp, from an allocation and from a collection: the others are called all the same. */
#include "lists.h"
#include <setjmp.h>
static jmp_buf out;
static volatile long ran;
static void jumps(void *object, void *data) {
    (void)object;
    (void)data;
    ran++;
    longjmp(out, 2);
}
static void make(void) {
    for (int i = 0; i < 300; i++) GC_REGISTER_FINALIZER(GC_MALLOC(32), jumps, NULL, NULL, NULL);
}
int main(void) {
    GC_INIT();
    volatile int i;
    void *volatile got;
    far_down(make);
    for (i = 0; i < 2000 && ran < 290; i++) {
        if (setjmp(out)) continue;
        for (int j = 0; j < 100000; j++) got = GC_MALLOC(64);
    }
    CHECK(ran >= 290);
    ran = 0;
    far_down(make);
    for (i = 0; i < 2000 && ran < 290; i++) {
        if (setjmp(out)) continue;
        collect();
    }
    CHECK(ran >= 290);
    (void)got;
    puts("ok");
    return 0;
}
