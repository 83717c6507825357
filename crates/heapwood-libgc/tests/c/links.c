/* Disappearing links: short before finalizers, long after; duplicates, moves, links in dead objects. */
#include "check.h"
static void *words[8];
static void *volatile revived;
static void revive(void *object, void *data) { (void)data; revived = object; }
static void __attribute__((noinline)) begin(void) {
    void *a = GC_MALLOC(16), *b = GC_MALLOC(16), *f = GC_MALLOC(16);
    words[0] = (void *)GC_HIDE_POINTER(a);
    CHECK(GC_general_register_disappearing_link(&words[0], a) == GC_SUCCESS);
    CHECK(GC_general_register_disappearing_link(&words[0], a) == GC_DUPLICATE);
    words[1] = (void *)GC_HIDE_POINTER(b);
    CHECK(GC_register_long_link(&words[1], b) == GC_SUCCESS);
    words[2] = (void *)GC_HIDE_POINTER(f);
    words[3] = (void *)GC_HIDE_POINTER(f);
    CHECK(!GC_general_register_disappearing_link(&words[2], f) && !GC_register_long_link(&words[3], f));
    GC_register_finalizer(f, revive, NULL, NULL, NULL);
    words[4] = (void *)1;
    CHECK(GC_move_disappearing_link(&words[4], &words[5]) == GC_NOT_FOUND);
    void *moved = GC_MALLOC(16);
    words[4] = words[5] = (void *)GC_HIDE_POINTER(moved);
    CHECK(!GC_general_register_disappearing_link(&words[4], moved));
    CHECK(GC_move_disappearing_link(&words[4], &words[4]) == GC_SUCCESS);
    CHECK(GC_move_disappearing_link(&words[4], &words[0]) == GC_DUPLICATE);
    CHECK(GC_move_disappearing_link(&words[4], &words[5]) == GC_SUCCESS);
    CHECK(GC_unregister_disappearing_link(&words[4]) == 0 && words[4] == (void *)GC_HIDE_POINTER(moved));
    void **dead = GC_MALLOC_ATOMIC(32);
    void *target = GC_MALLOC(16);
    dead[0] = (void *)GC_HIDE_POINTER(target);
    CHECK(!GC_general_register_disappearing_link(dead, target));
    words[6] = (void *)GC_HIDE_POINTER(dead);
}
int main(void) {
    GC_INIT();
    far_down(begin);
    /* The finalizer, too, leaves words on the stack. */
    down(collect);
    CHECK(!words[0] && !words[1] && !words[5]);
    CHECK(!words[2] && revived && words[3]);
    CHECK((void *)GC_REVEAL_POINTER(words[3]) == revived);
    revived = NULL;
    collect();
    CHECK(!words[3]);
    puts("ok");
    return 0;
}
