/* What is weak, and finalisers, in the hands of a careless program: each misuse is refused with a sentence, nothing changes, and
 * what was registered before works as it did. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "check.h"
#include <heapwood.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>

struct node { struct node *next; uint64_t number; };

static hw_heap *heap, *other_heap;
static hw_mutator *m, *of_other;
static hw_type node_type, other_type;
static int verify;

/* Objects of this heap, each with its own part in the play; then those of the other. */
enum { KEY, VALUE, WEAK, EPHEMERON, TABLE, BY_VALUE, FINAL, CIRCLE, SPARE, ROOTS };
static void *kept[ROOTS];
enum { THEIRS, THEIR_WEAK, THEIR_TABLE, THEIR_ROOTS };
static void *theirs[THEIR_ROOTS];
static uintptr_t word, moved;
static hw_finalizer finalizer;
static hw_finalize_queue queue;

static int is_refused(hw_status status, hw_status expected, const char *text) {
    const hw_error *why = hw_last_error(m);
    int is = status == expected && why->status == expected && strstr(why->text, text) != NULL;
    if (!is) fprintf(stderr, "status %d, and %d: %s\n", status, why->status, why->text);
    return is;
}

/* For functions that return no status. */
static int is_null(const void *found, hw_status expected, const char *text) {
    return found == NULL && is_refused(expected, expected, text);
}
static int is_false(bool found, hw_status expected, const char *text) {
    return !found && is_refused(expected, expected, text);
}

static bool is_number(void *object, void *arg) { return ((struct node *)object)->number == *(uint64_t *)arg; }
static bool never(void *object, void *arg) { return (void)object, (void)arg, false; }

/* All is as it was made. */
static void nothing_has_changed(void) {
    void *value = NULL;
    uint64_t number = 7;
    CHECK(hw_weak_get(m, kept[WEAK]) == kept[KEY]);
    CHECK(hw_ephemeron_key(m, kept[EPHEMERON]) == kept[KEY] && hw_ephemeron_value(m, kept[EPHEMERON]) == kept[VALUE]);
    CHECK(hw_weak_table_count(m, kept[TABLE]) == 1 && hw_weak_table_get(m, kept[TABLE], kept[KEY], &value) && value == kept[VALUE]);
    CHECK(hw_weak_table_count(m, kept[BY_VALUE]) == 1);
    CHECK(hw_weak_table_intern(m, kept[BY_VALUE], 7, is_number, &number, NULL) == kept[KEY]);
    CHECK(hw_link_get(m, &word) == kept[KEY] && word == (uintptr_t)kept[KEY] && hw_link_get(m, &moved) == NULL);
    hw_finalized entry;
    CHECK(!hw_finalize_next(m, 0, &entry) && !hw_finalize_next(m, queue, &entry));
    hw_stats stats = {.size = sizeof stats};
    CHECK(hw_stats_get(heap, &stats) == HW_OK);
}

