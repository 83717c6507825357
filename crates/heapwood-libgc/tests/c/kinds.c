/* Kinds with procedures, bitmaps and descriptors in objects; procedures that push much, and that lead to themselves. */
#include "check.h"
enum { MANY = 100000, DEEP = 1000000 };
static struct GC_ms_entry *many(GC_word *addr, struct GC_ms_entry *top, struct GC_ms_entry *limit, GC_word env) {
    CHECK(env == 3);
    void **pointers = (void **)addr;
    for (int i = 0; i < MANY; i++) top = GC_MARK_AND_PUSH((void *)~(GC_word)pointers[i], top, limit, &pointers[i]);
    return top;
}
struct deep { GC_word hidden; long number; };
static unsigned deep_proc;
static struct GC_ms_entry *deep(GC_word *addr, struct GC_ms_entry *top, struct GC_ms_entry *limit, GC_word env) {
    struct deep *d = (struct deep *)addr;
    (void)env;
    return d->hidden ? GC_MARK_AND_PUSH((void *)~d->hidden, top, limit, NULL) : top;
}
struct again { GC_word left; GC_word hidden; };
struct entry { GC_word *start; GC_word descriptor; };
static unsigned again_proc;
static struct GC_ms_entry *again(GC_word *addr, struct GC_ms_entry *top, struct GC_ms_entry *limit, GC_word env) {
    (void)limit;
    if (env < DEEP) {
        struct entry *e = (struct entry *)top + 1;
        e->start = addr;
        e->descriptor = GC_MAKE_PROC(again_proc, env + 1);
        return (struct GC_ms_entry *)e;
    }
    return GC_MARK_AND_PUSH((void *)~((struct again *)addr)->hidden, top, limit, NULL);
}
static struct deep *head;
static void **array;
static struct again *self;
static void __attribute__((noinline)) make(unsigned kind_many, unsigned kind_deep, unsigned kind_again) {
    array = GC_generic_malloc(MANY * sizeof(void *), kind_many);
    for (int i = 0; i < MANY; i++) {
        long *n = GC_MALLOC_ATOMIC(16);
        *n = i;
        array[i] = (void *)~(GC_word)n;
    }
    struct deep *next = NULL;
    for (long i = 0; i < DEEP; i++) {
        head = GC_generic_malloc(sizeof *head, kind_deep);
        head->number = i;
        head->hidden = next ? ~(GC_word)next : 0;
        next = head;
    }
    self = GC_generic_malloc(sizeof *self, kind_again);
    self->hidden = ~(GC_word)GC_strdup("behind many calls");
}
int main(void) {
    GC_INIT();
    unsigned many_proc = GC_new_proc(many);
    deep_proc = GC_new_proc(deep);
    again_proc = GC_new_proc(again);
    unsigned kind_many = GC_new_kind(GC_new_free_list(), GC_MAKE_PROC(many_proc, 3), 0, 1);
    unsigned kind_deep = GC_new_kind(GC_new_free_list(), GC_MAKE_PROC(deep_proc, 0), 0, 1);
    unsigned kind_again = GC_new_kind(GC_new_free_list(), GC_MAKE_PROC(again_proc, 0), 0, 1);
    /* The first word is looked at, and no other. */
    unsigned kind_first = GC_new_kind(GC_new_free_list(), sizeof(void *), 0, 1);
    /* The words that the object's own second word says. */
    unsigned kind_own = GC_new_kind(GC_new_free_list(), sizeof(void *) | GC_DS_PER_OBJECT, 0, 1);
    CHECK(kind_many >= 4 && kind_deep == kind_many + 1);
    make(kind_many, kind_deep, kind_again);
    void **first = GC_generic_malloc(32, kind_first), **own = GC_generic_malloc(48, kind_own);
    first[0] = GC_strdup("first");
    own[1] = (void *)(((GC_word)1 << 60) | GC_DS_BITMAP);
    own[3] = GC_strdup("by the bitmap");
    CHECK(GC_get_kind_and_size(first, NULL) == (int)kind_first);
    size_t before = GC_get_gc_no();
    for (int i = 0; i < 3; i++) { GC_gcollect(); }
    CHECK(GC_get_gc_no() > before);
    /* What was freed would be used again. */
    for (int i = 0; i < 200000; i++) memset(GC_MALLOC_ATOMIC(16), 0x5a, 16);
    for (int i = 0; i < MANY; i++) CHECK(*(long *)~(GC_word)array[i] == i);
    long number = DEEP - 1;
    for (struct deep *d = head; d; d = d->hidden ? (struct deep *)~d->hidden : NULL) CHECK(d->number == number--);
    CHECK(number == -1 && !strcmp((char *)~self->hidden, "behind many calls"));
    CHECK(!strcmp(first[0], "first") && !strcmp(own[3], "by the bitmap"));
    GC_word bitmap[2] = {0}, wide[4] = {0};
    GC_set_bit(bitmap, 1);
    GC_set_bit(wide, 130);
    GC_set_bit(wide, 0);
    GC_descr d = GC_make_descriptor(bitmap, 3), w = GC_make_descriptor(wide, 140);
    void **typed = GC_malloc_explicitly_typed(24, d), **large = GC_malloc_explicitly_typed(140 * 8, w);
    void **array3 = GC_calloc_explicitly_typed(100, 24, d);
    typed[1] = GC_strdup("typed");
    large[130] = GC_strdup("large");
    for (int i = 0; i < 100; i++) array3[3 * i + 1] = GC_strdup("element");
    collect();
    for (int i = 0; i < 20000; i++) memset(GC_MALLOC_ATOMIC(16), 0x5a, 16);
    CHECK(!strcmp(typed[1], "typed") && !strcmp(large[130], "large"));
    for (int i = 0; i < 100; i++) CHECK(!strcmp(array3[3 * i + 1], "element"));
    /* Chains. */
    int n = 0;
    for (void *p = GC_malloc_many(32); p; p = GC_NEXT(p)) { CHECK(((void **)p)[1] == NULL && GC_size(p) == 32); n++; }
    CHECK(n > 1);
    void *chain;
    GC_generic_malloc_many(16, 0, &chain);
    CHECK(chain && GC_get_kind_and_size(chain, NULL) == 0);
    puts("ok");
    return 0;
}
