/* Finalizers in four orders, old ones returned, cycles told and never run, a chain in its order, data kept, on demand. */
#include "check.h"
#include <gc/gc_disclaim.h>
enum { CHAIN = 100000 };
struct link { struct link *next; long number; };
static long last = -1, ran, runs, warned;
static const char *text;
static void in_order(void *object, void *data) {
    struct link *l = object;
    CHECK(l->number == last + 1 && data == (void *)l->number);
    last = l->number;
}
static void note(void *object, void *data) { (void)object; (void)data; ran++; }
static void keep_text(void *object, void *data) { (void)object; text = data; }
static void warn(char *message, GC_word word) { (void)word; if (strstr(message, "cycle")) warned++; }
static void notify(void) { runs++; }
static void __attribute__((noinline)) make_chain(void) {
    struct link *l = NULL;
    for (long i = CHAIN - 1; i >= 0; i--) {
        struct link *n = GC_MALLOC(sizeof *n);
        n->next = l; n->number = i;
        GC_register_finalizer(n, in_order, (void *)i, NULL, NULL);
        l = n;
    }
}
static void __attribute__((noinline)) make_cycle(void) {
    struct link *a = GC_MALLOC(sizeof *a), *b = GC_MALLOC(sizeof *b);
    a->next = b; b->next = a;
    GC_register_finalizer(a, note, NULL, NULL, NULL);
    GC_register_finalizer(b, note, NULL, NULL, NULL);
}
/* Tagged addresses, as ECL has: they stand for their object, and come back as they were given. */
static char *volatile given;
static void *hidden;
static long tagged;
static void tag(void *object, void *data) { CHECK(object == (void *)~(uintptr_t)given && data == (void *)9); tagged++; }
static void __attribute__((noinline)) make_tagged(void) {
    char *p = GC_MALLOC(48);
    GC_finalization_proc old;
    void *data;
    GC_register_finalizer_no_order(p + 19, note, NULL, NULL, NULL);
    GC_register_finalizer_no_order(p + 19, tag, (void *)9, &old, &data);
    CHECK(old == note && !data);
    GC_register_finalizer_no_order(p + 3, note, NULL, NULL, NULL);
    GC_register_finalizer_no_order(p + 3, NULL, NULL, &old, NULL);
    CHECK(old == note);
    given = (char *)~(uintptr_t)(p + 19);
    hidden = (void *)~(uintptr_t)(p + 1);
    CHECK(GC_general_register_disappearing_link(&hidden, p + 1) == GC_SUCCESS);
}
static long closed;
static void GC_CALLBACK close_over(void *object, void *data) { (void)object; closed += (long)data; }
static struct GC_finalizer_closure closure = {close_over, (void *)1};
static void __attribute__((noinline)) make_closed(void) { CHECK(GC_finalized_malloc(40, &closure)); }
static void __attribute__((noinline)) make_others(void) {
    struct link *a = GC_MALLOC(sizeof *a), *b = GC_MALLOC(sizeof *b), *self = GC_MALLOC(sizeof *self);
    a->next = b; b->next = a; self->next = self;
    GC_register_finalizer_no_order(a, note, NULL, NULL, NULL);
    GC_register_finalizer_no_order(b, note, NULL, NULL, NULL);
    GC_register_finalizer_ignore_self(self, note, NULL, NULL, NULL);
    struct link *u = GC_MALLOC(sizeof *u);
    GC_register_finalizer_unreachable(u, note, NULL, NULL, NULL);
    GC_finalization_proc old; void *data;
    struct link *c = GC_MALLOC(sizeof *c);
    GC_register_finalizer(c, note, (void *)5, &old, &data);
    CHECK(!old && !data);
    GC_register_finalizer(c, keep_text, GC_strdup("kept by the table"), &old, &data);
    CHECK(old == note && data == (void *)5);
    struct link *d = GC_MALLOC(sizeof *d);
    GC_register_finalizer(d, note, NULL, NULL, NULL);
    GC_register_finalizer(d, NULL, NULL, &old, NULL);
    CHECK(old == note);
    GC_register_finalizer(&ran, note, NULL, &old, NULL);
    CHECK(!old);
}
int main(void) {
    GC_INIT();
    GC_set_warn_proc(warn);
    far_down(make_others);
    for (int i = 0; i < 20 && !(ran == 4 && text); i++) { GC_gcollect(); }
    CHECK(ran == 4 && !strcmp(text, "kept by the table"));
    far_down(make_closed);
    /* The closure is read when it is called. */
    closure.cd = (void *)7;
    collect();
    CHECK(closed == 7);
    far_down(make_tagged);
    collect();
    CHECK(tagged == 1 && !hidden);
    far_down(make_cycle);
    collect();
    if (ran != 4 || !warned) fprintf(stderr, "%ld ran, %ld warnings\n", ran, warned);
    CHECK(ran == 4 && warned > 0);
    GC_set_finalize_on_demand(1);
    GC_set_finalizer_notifier(notify);
    CHECK(GC_get_finalize_on_demand() && GC_get_finalizer_notifier() == notify);
    far_down(make_chain);
    /* Each collection makes one ready: those behind it are led to by one that waits. */
    for (int i = 0; i < 100; i++) {
        clear_stack();
        GC_gcollect();
        if (GC_should_invoke_finalizers()) GC_invoke_finalizers();
    }
    if (last < 90) fprintf(stderr, "%ld of a chain in 100 collections\n", last);
    CHECK(last >= 90 && last < 100);
    CHECK(runs > 0);
    printf("ok %ld\n", ran);
    return 0;
}