/* No object, and objects of another kind or heap. */
static void wrong_objects(void) {
    void *value, *inside = (char *)kept[KEY] + 8;
    void *const none[] = {inside, theirs[THEIRS], &word, (void *)16, (void *)(UINTPTR_MAX - 7), (char *)kept[KEY] + 1};
    hw_finalizer token = 77;
    size_t position = 0;
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        void *it = none[i];
        CHECK(is_null(hw_weak_new(m, it), HW_EINVAL, "no object of this heap"));
        CHECK(is_null(hw_ephemeron_new(m, it, kept[VALUE]), HW_EINVAL, "no object of this heap"));
        CHECK(is_refused(hw_weak_table_set(m, kept[TABLE], it, NULL), HW_EINVAL, "no object of this heap"));
        CHECK(is_null(hw_weak_table_intern(m, kept[BY_VALUE], 9, never, NULL, it), HW_EINVAL, "no object of this heap"));
        CHECK(is_refused(hw_link_add(m, &moved, it, 0), HW_EINVAL, "no object of this heap"));
        CHECK(is_refused(hw_finalize(m, it, 0, HW_FINALIZE_ORDERED, NULL, &token), HW_EINVAL, "no object of this heap"));
        CHECK(is_refused(hw_finalize_data(m, it, queue, NULL, &token), HW_EINVAL, "no object of this heap"));
        /* As a table, or a weak reference, and so are objects of other types. */
    }
    CHECK(token == 77);
    void *const others[] = {inside, theirs[THEIR_WEAK], theirs[THEIR_TABLE], &word, (void *)16, kept[KEY]};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        void *it = others[i];
        CHECK(is_null(hw_weak_get(m, it), HW_EINVAL, "is no ephemeron or weak reference"));
        CHECK(is_null(hw_ephemeron_key(m, it), HW_EINVAL, "is no ephemeron or weak reference"));
        CHECK(is_null(hw_ephemeron_value(m, it), HW_EINVAL, "is no ephemeron or weak reference"));
        CHECK(is_refused(hw_ephemeron_set(m, it, NULL), HW_EINVAL, "is no ephemeron or weak reference"));
        CHECK(is_refused(hw_weak_table_set(m, it, kept[KEY], NULL), HW_EINVAL, "is no weak table"));
        value = &token;
        CHECK(is_false(hw_weak_table_get(m, it, kept[KEY], &value), HW_EINVAL, "is no weak table") && value == &token);
        CHECK(is_false(hw_weak_table_remove(m, it, kept[KEY]), HW_EINVAL, "is no weak table"));
        CHECK(hw_weak_table_count(m, it) == 0 && is_refused(HW_EINVAL, HW_EINVAL, "is no weak table"));
        CHECK(is_false(hw_weak_table_next(m, it, &position, &value, NULL), HW_EINVAL, "is no weak table") && position == 0);
        CHECK(is_null(hw_weak_table_intern(m, it, 9, never, NULL, kept[KEY]), HW_EINVAL, "is no weak table"));
    }
    /* A table is no weak reference, nor the other way round; but both may be keys. */
    CHECK(is_null(hw_weak_get(m, kept[TABLE]), HW_EINVAL, "is no ephemeron"));
    CHECK(hw_weak_table_count(m, kept[WEAK]) == 0 && is_refused(HW_EINVAL, HW_EINVAL, "is no weak table"));
    CHECK((kept[SPARE] = hw_weak_new(m, kept[TABLE])) != NULL && hw_weak_get(m, kept[SPARE]) == kept[TABLE]);
    CHECK((kept[SPARE] = hw_weak_new(m, kept[SPARE])) != NULL);
    kept[SPARE] = NULL;
    nothing_has_changed();
}

static void null_arguments(void) {
    void *value;
    size_t position = 0;
    hw_finalized entry;
    CHECK(is_null(hw_weak_new(m, NULL), HW_EINVAL, "NULL") && is_null(hw_weak_get(m, NULL), HW_EINVAL, "NULL"));
    CHECK(is_null(hw_ephemeron_new(m, NULL, kept[VALUE]), HW_EINVAL, "NULL"));
    CHECK(is_null(hw_ephemeron_key(m, NULL), HW_EINVAL, "NULL") && is_null(hw_ephemeron_value(m, NULL), HW_EINVAL, "NULL"));
    CHECK(is_refused(hw_ephemeron_set(m, NULL, NULL), HW_EINVAL, "NULL"));
    CHECK(is_refused(hw_weak_table_set(m, NULL, kept[KEY], NULL), HW_EINVAL, "table is NULL"));
    CHECK(is_refused(hw_weak_table_set(m, kept[TABLE], NULL, NULL), HW_EINVAL, "key is NULL"));
    CHECK(is_false(hw_weak_table_get(m, kept[TABLE], NULL, &value), HW_EINVAL, "key is NULL"));
    CHECK(is_false(hw_weak_table_remove(m, kept[TABLE], NULL), HW_EINVAL, "key is NULL"));
    CHECK(hw_weak_table_count(m, NULL) == 0 && is_refused(HW_EINVAL, HW_EINVAL, "table is NULL"));
    CHECK(is_false(hw_weak_table_next(m, NULL, &position, NULL, NULL), HW_EINVAL, "table is NULL"));
    CHECK(is_false(hw_weak_table_next(m, kept[TABLE], NULL, NULL, NULL), HW_EINVAL, "position is NULL"));
    CHECK(is_null(hw_weak_table_intern(m, kept[TABLE], 0, NULL, NULL, kept[KEY]), HW_EINVAL, "equal is NULL"));
    CHECK(is_null(hw_weak_table_intern(m, NULL, 0, never, NULL, kept[KEY]), HW_EINVAL, "table is NULL"));
    CHECK(is_refused(hw_link_add(m, NULL, kept[KEY], 0), HW_EINVAL, "no place of a pointer"));
    CHECK(is_refused(hw_link_add(m, &moved, NULL, 0), HW_EINVAL, "object is NULL"));
    CHECK(is_refused(hw_link_move(m, &word, NULL), HW_EINVAL, "no place of a pointer"));
    CHECK(is_refused(hw_link_move(m, NULL, &moved), HW_EINVAL, "has no link"));
    CHECK(hw_link_get(m, NULL) == NULL && !hw_link_remove(heap, NULL) && !hw_link_remove(NULL, &word));
    CHECK(is_refused(hw_finalize(m, NULL, 0, HW_FINALIZE_ORDERED, NULL, NULL), HW_EINVAL, "object is NULL"));
    CHECK(is_refused(hw_finalize_data(m, NULL, 0, NULL, NULL), HW_EINVAL, "object is NULL"));
    CHECK(is_false(hw_finalize_next(m, 0, NULL), HW_EINVAL, "entry is NULL"));
    CHECK(hw_finalize_cancel(NULL, finalizer, NULL, NULL) == HW_EINVAL && hw_finalize_queue_new(NULL, &queue, NULL) == HW_EINVAL);
    CHECK(is_refused(hw_finalize_queue_new(heap, NULL, NULL), HW_EINVAL, "out is NULL"));
    CHECK(hw_finalize_queue_end(NULL, queue, NULL) == HW_EINVAL && hw_finalize_call(NULL, 0, NULL, NULL, NULL) == HW_EINVAL);
    CHECK(hw_finalize_wait(NULL, 0, 0, NULL, NULL) == HW_EINVAL && is_refused(hw_finalize_fd(heap, 0, NULL, NULL), HW_EINVAL, "fd is NULL"));
    /* Without a mutator. */
    CHECK(hw_weak_new(NULL, kept[KEY]) == NULL && hw_weak_get(NULL, kept[WEAK]) == NULL && hw_weak_table_new(NULL) == NULL);
    CHECK(hw_weak_table_set(NULL, kept[TABLE], kept[KEY], NULL) == HW_EINVAL && hw_weak_table_count(NULL, kept[TABLE]) == 0);
    CHECK(!hw_weak_table_get(NULL, kept[TABLE], kept[KEY], NULL) && !hw_weak_table_remove(NULL, kept[TABLE], kept[KEY]));
    CHECK(hw_link_add(NULL, &moved, kept[KEY], 0) == HW_EINVAL && hw_link_get(NULL, &word) == NULL);
    CHECK(!hw_finalize_next(NULL, 0, &entry) && hw_finalize(NULL, kept[KEY], 0, 0, NULL, NULL) == HW_EINVAL);
    nothing_has_changed();
}

/* Numbers that name nothing, and places that can have no link. */
static void wrong_numbers(void) {
    hw_finalize_queue gone;
    void *data = NULL;
    hw_finalized entry;
    int fd = -7;
    bool waits = true;
    CHECK(hw_finalize_queue_new(heap, &gone, NULL) == HW_OK && hw_finalize_queue_end(heap, gone, NULL) == HW_OK);
    const hw_finalize_queue none[] = {gone, 1234567, UINT64_MAX, finalizer << 1 | 1};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        CHECK(is_refused(hw_finalize(m, kept[KEY], none[i], HW_FINALIZE_AT_ONCE, NULL, NULL), HW_EINVAL, "is no queue"));
        CHECK(is_refused(hw_finalize_data(m, kept[KEY], none[i], NULL, NULL), HW_EINVAL, "is no queue"));
        CHECK(is_false(hw_finalize_next(m, none[i], &entry), HW_EINVAL, "is no queue"));
        CHECK(is_false(hw_finalize_next_data(heap, none[i], &data), HW_EINVAL, "is no queue") && data == NULL);
        CHECK(is_refused(hw_finalize_queue_end(heap, none[i], NULL), HW_EINVAL, "is no queue"));
        CHECK(is_refused(hw_finalize_wait(heap, none[i], 0, &waits, NULL), HW_EINVAL, "is no queue") && waits);
        CHECK(is_refused(hw_finalize_fd(heap, none[i], &fd, NULL), HW_EINVAL, "is no queue") && fd == -7);
        CHECK(is_refused(hw_finalize_call(heap, none[i], NULL, NULL, NULL), HW_EINVAL, "is no queue"));
    }
    CHECK(is_refused(hw_finalize_queue_end(heap, 0, NULL), HW_EINVAL, "is no queue"));
    CHECK(is_refused(hw_finalize_queue_end(heap, queue, NULL), HW_ESTATE, "1 finalisers are registered"));
    CHECK(is_refused(hw_finalize(m, kept[KEY], 0, 2, NULL, NULL), HW_EINVAL, "order"));
    CHECK(is_refused(hw_finalize_cancel(heap, 0, &data, NULL), HW_EINVAL, "is no finaliser") && data == NULL);
    CHECK(is_refused(hw_finalize_cancel(heap, UINT64_MAX, &data, NULL), HW_EINVAL, "is no finaliser"));
    CHECK(hw_finalize_cancel(other_heap, finalizer, &data, NULL) == HW_EINVAL && data == NULL);
    CHECK(is_refused(hw_link_add(m, &moved, kept[KEY], 2), HW_EINVAL, "flags"));
    CHECK(is_refused(hw_link_add(m, (char *)&moved + 4, kept[KEY], 0), HW_EINVAL, "no place of a pointer"));
    /* In the heap, but in no object of the program's: in a weak reference, or where nothing is. */
    CHECK(is_refused(hw_link_add(m, kept[WEAK], kept[KEY], 0), HW_EINVAL, "no place of a pointer"));
    CHECK(is_refused(hw_link_add(m, (char *)kept[EPHEMERON] + 8, kept[KEY], 0), HW_EINVAL, "no place of a pointer"));
    void *spare = hw_alloc(m, node_type);
    CHECK(spare != NULL && hw_free(m, spare) == HW_OK);
    CHECK(is_refused(hw_link_add(m, (char *)spare + 8, kept[KEY], 0), HW_EINVAL, "no place of a pointer"));
    CHECK(is_refused(hw_link_move(m, &word, kept[WEAK]), HW_EINVAL, "no place of a pointer"));
    CHECK(is_refused(hw_link_move(m, &moved, &word), HW_EINVAL, "has no link"));
    CHECK(hw_link_move(m, &word, &word) == HW_OK);
    nothing_has_changed();
}

/* hw_free of what something weak refers to, and of what is weak. */
static void freed(void) {
    for (int i = WEAK; i <= EPHEMERON; i++) CHECK(is_refused(hw_free(m, kept[i]), HW_EINVAL, "only a collection frees"));
    CHECK(is_refused(hw_free(m, kept[FINAL]), HW_EINVAL, "has a finaliser"));
    if (!verify) return;
    CHECK(is_refused(hw_free(m, kept[KEY]), HW_EINVAL, "a weak reference, an ephemeron or a weak table refers to"));
    CHECK((kept[SPARE] = hw_alloc(m, node_type)) != NULL && hw_link_add(m, &moved, kept[SPARE], HW_LINK_LONG) == HW_OK);
    CHECK(is_refused(hw_free(m, kept[SPARE]), HW_EINVAL, "the link at"));
    CHECK(hw_link_remove(heap, &moved));
    void *spare = kept[SPARE];
    kept[SPARE] = NULL;
    CHECK(hw_free(m, spare) == HW_OK);
    nothing_has_changed();
}

/* Each call that uses a heap, where none may be used. */
static void none_works(hw_status expected, const char *text) {
    void *value = &value;
    size_t position = 0;
    hw_finalized entry = {NULL, NULL};
    CHECK(is_null(hw_weak_new(m, kept[KEY]), expected, text) && is_null(hw_weak_get(m, kept[WEAK]), expected, text));
    CHECK(is_null(hw_ephemeron_new(m, kept[KEY], NULL), expected, text) && is_null(hw_ephemeron_key(m, kept[EPHEMERON]), expected, text));
    CHECK(is_null(hw_ephemeron_value(m, kept[EPHEMERON]), expected, text));
    CHECK(is_refused(hw_ephemeron_set(m, kept[EPHEMERON], NULL), expected, text));
    CHECK(is_null(hw_weak_table_new(m), expected, text));
    CHECK(is_refused(hw_weak_table_set(m, kept[TABLE], kept[VALUE], NULL), expected, text));
    CHECK(is_false(hw_weak_table_get(m, kept[TABLE], kept[KEY], &value), expected, text) && value == &value);
    CHECK(is_false(hw_weak_table_remove(m, kept[TABLE], kept[KEY]), expected, text));
    CHECK(hw_weak_table_count(m, kept[TABLE]) == 0 && is_refused(expected, expected, text));
    CHECK(is_false(hw_weak_table_next(m, kept[TABLE], &position, NULL, NULL), expected, text) && position == 0);
    CHECK(is_null(hw_weak_table_intern(m, kept[BY_VALUE], 8, never, NULL, kept[VALUE]), expected, text));
    CHECK(is_null(hw_weak_table_intern(m, kept[BY_VALUE], 8, never, NULL, NULL), expected, text));
    CHECK(is_refused(hw_link_add(m, &moved, kept[KEY], 0), expected, text) && is_null(hw_link_get(m, &word), expected, text));
    CHECK(is_refused(hw_link_move(m, &word, &moved), expected, text));
    CHECK(is_refused(hw_finalize(m, kept[KEY], 0, HW_FINALIZE_ORDERED, NULL, NULL), expected, text));
    CHECK(is_refused(hw_finalize_data(m, kept[KEY], 0, NULL, NULL), expected, text));
    CHECK(is_false(hw_finalize_next(m, 0, &entry), expected, text) && entry.object == NULL);
    CHECK(is_refused(hw_free(m, kept[VALUE]), expected, text));
}

static int blocked_calls;

static void blocked(void *arg) {
    (void)arg;
    none_works(HW_ESTATE, "inside a blocking region");
    /* Data is taken anywhere. */
    void *data;
    CHECK(!hw_finalize_next_data(heap, 0, &data));
    blocked_calls++;
}

static int hook_calls;

static void hook(void *arg, uint32_t moment, uint32_t kind) {
    (void)arg, (void)moment, (void)kind;
    void *data;
    none_works(HW_ESTATE, "inside a hook");
    CHECK(is_refused(hw_finalize_all(heap, NULL), HW_ESTATE, "inside a hook"));
    CHECK(is_refused(hw_finalize_wait(heap, 0, 0, NULL, NULL), HW_ESTATE, "inside a hook"));
    CHECK(!hw_finalize_next_data(heap, 0, &data));
    hook_calls++;
}

/* A trace function runs in the middle of a collection, also of one that revives objects, which has the lock of finalisers. */
static int traced, traced_on_another;

static void trace(void *object, size_t size, hw_tracer *tracer) {
    (void)size;
    void *data = NULL;
    hw_finalize_queue made = 0;
    int fd = -7;
    if (hw_self(heap) == NULL) traced_on_another++;
    else none_works(HW_ESTATE, "inside a trace function");
    hw_error why;
    CHECK(hw_finalize_cancel(heap, finalizer, &data, &why) == HW_ESTATE && strstr(why.text, "inside a trace function") != NULL);
    CHECK(hw_finalize_queue_new(heap, &made, &why) == HW_ESTATE && made == 0);
    CHECK(hw_finalize_queue_end(heap, queue, &why) == HW_ESTATE && hw_finalize_all(heap, &why) == HW_ESTATE);
    CHECK(hw_finalize_fd(heap, 0, &fd, &why) == HW_ESTATE && fd == -7);
    CHECK(hw_finalize_call(heap, 0, NULL, NULL, &why) == HW_ESTATE);
    CHECK(hw_finalize_wait(heap, 0, 0, NULL, &why) == HW_ESTATE && strstr(why.text, "inside a trace function") != NULL);
    CHECK(!hw_finalize_next_data(heap, 0, &data) && !hw_finalize_next_data(heap, queue, &data));
    traced++;
    hw_visit(tracer, &((struct node *)object)->next);
}

static void inside_others(void) {
    blocked_calls = hook_calls = 0;
    CHECK(hw_call_blocking(m, blocked, NULL) == HW_OK && blocked_calls == 1);
    nothing_has_changed();
    CHECK(hw_on_collection(heap, hook, NULL, NULL) == HW_OK && hw_collect(m) == HW_OK && hook_calls >= 2);
    CHECK(hw_on_collection(heap, NULL, NULL, NULL) == HW_OK);
    nothing_has_changed();
    /* What is revived is followed by its trace function. */
    hw_type traced_type;
    hw_finalized entry;
    CHECK(hw_type_trace(heap, sizeof(struct node), trace, &traced_type, NULL) == HW_OK);
    for (uint32_t order = HW_FINALIZE_ORDERED; order <= HW_FINALIZE_AT_ONCE; order++) {
        struct node *node = kept[SPARE] = hw_alloc(m, traced_type);
        CHECK(node != NULL && hw_finalize(m, node, queue, order, &word, NULL) == HW_OK);
        kept[SPARE] = node = NULL;
        traced = 0;
        CHECK(hw_collect(m) == HW_OK && traced > 0);
        CHECK(hw_finalize_next(m, queue, &entry) && entry.tag == &word && entry.object != NULL);
        entry.object = NULL;
    }
    CHECK(hw_collect(m) == HW_OK);
    nothing_has_changed();
}

/* Another thread, with this mutator. */
static void *other_thread(void *arg) {
    void *data;
    hw_finalized entry;
    CHECK(hw_weak_new(m, kept[KEY]) == NULL && hw_weak_get(m, kept[WEAK]) == NULL && hw_weak_table_new(m) == NULL);
    CHECK(hw_weak_table_set(m, kept[TABLE], kept[VALUE], NULL) == HW_ESTATE && hw_weak_table_count(m, kept[TABLE]) == 0);
    CHECK(!hw_weak_table_get(m, kept[TABLE], kept[KEY], NULL) && !hw_weak_table_remove(m, kept[TABLE], kept[KEY]));
    CHECK(hw_ephemeron_set(m, kept[EPHEMERON], NULL) == HW_ESTATE && hw_ephemeron_value(m, kept[EPHEMERON]) == NULL);
    CHECK(hw_link_add(m, &moved, kept[KEY], 0) == HW_ESTATE && hw_link_get(m, &word) == NULL);
    CHECK(hw_link_move(m, &word, &moved) == HW_ESTATE);
    CHECK(hw_finalize(m, kept[KEY], 0, 0, NULL, NULL) == HW_ESTATE && !hw_finalize_next(m, 0, &entry));
    CHECK(strstr(hw_last_error(m)->text, "another thread's") != NULL && !hw_finalize_next_data(heap, queue, &data));
    return arg;
}

/* A comparison that breaks the rule not to collect: what it was given may be dead by then, and then it is not found. */
static bool collects(void *object, void *arg) {
    (void)object;
    ++*(int *)arg;
    CHECK(hw_collect(m) == HW_OK);
    return true;
}

static void comparisons_that_collect(void) {
    int calls = 0;
    for (int is_kept = 0; is_kept < 2; is_kept++) {
        void *table = kept[SPARE] = hw_weak_table_new(m);
        void *made = kept[CIRCLE] = hw_alloc(m, node_type);
        CHECK(table != NULL && made != NULL && hw_weak_table_intern(m, table, 5, never, NULL, made) == made);
        if (!is_kept) kept[CIRCLE] = NULL;
        CHECK(hw_weak_table_intern(m, table, 5, collects, &calls, NULL) == (is_kept ? made : NULL) && calls == is_kept + 1);
    }
    kept[SPARE] = kept[CIRCLE] = NULL;
    nothing_has_changed();
}

/* The kernel gives no addresses for the tables of what is registered first. */
static void no_memory(void) {
    hw_error why;
    hw_heap *small;
    hw_finalize_queue made = 0;
    hw_finalizer token = 0;
    void *key = kept[SPARE] = NULL;
    struct rlimit usual, none;
    CHECK(hw_heap_create(NULL, &small, NULL) == HW_OK && hw_attach(small, NULL, &m, NULL) == HW_OK);
    hw_type type;
    CHECK(hw_type_no_pointers(small, sizeof(struct node), &type, NULL) == HW_OK && (key = hw_alloc(m, type)) != NULL);
    CHECK(hw_root_slots(small, &kept[SPARE], 1, NULL) != 0);
    kept[SPARE] = key;
    for (int is_scarce = 1; is_scarce >= 0; is_scarce--) {
        if (is_scarce) {
            CHECK(getrlimit(RLIMIT_AS, &usual) == 0);
            none = usual;
            none.rlim_cur = 0;
            CHECK(setrlimit(RLIMIT_AS, &none) == 0);
        }
        hw_status expected = is_scarce ? HW_ENOMEM : HW_OK;
        hw_status added = hw_link_add(m, &moved, key, 0);
        hw_status finalized = hw_finalize_data(m, key, 0, NULL, &token);
        hw_status ordered = hw_finalize(m, key, 0, HW_FINALIZE_ORDERED, NULL, NULL);
        hw_status queued = hw_finalize_queue_new(small, &made, &why);
        if (is_scarce) CHECK(setrlimit(RLIMIT_AS, &usual) == 0);
        CHECK(added == expected && finalized == expected && ordered == expected && queued == expected);
        CHECK(!is_scarce || (strlen(why.text) > 20 && strcmp(why.text, hw_last_error(m)->text) == 0));
        CHECK((token == 0) == is_scarce && (made == 0) == is_scarce);
        CHECK(hw_link_get(m, &moved) == (is_scarce ? NULL : key) && (!is_scarce || hw_collect(m) == HW_OK));
    }
    CHECK(hw_link_remove(small, &moved) && hw_detach(m) == HW_OK && hw_finalize_all(small, NULL) == HW_OK);
    void *data;
    CHECK(hw_finalize_next_data(small, 0, &data) && !hw_finalize_next_data(small, 0, &data));
    CHECK(hw_attach(small, NULL, &m, NULL) == HW_OK);
    hw_finalized entry;
    CHECK(hw_finalize_next(m, 0, &entry) && entry.object == key && !hw_finalize_next(m, 0, &entry));
    CHECK(hw_detach(m) == HW_OK && hw_heap_destroy(small, NULL) == HW_OK);
    kept[SPARE] = NULL;
}

/* The heap's limit leaves no room for an entry. */
static void no_room(void) {
    hw_heap *small;
    hw_options options;
    hw_type type;
    uint64_t mask = 1, number = 3;
    hw_options_init(&options);
    options.limit = 4 << 20;
    options.conservative_stacks = 0;
    options.verify = (uint32_t)verify;
    CHECK(hw_heap_create(&options, &small, NULL) == HW_OK && hw_attach(small, NULL, &m, NULL) == HW_OK);
    CHECK(hw_type_mask(small, sizeof(struct node), &mask, 1, &type, NULL) == HW_OK && hw_root_slots(small, kept, ROOTS, NULL) != 0);
    CHECK((kept[TABLE] = hw_weak_table_new(m)) != NULL && (kept[BY_VALUE] = hw_weak_table_new(m)) != NULL);
    struct node *key = kept[KEY] = hw_alloc(m, type);
    CHECK(key != NULL && hw_weak_table_set(m, kept[TABLE], key, NULL) == HW_OK);
    key->number = number;
    CHECK(hw_weak_table_intern(m, kept[BY_VALUE], 3, is_number, &number, key) == key);
    for (struct node *next; (next = hw_alloc(m, type)) != NULL; kept[VALUE] = next) next->next = kept[VALUE];
    CHECK(hw_last_error(m)->status == HW_ELIMIT);
    /* As many ephemerons as there is room for. */
    for (void *weak; (weak = hw_ephemeron_new(m, key, kept[EPHEMERON])) != NULL;) kept[EPHEMERON] = weak;
    CHECK(is_null(hw_weak_new(m, key), HW_ELIMIT, "the heap's limit is 4194304 bytes"));
    for (int i = 0; i < 10; i++) {
        CHECK(is_refused(hw_weak_table_set(m, kept[TABLE], kept[VALUE], NULL), HW_ELIMIT, "the heap's limit"));
        CHECK(is_null(hw_weak_table_intern(m, kept[BY_VALUE], 4, never, NULL, kept[VALUE]), HW_ELIMIT, "the heap's limit"));
        CHECK(hw_weak_table_count(m, kept[TABLE]) == 1 && hw_weak_table_get(m, kept[TABLE], key, NULL));
        CHECK(hw_weak_table_intern(m, kept[BY_VALUE], 3, is_number, &number, NULL) == key && hw_weak_table_count(m, kept[BY_VALUE]) == 1);
    }
    /* A finaliser's entry is outside the heap. */
    CHECK(hw_finalize_data(m, key, 0, NULL, &finalizer) == HW_OK && hw_finalize_cancel(small, finalizer, NULL, NULL) == HW_OK);
    kept[VALUE] = kept[EPHEMERON] = NULL;
    CHECK(hw_weak_table_set(m, kept[TABLE], kept[TABLE], NULL) == HW_OK && hw_weak_table_count(m, kept[TABLE]) == 2);
    CHECK(hw_detach(m) == HW_OK && hw_heap_destroy(small, NULL) == HW_OK);
    memset(kept, 0, sizeof kept);
}

static void make_all(void) {
    hw_options options;
    uint64_t mask = 1, number = 7;
    hw_options_init(&options);
    options.verify = (uint32_t)verify;
    options.conservative_stacks = 0;
    hw_options_env(&options, NULL);
    CHECK(hw_heap_create(&options, &heap, NULL) == HW_OK && hw_heap_create(&options, &other_heap, NULL) == HW_OK);
    CHECK(hw_attach(heap, NULL, &m, NULL) == HW_OK && hw_attach(other_heap, NULL, &of_other, NULL) == HW_OK);
    CHECK(hw_type_mask(heap, sizeof(struct node), &mask, 1, &node_type, NULL) == HW_OK);
    CHECK(hw_type_mask(other_heap, sizeof(struct node), &mask, 1, &other_type, NULL) == HW_OK);
    CHECK(hw_root_slots(heap, kept, ROOTS, NULL) != 0 && hw_root_slots(other_heap, theirs, THEIR_ROOTS, NULL) != 0);
    CHECK((kept[KEY] = hw_alloc(m, node_type)) != NULL);
    ((struct node *)kept[KEY])->number = 7;
    CHECK((kept[VALUE] = hw_alloc(m, node_type)) != NULL);
    CHECK((kept[WEAK] = hw_weak_new(m, kept[KEY])) != NULL && (kept[EPHEMERON] = hw_ephemeron_new(m, kept[KEY], kept[VALUE])) != NULL);
    CHECK((kept[TABLE] = hw_weak_table_new(m)) != NULL && (kept[BY_VALUE] = hw_weak_table_new(m)) != NULL);
    CHECK(hw_weak_table_set(m, kept[TABLE], kept[KEY], kept[VALUE]) == HW_OK);
    CHECK(hw_weak_table_intern(m, kept[BY_VALUE], 7, is_number, &number, kept[KEY]) == kept[KEY]);
    word = (uintptr_t)kept[KEY];
    CHECK(hw_link_add(m, &word, kept[KEY], 0) == HW_OK);
    CHECK(hw_finalize_queue_new(heap, &queue, NULL) == HW_OK && (kept[FINAL] = hw_alloc(m, node_type)) != NULL);
    CHECK(hw_finalize(m, kept[FINAL], queue, HW_FINALIZE_ORDERED, &word, &finalizer) == HW_OK);
    CHECK((theirs[THEIRS] = hw_alloc(of_other, other_type)) != NULL);
    CHECK((theirs[THEIR_WEAK] = hw_weak_new(of_other, theirs[THEIRS])) != NULL);
    CHECK((theirs[THEIR_TABLE] = hw_weak_table_new(of_other)) != NULL);
    nothing_has_changed();
}

int main(int argc, char **argv) {
    pthread_t thread;
    void *data = NULL;
    hw_error why;
    verify = argc > 1 && strcmp(argv[1], "verify") == 0;
    no_memory();
    no_room();
    make_all();
    for (int round = 0; round < 2; round++) {
        wrong_objects();
        null_arguments();
        wrong_numbers();
        freed();
        inside_others();
        comparisons_that_collect();
        CHECK(pthread_create(&thread, NULL, other_thread, NULL) == 0 && pthread_join(thread, NULL) == 0);
        nothing_has_changed();
        CHECK(hw_collect(m) == HW_OK && hw_collect(of_other) == HW_OK);
        nothing_has_changed();
    }

    /* After the thread has left. */
    CHECK(hw_detach(m) == HW_OK);
    CHECK(hw_weak_new(m, kept[KEY]) == NULL && hw_weak_get(m, kept[WEAK]) == NULL && hw_weak_table_count(m, kept[TABLE]) == 0);
    CHECK(hw_link_add(m, &moved, kept[KEY], 0) == HW_ESTATE && hw_finalize(m, kept[KEY], 0, 0, NULL, NULL) == HW_ESTATE);
    CHECK(hw_heap_destroy(heap, &why) == HW_ESTATE && strstr(why.text, "finalisers") != NULL);
    CHECK(hw_finalize_cancel(heap, finalizer, &data, NULL) == HW_OK && data == &word);
    CHECK(hw_link_remove(heap, &word) && word == (uintptr_t)kept[KEY]);
    CHECK(hw_finalize_queue_end(heap, queue, NULL) == HW_OK && hw_heap_destroy(heap, &why) == HW_OK);
    CHECK(hw_detach(of_other) == HW_OK && hw_heap_destroy(other_heap, NULL) == HW_OK);
    puts("nothing has changed");
    return 0;
}
