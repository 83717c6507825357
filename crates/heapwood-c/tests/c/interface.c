/* Every function of the header, and every error. Only precise roots keep objects alive, so that dead objects are
 * known to be freed. */
#ifndef _XOPEN_SOURCE
#define _XOPEN_SOURCE 600
#endif
#include "check.h"
#include <heapwood.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>

struct list {
    struct list *next;
    uint64_t number;
    struct list *other;
};

/* A table whose first word says how many slots are in use: no mask describes it. */
struct table {
    size_t used;
    void *slot[15];
};

static int traced;

static void trace_table(void *object, size_t size, hw_tracer *tracer) {
    struct table *t = object;
    traced++;
    CHECK(size >= sizeof *t);
    for (size_t i = 0; i + 1 < t->used; i++) hw_visit(tracer, &t->slot[i]);
    /* The last one may point into its object. */
    if (t->used) hw_visit_range(tracer, &t->slot[t->used - 1], &t->slot[t->used]);
}

/* With such a limit collections read what the process uses. */
static size_t process_memory;

/* Objects are only in variables, so the heap collects on request, and never because a collection is due. */
static hw_heap *new_heap(void) {
    hw_options o;
    hw_heap *heap = NULL;
    hw_error why;
    hw_options_init(&o);
    o.conservative_stacks = 0;
    o.min_heap = 64 << 20;
    o.generational = 0;
    o.process_memory = process_memory;
    CHECK(hw_heap_create(&o, &heap, &why) == HW_OK && why.status == HW_OK && heap != NULL);
    return heap;
}

static hw_mutator *join(hw_heap *heap) {
    hw_mutator *m = NULL;
    CHECK(hw_attach(heap, NULL, &m, NULL) == HW_OK && m != NULL);
    CHECK(hw_mutator_heap(m) == heap);
    CHECK(hw_last_error(m)->status == HW_OK && hw_last_error(m)->text[0] == '\0');
    return m;
}

static hw_type list_type(hw_heap *heap) {
    hw_type type = 0;
    uint64_t mask = HW_POINTER(struct list, next) | HW_POINTER(struct list, other);
    CHECK(mask == 5);
    CHECK(hw_type_mask(heap, sizeof(struct list), &mask, 1, &type, NULL) == HW_OK && type != 0);
    return type;
}

static hw_stats figures(hw_heap *heap) {
    hw_stats s = {.size = sizeof s};
    CHECK(hw_stats_get(heap, &s) == HW_OK && s.size == sizeof s);
    return s;
}

static uint64_t alive(hw_mutator *m) {
    CHECK(hw_collect(m) == HW_OK);
    return figures(hw_mutator_heap(m)).live_objects;
}

static int refused(const hw_mutator *m, hw_status status, const char *words) {
    const hw_error *e = hw_last_error(m);
    if (e->status == status && strstr(e->text, words) != NULL) return 1;
    fprintf(stderr, "status %d: %s\n", e->status, e->text);
    return 0;
}

static void versions_and_statuses(void) {
    CHECK(hw_version() == HW_VERSION);
    CHECK(strstr(hw_strstatus(HW_OK), "HW_OK") != NULL);
    CHECK(strstr(hw_strstatus(HW_EFULL), "HW_EFULL") != NULL);
    CHECK(hw_strstatus((hw_status)77) != NULL);
}

static void options(void) {
    hw_heap *heap = NULL;
    hw_error why;
    hw_options o;
    memset(&o, 0xff, sizeof o);
    hw_options_init(&o);
    hw_options_defaults(NULL, 8);
    CHECK(o.size == sizeof o && o.percent == 150 && o.min_heap == 4 << 20 && o.limit == 0 && o.address_space == 0);
    CHECK(o.huge_pages == 1 && o.conservative_stacks == 1 && o.verify == 0 && o.stress == 0 && o.background_release == 1);
    CHECK(o.mask_words == 256 && o.mark_stack == 0 && o.process_memory == 0 && o.trace == 0 && o.mark_threads == 0);

    CHECK(hw_heap_create(&o, NULL, &why) == HW_EINVAL && strstr(why.text, "out") != NULL);
#define REFUSED(field, value, words)                                                                     \
    do {                                                                                                 \
        hw_options bad = o;                                                                              \
        bad.field = value;                                                                               \
        CHECK(hw_heap_create(&bad, &heap, &why) == HW_EINVAL && why.status == HW_EINVAL && heap == NULL); \
        CHECK(strstr(why.text, words) != NULL);                                                          \
        CHECK(hw_heap_create(&bad, &heap, NULL) == HW_EINVAL);                                           \
    } while (0)
    REFUSED(size, 0, "hw_options_init");
    REFUSED(size, 48, "hw_options_init");
    REFUSED(size, (size_t)1 << 40, "hw_options_init");
    REFUSED(percent, 0, "option percent is 0: it must be 1 to 100000; choose such a value");
    REFUSED(percent, 1000000, "percent");
    REFUSED(limit, 1, "option limit is 1 byte: it must be at least 4 MiB");
    REFUSED(address_space, UINT64_C(1) << 60, "option address_space is 1 EiB: it must be 16 MiB to 16 TiB");
    REFUSED(address_space, 1, "16 MiB");
    REFUSED(huge_pages, 2, "option huge_pages is 2: it must be on (1) or off (0)");
    REFUSED(conservative_stacks, 2, "conservative_stacks");
    REFUSED(verify, 7, "verify");
    REFUSED(stress, 7, "stress");
    REFUSED(background_release, 7, "background_release");
    REFUSED(mask_words, 257, "option mask_words is 257: it must be 0 to 256");
    REFUSED(mark_stack, UINT32_MAX, "mark_stack");
    REFUSED(process_memory, 1, "at least 16 MiB");
    REFUSED(trace, 3, "option trace is 3: it must be 1 or off (2)");
    REFUSED(mark_threads, 129, "1 to 128");
    REFUSED(concurrent, 4, "it must be auto (1), on (2) or off (0)");

    /* Marking beside the program needs polls and the heap's thread: on is refused without, auto is off. */
    hw_options usual = o;
    o.concurrent = HW_CONCURRENT_ON;
    REFUSED(stop, HW_STOP_SIGNALS, "option concurrent is on and stop is signals");
    REFUSED(background_release, 0, "option concurrent is on and background_release is off");
    CHECK(hw_heap_create(&o, &heap, NULL) == HW_OK && hw_heap_destroy(heap, NULL) == HW_OK);
    o.concurrent = HW_CONCURRENT_AUTO;
    CHECK(hw_heap_create(&o, &heap, NULL) == HW_OK && hw_heap_destroy(heap, NULL) == HW_OK);
    o.background_release = 0;
    CHECK(hw_heap_create(&o, &heap, NULL) == HW_OK && hw_heap_destroy(heap, NULL) == HW_OK);
    heap = NULL;
    o = usual;

    /* A program that is older than the library: unknown options keep their defaults. */
    hw_options older = o;
    older.size = 56;
    older.mask_words = 999;
    CHECK(hw_heap_create(&older, &heap, NULL) == HW_OK && hw_heap_destroy(heap, NULL) == HW_OK);
    heap = NULL;
    older = o;
    older.size = 64;
    older.process_memory = 1;
    CHECK(hw_heap_create(&older, &heap, NULL) == HW_OK && hw_heap_destroy(heap, NULL) == HW_OK);
    heap = NULL;

    /* A program that is newer than the library: its new fields must be zero. */
    struct {
        hw_options known;
        uint64_t unknown;
    } newer;
    hw_options_defaults(&newer.known, sizeof newer);
    CHECK(newer.known.size == sizeof newer && newer.unknown == 0);
    CHECK(hw_heap_create(&newer.known, &heap, NULL) == HW_OK && hw_heap_destroy(heap, NULL) == HW_OK);
    heap = NULL;
    newer.unknown = 1;
    CHECK(hw_heap_create(&newer.known, &heap, &why) == HW_EINVAL && strstr(why.text, "does not know") != NULL);

    CHECK(hw_heap_create(NULL, &heap, NULL) == HW_OK && hw_heap_destroy(heap, NULL) == HW_OK);
    CHECK(hw_heap_destroy(NULL, NULL) == HW_OK && hw_heap_destroy(NULL, &why) == HW_OK && why.text[0] == '\0');
}

static void call(void *arg) { *(int *)arg += 1; }

static void threads(void) {
    hw_heap *heap = new_heap();
    hw_error why;
    hw_mutator *second = NULL, *m = join(heap);
    CHECK(hw_attach(NULL, NULL, &second, &why) == HW_EINVAL && strstr(why.text, "heap") != NULL);
    CHECK(hw_attach(heap, NULL, NULL, &why) == HW_EINVAL && strstr(why.text, "out") != NULL);
    CHECK(hw_attach(heap, NULL, &second, &why) == HW_ESTATE && strstr(why.text, "already") != NULL);
    CHECK(hw_attach(heap, (void *)4096, &second, &why) == HW_EINVAL && strstr(why.text, "stack_hi") != NULL);
    CHECK(second == NULL && figures(heap).threads == 1);

    /* Another heap is another matter. */
    hw_heap *other = new_heap();
    hw_mutator *there = join(other);
    CHECK(there != m && hw_detach(there) == HW_OK && hw_heap_destroy(other, NULL) == HW_OK);

    int calls = 0;
    CHECK(hw_call_blocking(m, call, &calls) == HW_OK && calls == 1);
    CHECK(hw_call_blocking(NULL, call, &calls) == HW_EINVAL && calls == 1);
    CHECK(hw_call_blocking(m, NULL, &calls) == HW_EINVAL && refused(m, HW_EINVAL, "fn"));
    hw_safepoint(m);
    hw_safepoint_slow(m);

    hw_type type = list_type(heap);
    CHECK(hw_heap_destroy(heap, NULL) == HW_ESTATE);
    CHECK(hw_heap_destroy(heap, &why) == HW_ESTATE && why.status == HW_ESTATE);
    CHECK(strstr(why.text, "1 thread is attached to the heap") != NULL);
    CHECK(hw_alloc(m, type) != NULL && figures(heap).threads == 1); /* as before */
    CHECK(hw_detach(NULL) == HW_EINVAL);
    CHECK(hw_detach(m) == HW_OK && figures(heap).threads == 0);
    CHECK(hw_heap_destroy(heap, NULL) == HW_OK);
}

static void types(void) {
    hw_heap *heap = new_heap();
    hw_error why;
    hw_type t = 7, again;
    uint64_t mask[6] = {1, 0, 0, 0, 1, 0};
    CHECK(hw_type_no_pointers(heap, 0, &t, &why) == HW_EDESC && strstr(why.text, "0 bytes") != NULL && t == 7);
    CHECK(hw_type_no_pointers(heap, SIZE_MAX, &t, &why) == HW_EDESC);
    CHECK(hw_type_no_pointers(heap, 8, NULL, &why) == HW_EINVAL && strstr(why.text, "out") != NULL);
    CHECK(hw_type_no_pointers(NULL, 8, &t, &why) == HW_EINVAL && strstr(why.text, "heap") != NULL);
    CHECK(hw_type_conservative(heap, 12, &t, &why) == HW_EDESC && strstr(why.text, "multiple") != NULL);
    CHECK(hw_type_conservative(NULL, 16, &t, &why) == HW_EINVAL);
    CHECK(hw_type_trace(heap, 16, NULL, &t, &why) == HW_EINVAL && strstr(why.text, "trace") != NULL);
    CHECK(hw_type_trace(heap, 0, trace_table, &t, &why) == HW_EDESC);
    CHECK(hw_type_mask(heap, 16, NULL, 1, &t, &why) == HW_EINVAL && strstr(why.text, "mask") != NULL);
    CHECK(hw_type_mask(heap, 16, mask, 6, &t, &why) == HW_EDESC && strstr(why.text, "mask has 6") != NULL);
    mask[0] = 4;
    CHECK(hw_type_mask(heap, 16, mask, 1, &t, &why) == HW_EDESC && strstr(why.text, "bit 2") != NULL);
    CHECK(hw_type_mask(heap, 4096, mask, 5, &t, &why) == HW_EDESC && strstr(why.text, "word 256") != NULL);
    CHECK(t == 7);

    /* The same description is the same type; another size is not, even in cells of the same size. */
    mask[0] = 1;
    CHECK(hw_type_mask(heap, 24, mask, 1, &t, &why) == HW_OK && why.status == HW_OK);
    CHECK(hw_type_mask(heap, 24, mask, 1, &again, NULL) == HW_OK && again == t);
    CHECK(hw_type_mask(heap, 32, mask, 1, &again, NULL) == HW_OK && again != t);
    CHECK(again % HW_BUMPS == t % HW_BUMPS);
    for (size_t size = 8; size <= 8000; size += 8) {
        CHECK(hw_type_no_pointers(heap, size, &t, NULL) == HW_OK);
        CHECK(hw_type_mask(heap, size, mask, 1, &t, NULL) == HW_OK);
    }
    CHECK(hw_type_mask(heap, 16, NULL, 0, &t, NULL) == HW_OK);
    CHECK(hw_heap_destroy(heap, NULL) == HW_OK);
}

/* How short a program may be is a setting. */
static void short_programs(void) {
    hw_heap *heap = NULL;
    hw_options o;
    hw_options_init(&o);
    o.mask_words = 2;
    CHECK(hw_heap_create(&o, &heap, NULL) == HW_OK);
    hw_mutator *m = join(heap);
    hw_type list = list_type(heap), masked, described;
    uint64_t mask = 4;
    CHECK(hw_type_mask(heap, 24, &mask, 1, &masked, NULL) == HW_OK);
    CHECK(hw_type_describe(heap, "{ word word ptr }", NULL, &described, NULL) == HW_OK && described != masked);
    mask = 2;
    CHECK(hw_type_mask(heap, 16, &mask, 1, &masked, NULL) == HW_OK);
    hw_type pair;
    CHECK(hw_type_describe(heap, "{ word ptr }", NULL, &pair, NULL) == HW_OK && pair == masked);
    /* Unwritten words are null, and the last word refers to an object. */
    void **first = hw_alloc(m, described);
    void *frame_slots[1] = {first};
    hw_frame frame;
    hw_frame_push(m, &frame, frame_slots, 1);
    CHECK(first[0] == NULL && first[1] == NULL && first[2] == NULL);
    first[2] = hw_alloc(m, list);
    CHECK(alive(m) == 2);
    first[2] = NULL;
    CHECK(alive(m) >= 1 && alive(m) <= 2);
    hw_frame_pop(m, &frame);
    CHECK(hw_detach(m) == HW_OK && hw_heap_destroy(heap, NULL) == HW_OK);
}

/* Types that are too large for a mask: as a program, and as a text that becomes one. */
static void large_types(void) {
    hw_heap *heap = new_heap();
    hw_mutator *m = join(heap);
    hw_error why;
    hw_type t = 7, again, list = list_type(heap);
    size_t size = 1;
    const unsigned char huge[] = {0x01, 0x01, 0x81, 0xff, 0xff, 0xff, 0x7f, 0x00};
    CHECK(hw_type_program(heap, 16, NULL, 8, &t, &why) == HW_EINVAL && strstr(why.text, "program") != NULL);
    CHECK(hw_type_program(heap, 24, huge, sizeof huge, &t, &why) == HW_EDESC && strstr(why.text, "byte 2") != NULL);
    CHECK(hw_type_program(heap, 20, huge, sizeof huge, &t, &why) == HW_EDESC && strstr(why.text, "multiple") != NULL);
    CHECK(hw_type_program(heap, 16, huge, 2, &t, &why) == HW_EDESC && strstr(why.text, "byte 2") != NULL && t == 7);
    CHECK(hw_type_program(heap, (size_t)1 << 31, huge, sizeof huge, &t, &why) == HW_OK && t != 0 && t != 7);
    CHECK(hw_type_program(heap, (size_t)1 << 31, huge, sizeof huge, &again, NULL) == HW_OK && again == t);

    CHECK(hw_type_describe(heap, NULL, &size, &t, &why) == HW_EINVAL && strstr(why.text, "text") != NULL);
    CHECK(hw_type_describe(heap, "{ ptr wrod }", &size, &t, &why) == HW_EDESC && strstr(why.text, "byte 6") != NULL);
    CHECK(hw_type_describe(heap, "{ ptr", &size, &t, &why) == HW_EDESC && size == 1);
    CHECK(hw_type_describe(heap, "{ word ptr [1000]{word ptr word} word }", &size, &t, &why) == HW_OK);
    CHECK(size == 3003 * 8);
    /* Two descriptions with equal masks are one type. */
    uint64_t mask = HW_POINTER(struct list, next);
    CHECK(hw_type_mask(heap, 24, &mask, 1, &again, NULL) == HW_OK);
    hw_type small;
    CHECK(hw_type_describe(heap, "{ ptr word word }", NULL, &small, NULL) == HW_OK);
    CHECK(mask != 1 || small == again);

    /* Each pointer keeps its target alive. The other words may hold anything. */
    void **table = hw_alloc(m, t);
    void *frame_slots[2] = {table, NULL};
    hw_frame frame;
    hw_frame_push(m, &frame, frame_slots, 2);
    for (size_t k = 0; k < 1000; k++) {
        struct list *node = hw_alloc(m, list);
        CHECK(node != NULL);
        table[2 + 3 * k + 1] = node;
        table[2 + 3 * k + 2] = (void *)~(uintptr_t)k;
    }
    CHECK(alive(m) >= 1001 && alive(m) <= 1010);
    for (size_t k = 0; k < 1000; k += 2) {
        table[2 + 3 * k + 1] = NULL;
    }
    CHECK(alive(m) >= 501 && alive(m) <= 510);
    /* An array of them. */
    void **tables = hw_alloc_array(m, t, 5);
    frame_slots[1] = tables;
    CHECK(tables != NULL);
    for (size_t k = 0; k < 5; k++) {
        tables[3003 * k + 2 + 3 * 999 + 1] = hw_alloc(m, list);
    }
    CHECK(alive(m) >= 507 && alive(m) <= 516);
    hw_frame_pop(m, &frame);
    CHECK(hw_detach(m) == HW_OK && hw_heap_destroy(heap, NULL) == HW_OK);
}

static int is_zero(const void *p, size_t n) {
    const unsigned char *bytes = p;
    for (size_t i = 0; i < n; i++) {
        if (bytes[i] != 0) return 0;
    }
    return 1;
}

static void freeing(void) {
    hw_heap *heap = new_heap();
    hw_mutator *m = join(heap);
    hw_type list = list_type(heap), bytes24, big;
    uint64_t mask = 1;
    CHECK(hw_type_no_pointers(heap, 24, &bytes24, NULL) == HW_OK);
    CHECK(hw_type_mask(heap, 100000, &mask, 1, &big, NULL) == HW_OK);
    hw_stats before = figures(heap);

    /* Freed memory is reused without a collection, and zero where there may be pointers. */
    const hw_type types[] = {list, bytes24, big};
    for (size_t t = 0; t < 3; t++) {
        char *kept = hw_alloc(m, types[t]);
        for (int i = 0; i < 20000; i++) {
            char *p = hw_alloc(m, types[t]);
            CHECK(p != NULL && p != kept && (t == 1 || is_zero(p, 24)));
            memset(p, 0x11, 24);
            CHECK(hw_free(m, p) == HW_OK);
        }
    }
    hw_stats after = figures(heap);
    CHECK(after.collections == before.collections && after.committed_bytes <= 8 << 20);

    char *p = hw_alloc(m, list), *q = hw_alloc(m, big);
    CHECK(hw_free(m, NULL) == HW_OK && hw_free(NULL, p) == HW_EINVAL && hw_free(NULL, NULL) == HW_EINVAL);
    CHECK(hw_free(m, p + 8) == HW_EINVAL && strstr(hw_last_error(m)->text, "lies inside the object at") != NULL);
    CHECK(hw_free(m, q + 50000) == HW_EINVAL && hw_free(m, m) == HW_EINVAL && hw_free(m, &p) == HW_EINVAL);
    CHECK(strstr(hw_last_error(m)->text, "is no object of this heap") != NULL);
    CHECK(hw_free(m, p) == HW_OK && hw_free(m, p) == HW_EINVAL);
    CHECK(strstr(hw_last_error(m)->text, "has been freed already") != NULL);
    CHECK(hw_free(m, q) == HW_OK && hw_free(m, q) == HW_EINVAL && hw_base(m, p, NULL) == NULL && hw_base(m, q, NULL) == NULL);
    CHECK(alive(m) == 0);
    CHECK(hw_detach(m) == HW_OK && hw_heap_destroy(heap, NULL) == HW_OK);
}

static void allocation(void) {
    hw_heap *heap = new_heap();
    hw_mutator *m = join(heap);
    hw_type list = list_type(heap), bytes24, cons, big, table;
    uint64_t mask = 1;
    size_t size = 0;
    CHECK(hw_type_no_pointers(heap, 24, &bytes24, NULL) == HW_OK);
    CHECK(hw_type_conservative(heap, 64, &cons, NULL) == HW_OK);
    CHECK(hw_type_mask(heap, 100000, &mask, 1, &big, NULL) == HW_OK);
    CHECK(hw_type_trace(heap, sizeof(struct table), trace_table, &table, NULL) == HW_OK);

    /* Cells are used and die, and come back: zeroed where there may be pointers, or when asked. */
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 2000; i++) {
            struct list *l = hw_alloc(m, list);
            CHECK(l != NULL && (uintptr_t)l % 16 == 0 && is_zero(l, sizeof *l));
            l->number = UINT64_MAX;
            void *p = hw_alloc(m, cons);
            CHECK(p != NULL && is_zero(p, 64));
            memset(p, 0x11, 64);
            p = hw_alloc(m, bytes24);
            CHECK(p != NULL);
            memset(p, 0xff, 24);
            p = hw_alloc_zeroed(m, bytes24);
            CHECK(p != NULL && is_zero(p, 24));
            memset(p, 0xff, 24);
            CHECK((p = hw_alloc_zeroed(m, list)) != NULL && is_zero(p, sizeof(struct list)));
        }
        for (int i = 0; i < 20; i++) {
            char *p = hw_alloc(m, big);
            CHECK(p != NULL && is_zero(p, 100000));
            CHECK(hw_base(m, p + 99999, &size) == p && size >= 100000);
            memset(p + 8, 0xff, 100000 - 8);
        }
        CHECK(alive(m) == 0);
    }

    static const size_t sizes[] = {0, 1, 8, 15, 16, 17, 255, 256, 257, 4096, 32768, 32769, 1 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t n = sizes[i];
        char *p = hw_alloc_bytes(m, n), *q = hw_alloc_bytes_zeroed(m, n);
        CHECK(p != NULL && q != NULL && p != q);
        memset(p, 0xff, n);
        CHECK(is_zero(q, n) && hw_base(m, p, &size) == p && size >= n);
        CHECK(hw_base(m, q + n / 2, &size) == q && size >= n && hw_base(m, q, NULL) == q);
        q = hw_alloc_bytes_slow(m, n);
        CHECK(q != NULL && hw_base(m, q, NULL) == q);
    }
    CHECK(hw_base(m, NULL, &size) == NULL && hw_base(m, &size, &size) == NULL && hw_base(m, heap, NULL) == NULL);

    /* An array of 24-byte elements has them 24 bytes apart, and every one is traced. */
    struct list *array = hw_alloc_array(m, list, 1000);
    hw_frame frame;
    CHECK(array != NULL && is_zero(array, 1000 * sizeof *array));
    hw_frame_push(m, &frame, &array, 1);
    for (int i = 0; i < 1000; i++) {
        struct list *l = hw_alloc(m, list);
        l->number = (uint64_t)i;
        hw_write(m, array, i % 2 ? &array[i].next : &array[i].other, l);
        array[i].number = (uint64_t)(uintptr_t)m; /* no pointer slot */
    }
    CHECK(alive(m) == 1001);
    for (int i = 0; i < 1000; i++) CHECK((i % 2 ? array[i].next : array[i].other)->number == (uint64_t)i);
    array = hw_alloc_array(m, cons, 3);
    CHECK(array != NULL && is_zero(array, 3 * 64));
    ((void **)array)[20] = (char *)hw_alloc(m, list) + 9; /* into the middle */
    CHECK(alive(m) == 2);
    hw_frame_pop(m, &frame);
    CHECK(alive(m) == 0 && m->frames == NULL);

    char *none = hw_alloc_array(m, list, 0), *text = hw_alloc_array(m, bytes24, 10);
    CHECK(none != NULL && text != NULL && none != text);
    memset(text, 0xff, 240);
    CHECK((text = hw_alloc_array_zeroed(m, bytes24, 1000)) != NULL && is_zero(text, 24000));
    CHECK((text = hw_alloc_array_zeroed(m, list, 1000)) != NULL && is_zero(text, 24000));

    /* Refusals. */
    CHECK(hw_alloc(m, 0) == NULL && refused(m, HW_EINVAL, "type"));
    CHECK(hw_alloc(m, list + 1) == NULL && refused(m, HW_EINVAL, "type"));
    CHECK(hw_alloc(m, UINT32_MAX) == NULL && refused(m, HW_EINVAL, "type"));
    CHECK(hw_alloc_slow(m, 1) == NULL && refused(m, HW_EINVAL, "type"));
    CHECK(hw_alloc_zeroed(m, 0) == NULL && refused(m, HW_EINVAL, "type"));
    CHECK(hw_alloc_array(m, 0, 1) == NULL && refused(m, HW_EINVAL, "type"));
    CHECK(hw_alloc_array(m, list, SIZE_MAX / 8) == NULL && refused(m, HW_ELIMIT, "array"));
    CHECK(hw_alloc_array(m, list, SIZE_MAX / 64) == NULL && refused(m, HW_ELIMIT, "reservation"));
    CHECK(hw_alloc_array(m, table, 2) == NULL && refused(m, HW_EDESC, "trace"));
    CHECK(hw_alloc_bytes(m, SIZE_MAX) == NULL && refused(m, HW_ELIMIT, "reservation"));
    CHECK(hw_alloc_slow(m, list) != NULL);
    CHECK(hw_detach(m) == HW_OK && hw_heap_destroy(heap, NULL) == HW_OK);
}

static void out_of_memory(void) {
    hw_heap *heap;
    hw_options o;
    hw_options_init(&o);
    o.limit = 8 << 20;
    o.conservative_stacks = 0;
    CHECK(hw_heap_create(&o, &heap, NULL) == HW_OK);
    hw_mutator *m = join(heap);
    hw_type list = list_type(heap);
    struct list *all = NULL;
    hw_frame frame;
    hw_frame_push(m, &frame, &all, 1);
    uint64_t n = 0;
    for (;; n++) {
        struct list *l = hw_alloc(m, list);
        if (l == NULL) break;
        l->next = all;
        all = l;
    }
    CHECK(refused(m, HW_ELIMIT, "limit") && n > 200000 && n <= (8 << 20) / 32);
    CHECK(hw_alloc_bytes(m, 16 << 20) == NULL && hw_last_error(m)->status == HW_ELIMIT);
    uint64_t left = 0;
    for (struct list *l = all; l != NULL; l = l->next) left++;
    CHECK(left == n);
    all = NULL; /* and on it goes */
    CHECK(hw_alloc(m, list) != NULL && alive(m) == 0);
    hw_frame_pop(m, &frame);
    CHECK(hw_detach(m) == HW_OK && hw_heap_destroy(heap, NULL) == HW_OK);
}

/* The system refuses to map anything more. */
static void no_memory(void) {
    hw_heap *heap = new_heap(), *second = NULL;
    hw_mutator *m = NULL;
    hw_error why;
    struct rlimit usual, none;
    CHECK(getrlimit(RLIMIT_AS, &usual) == 0);
    none = usual;
    none.rlim_cur = 4096;
    CHECK(setrlimit(RLIMIT_AS, &none) == 0);
    hw_status created = hw_heap_create(NULL, &second, &why);
    hw_status attached = hw_attach(heap, NULL, &m, NULL);
    CHECK(setrlimit(RLIMIT_AS, &usual) == 0);
    CHECK(created == HW_ENOMEM && second == NULL && why.status == HW_ENOMEM && why.text[0] != '\0');
    CHECK(attached == HW_ENOMEM && m == NULL && figures(heap).threads == 0);
    m = join(heap);
    CHECK(hw_detach(m) == HW_OK && hw_heap_destroy(heap, NULL) == HW_OK);
}

static __attribute__((noinline)) struct list *long_list(hw_mutator *m, hw_type type, int n) {
    struct list *all = NULL;
    for (int i = 0; i < n; i++) {
        struct list *l = hw_alloc(m, type);
        CHECK(l != NULL);
        l->next = all;
        all = l;
    }
    return all;
}

/* The stack below an address of the caller's is scanned, and pointers into objects count. */
static void conservative_stack(void *stack_hi) {
    hw_heap *heap;
    hw_mutator *m;
    CHECK(hw_heap_create(NULL, &heap, NULL) == HW_OK && hw_attach(heap, stack_hi, &m, NULL) == HW_OK);
    struct list *volatile list = long_list(m, list_type(heap), 10000);
    CHECK(alive(m) >= 10000);
    char *volatile inside = (char *)list + 17;
    list = NULL;
    CHECK(alive(m) >= 10000);
    list = (struct list *)(void *)(inside - 17);
    int n = 0;
    for (struct list *l = list; l != NULL; l = l->next) n++;
    CHECK(n == 10000 && hw_detach(m) == HW_OK && hw_heap_destroy(heap, NULL) == HW_OK);
}

static struct list *global[3];

static void roots(void) {
    hw_heap *heap = new_heap();
    hw_mutator *m = join(heap);
    hw_type list = list_type(heap), table;
    hw_error why;
    CHECK(alive(m) == 0);

    hw_root slots = hw_root_slots(heap, global, 3, NULL);
    CHECK(slots != 0 && hw_root_slots(NULL, global, 3, NULL) == 0 && hw_root_slots(heap, NULL, 3, NULL) == 0);
    CHECK(hw_root_slots(heap, (char *)global + 1, 1, NULL) == 0 && hw_root_slots(heap, global, SIZE_MAX, NULL) == 0);
#define ROOT_REFUSED(call, words) CHECK((call) == 0 && why.status == HW_EINVAL && strstr(why.text, words) != NULL)
    ROOT_REFUSED(hw_root_slots(NULL, global, 3, &why), "heap is NULL");
    ROOT_REFUSED(hw_root_slots(heap, NULL, 3, &why), "slots is NULL");
    ROOT_REFUSED(hw_root_slots(heap, (char *)global + 1, 1, &why), "no multiple of 8");
    ROOT_REFUSED(hw_root_slots(heap, global, SIZE_MAX, &why), "more than there can be");
    ROOT_REFUSED(hw_root_range(NULL, global, global, &why), "heap is NULL");
    ROOT_REFUSED(hw_root_range(heap, NULL, global, &why), "lo is NULL");
    ROOT_REFUSED(hw_root_range(heap, global + 1, global, &why), "one past its last");
    ROOT_REFUSED(hw_root_range(heap, (void *)UINTPTR_MAX, (void *)UINTPTR_MAX, &why), "one past its last");
    CHECK(hw_root_remove(NULL, slots, &why) == HW_EINVAL && strstr(why.text, "heap is NULL") != NULL);
    CHECK(hw_root_remove(heap, 0, &why) == HW_EINVAL && strstr(why.text, "no root of this heap") != NULL);
    global[1] = hw_alloc(m, list);
    global[2] = (struct list *)(void *)&global; /* outside the heap */
    global[1]->next = hw_alloc(m, list);
    CHECK(alive(m) == 2);
    CHECK(hw_root_remove(heap, slots, NULL) == HW_OK && hw_root_remove(heap, slots, NULL) == HW_EINVAL);
    CHECK(hw_root_remove(heap, 0, NULL) == HW_EINVAL && hw_root_remove(NULL, slots, NULL) == HW_EINVAL);
    CHECK(alive(m) == 0);

    static uintptr_t words[4];
    hw_root range = hw_root_range(heap, (char *)words + 1, words + 4, NULL); /* words 1 to 3 */
    CHECK(range != 0 && hw_root_range(NULL, words, words + 4, NULL) == 0 && hw_root_range(heap, words + 4, words, NULL) == 0);
    CHECK(hw_root_range(heap, NULL, words, NULL) == 0);
    words[0] = (uintptr_t)hw_alloc(m, list);
    words[1] = (uintptr_t)hw_alloc(m, list) + 23;
    words[3] = (uintptr_t)hw_alloc(m, list);
    CHECK(alive(m) == 2 && hw_root_remove(heap, range, NULL) == HW_OK && alive(m) == 0);

    void **a = hw_handle_new(m, hw_alloc(m, list)), **b = hw_handle_new(m, NULL);
    CHECK(a != NULL && b != NULL && a != b && *b == NULL);
    CHECK(hw_handle_set(m, b, hw_alloc(m, list)) == HW_OK && *b != NULL);
    CHECK(alive(m) == 2);
    CHECK(hw_handle_set(NULL, b, NULL) == HW_EINVAL && *b != NULL);
    CHECK(hw_handle_set(m, NULL, *b) == HW_EINVAL && refused(m, HW_EINVAL, "handle is NULL"));
    CHECK(hw_handle_set(m, b, (char *)*b + 1) == HW_EINVAL && refused(m, HW_EINVAL, "address"));
    /* Neither an address inside an object, nor one outside the heap, nor one of an object that was freed. */
    void *inside = (char *)*b + 8, *freed = hw_alloc(m, list);
    CHECK(hw_free(m, freed) == HW_OK);
    void *no_object[] = {inside, &inside, freed, (void *)16};
    for (int i = 0; i < 4; i++) {
        CHECK(hw_handle_set(m, b, no_object[i]) == HW_EINVAL && refused(m, HW_EINVAL, "address of an object"));
        CHECK(hw_handle_new(m, no_object[i]) == NULL && refused(m, HW_EINVAL, "address of an object"));
    }
    /* An address that is no handle is not read. */
    void *variable = NULL, **no_handle[] = {&variable, (void **)16, (void **)((char *)b + 1), b + 1, a - 1, (void **)*b};
    for (int i = 0; i < 6; i++) {
        CHECK(hw_handle_set(m, no_handle[i], NULL) == HW_EINVAL && refused(m, HW_EINVAL, "no handle"));
    }
    void *kept = *a;
    CHECK(hw_handle_set(m, a, NULL) == HW_OK && *a == NULL && alive(m) == 1);
    CHECK(hw_handle_set(m, a, kept = hw_alloc(m, list)) == HW_OK && *a == kept && alive(m) == 2);
    CHECK(hw_handle_free(m, a) == HW_OK && alive(m) == 1);
    CHECK(hw_handle_free(m, a) == HW_EINVAL && refused(m, HW_EINVAL, "handle"));
    CHECK(hw_handle_set(m, a, NULL) == HW_EINVAL && refused(m, HW_EINVAL, "no handle"));
    CHECK(hw_handle_free(m, (void **)words) == HW_EINVAL && hw_handle_free(NULL, b) == HW_EINVAL);
    CHECK(hw_handle_free(m, NULL) == HW_OK);
    CHECK(hw_handle_new(m, (char *)*b + 1) == NULL && refused(m, HW_EINVAL, "address"));
    /* It outlives the mutator. */
    CHECK(hw_detach(m) == HW_OK);
    m = join(heap);
    CHECK(alive(m) == 1 && ((struct list *)*b)->number == 0 && hw_handle_free(m, b) == HW_OK && alive(m) == 0);

    struct list *outer[1] = {hw_alloc(m, list)}, *inner[2] = {NULL, NULL};
    hw_frame one, two;
    hw_frame_push(m, &one, outer, 1);
    hw_frame_push(m, &two, inner, 2);
    inner[1] = hw_alloc(m, list);
    CHECK(two.prev == &one && alive(m) == 2);
    hw_frame_pop(m, &two);
    CHECK(alive(m) == 1);

    /* Fixed frames: the one that a collection has noted may get another object once it is the topmost again. */
    struct list *low[1] = {hw_alloc(m, list)}, *high[1] = {NULL};
    hw_frame_push_fixed(m, &two, low, 1);
    hw_frame three;
    hw_frame_push_fixed(m, &three, high, 1);
    high[0] = hw_alloc(m, list);
    CHECK(hw_collect_young(m) == HW_OK && alive(m) == 3);
    hw_frame_pop(m, &three);
    low[0] = hw_alloc(m, list);
    low[0]->number = 7;
    hw_frame_push_fixed(m, &three, high, 1);
    high[0] = hw_alloc(m, list);
    high[0]->number = 8;
    CHECK(hw_collect_young(m) == HW_OK && alive(m) == 3 && low[0]->number == 7 && high[0]->number == 8);
    hw_frame_pop(m, &three);
    hw_frame_pop(m, &two);

    /* A traced type. */
    CHECK(hw_type_trace(heap, sizeof(struct table), trace_table, &table, NULL) == HW_OK);
    struct table *t = hw_alloc(m, table);
    outer[0] = (struct list *)(void *)t;
    CHECK(t != NULL && alive(m) == 1 && traced >= 1); /* accepts zeros */
    for (size_t i = 0; i < 3; i++) hw_write(m, t, &t->slot[i], hw_alloc(m, list));
    t->slot[2] = (char *)t->slot[2] + 5;
    CHECK(alive(m) == 1);
    t->used = 3;
    for (size_t i = 0; i < 3; i++) hw_write(m, t, &t->slot[i], (char *)hw_alloc(m, list) + (i == 2 ? 7 : 0));
    CHECK(alive(m) == 4);
    hw_frame_pop(m, &one);
    CHECK(hw_detach(m) == HW_OK && hw_heap_destroy(heap, NULL) == HW_OK);
}

/* With verify, every store is checked; with stress, every allocation collects. Young collections have stores noted. */
static void stores(int verify, int stress, int generational) {
    hw_heap *heap;
    hw_options o;
    hw_options_init(&o);
    o.conservative_stacks = 0;
    o.verify = (uint32_t)verify;
    o.stress = (uint32_t)stress;
    o.generational = (uint32_t)generational;
    CHECK(hw_heap_create(&o, &heap, NULL) == HW_OK);
    hw_mutator *m = join(heap);
    CHECK((m->barrier != 0) == (verify || generational));
    hw_type list = list_type(heap), pointer;
    uint64_t mask = 1;
    CHECK(hw_type_mask(heap, 8, &mask, 1, &pointer, NULL) == HW_OK);

    struct list *local[2] = {NULL, NULL};
    struct list **array = NULL;
    hw_frame frame, second;
    hw_frame_push(m, &frame, local, 2);
    hw_frame_push(m, &second, &array, 1);
    local[0] = hw_alloc(m, list);
    array = hw_alloc_array(m, pointer, 8);
    hw_collect(m);
    for (int i = 0; i < 8; i++) {
        struct list *l = hw_alloc(m, list);
        l->number = (uint64_t)i;
        hw_write(m, array, &array[i], l);
    }
    hw_collect(m);
    hw_write_slow(m, local[0], &local[0]->next, array[3]);
    CHECK(local[0]->next->number == 3);
    CHECK(!hw_cas(m, local[0], &local[0]->next, array[2], array[4]) && local[0]->next == array[3]);
    CHECK(hw_cas(m, local[0], &local[0]->next, array[3], array[4]) && local[0]->next == array[4]);
    hw_collect(m);
    hw_copy(m, array, array + 1, array, 7); /* 0 0 1 2 3 4 5 6 */
    CHECK(array[0] == array[1]);
    for (int i = 1; i < 8; i++) CHECK(array[i]->number == (uint64_t)i - 1);
    hw_collect(m);
    hw_copy(m, array, array, array + 2, 6); /* 1 2 3 4 5 6 5 6 */
    for (int i = 0; i < 6; i++) CHECK(array[i]->number == (uint64_t)i + 1);
    hw_copy(m, array, array, array, 0);
    hw_write(m, local[0], &local[0]->next, NULL);
    CHECK(alive(m) == 2 + 6);

    hw_stats s = figures(heap);
    CHECK(s.barrier_violations == 0 && (s.verified == s.collections) == verify);
    CHECK(!stress || s.collections > 10);
    CHECK(s.collections >= 5 && s.allocated_bytes > 0 && s.live_bytes >= 8 * 24);
    CHECK(s.committed_bytes >= s.in_use_bytes && s.in_use_bytes > 0);
    CHECK(s.pause_max_ns >= s.pause_p50_ns && s.pause_total_ns >= s.pause_max_ns && s.goal_bytes > 0);
    CHECK(s.backed_bytes > 0 && s.backed_bytes <= s.committed_bytes && s.threads == 1);
    CHECK(s.span_lock_acquisitions > 0 && s.page_lock_acquisitions > 0);
    CHECK(s.phase_mark_ns > 0 && s.pause_total_ns <= s.phase_total_ns);
    if (verify) {
        /* Around the barrier, in an object that no frame refers to: it is found and reported. */
        array[0]->next = array[1];
        hw_collect(m);
        CHECK(figures(heap).barrier_violations == 1);
    }
    hw_frame_pop(m, &second);
    hw_frame_pop(m, &frame);
    CHECK(hw_detach(m) == HW_OK && hw_heap_destroy(heap, NULL) == HW_OK);
}

/* The target of an old object survives young collections if the store went through the barrier. Old dead objects
 * stay until a full collection. */
static void young(void) {
    hw_heap *heap;
    hw_options o;
    hw_options_init(&o);
    o.conservative_stacks = 0;
    o.verify = 1;
    o.generational = HW_GENERATIONAL_ALWAYS;
    CHECK(hw_heap_create(&o, &heap, NULL) == HW_OK && hw_collect_young(NULL) == HW_EINVAL);
    hw_mutator *m = join(heap);
    CHECK(m->barrier != 0);
    hw_type list = list_type(heap), pointer;
    uint64_t mask = 1;
    CHECK(hw_type_mask(heap, 8, &mask, 1, &pointer, NULL) == HW_OK);
    struct list *first = NULL;
    struct list **array = NULL;
    hw_frame one, two;
    hw_frame_push(m, &one, &first, 1);
    hw_frame_push(m, &two, &array, 1);
    first = hw_alloc(m, list);
    array = hw_alloc_array(m, pointer, 10000);
    CHECK(hw_collect_young(m) == HW_OK);
    hw_write(m, first, &first->next, hw_alloc(m, list));
    for (int i = 0; i < 10000; i += 100) hw_write(m, array, &array[i], hw_alloc(m, list));
    struct list *some[3];
    for (int i = 0; i < 3; i++) some[i] = array[i * 100];
    hw_copy(m, array, array + 1, (const void *)some, 3);
    hw_alloc(m, list); /* dead */
    CHECK(hw_collect_young(m) == HW_OK);
    CHECK(figures(heap).live_objects == 2 + 1 + 100 && figures(heap).young_collections == 2);
    first->next->number = 7;
    hw_write(m, array, &array[5], hw_alloc(m, list));
    hw_write(m, array, &array[5], NULL); /* remembered, and nothing there */
    void **handle = hw_handle_new(m, NULL);
    CHECK(hw_collect_young(m) == HW_OK && figures(heap).live_objects == 103);
    CHECK(hw_handle_set(m, handle, hw_alloc(m, list)) == HW_OK);
    CHECK(hw_collect_young(m) == HW_OK && figures(heap).live_objects == 104 && first->next->number == 7);
    /* Old and dead. */
    hw_write(m, first, &first->next, NULL);
    array = NULL;
    CHECK(hw_collect_young(m) == HW_OK && figures(heap).live_objects == 104);
    CHECK(hw_collect(m) == HW_OK && figures(heap).live_objects == 2);
    CHECK(hw_handle_free(m, handle) == HW_OK && figures(heap).barrier_violations == 0);
    hw_frame_pop(m, &two);
    hw_frame_pop(m, &one);
    CHECK(hw_detach(m) == HW_OK && hw_heap_destroy(heap, NULL) == HW_OK);
}

static void statistics(void) {
    hw_heap *heap = new_heap();
    struct {
        hw_stats known;
        uint64_t unknown;
    } newer = {.known = {.size = sizeof newer}, .unknown = 7};
    struct {
        size_t size;
        uint64_t collections, guard;
    } older = {16, 7, 7};
    CHECK(hw_stats_get(heap, &newer.known) == HW_OK && newer.unknown == 0 && newer.known.size == sizeof newer);
    CHECK(hw_stats_get(heap, (hw_stats *)(void *)&older) == HW_OK && older.collections == 0 && older.guard == 7);
    newer.known.size = 0;
    CHECK(hw_stats_get(heap, &newer.known) == HW_EINVAL && hw_stats_get(heap, NULL) == HW_EINVAL);
    CHECK(hw_stats_get(NULL, &newer.known) == HW_EINVAL && hw_collect(NULL) == HW_EINVAL);
    size_t released = 1;
    CHECK(hw_release_free_memory(NULL, &released) == HW_EINVAL && released == 1);
    CHECK(hw_percent_set(NULL, 100) == HW_EINVAL && hw_percent_set(heap, 0) == HW_EINVAL);
    CHECK(hw_percent_set(heap, 100) == HW_OK && hw_percent_set(heap, 150) == HW_OK);
    CHECK(hw_limit_set(NULL, 0) == HW_EINVAL && hw_limit_set(heap, 1) == HW_EINVAL);
    CHECK(hw_limit_set(heap, (size_t)1 << 30) == HW_OK && hw_limit_set(heap, 0) == HW_OK);
    CHECK(hw_release_free_memory(heap, &released) == HW_OK && hw_release_free_memory(heap, NULL) == HW_OK);
    /* The memory of a dead large object is released. */
    hw_mutator *m = join(heap);
    void *large = hw_alloc_bytes_zeroed(m, 8 << 20);
    CHECK(large != NULL);
    memset(large, 1, 8 << 20);
    uint64_t before = figures(heap).released_bytes;
    CHECK(hw_collect(m) == HW_OK && hw_release_free_memory(heap, &released) == HW_OK);
    CHECK(figures(heap).released_bytes >= before + (8 << 20) && figures(heap).in_use_bytes == 0);
    CHECK(hw_detach(m) == HW_OK);
    CHECK(hw_heap_destroy(heap, NULL) == HW_OK);
}

/* What the rows of hw_memory_get sum up to. */
struct rows {
    size_t rows, spans, cells, large, bytes, parts, last;
};

static void take_row(const hw_memory_class *row, void *argument) {
    struct rows *sum = argument;
    CHECK(row->spans > 0 && (row->cell == 0 || row->cell > sum->last));
    sum->last = row->cell == 0 ? SIZE_MAX : row->cell;
    sum->rows++;
    sum->spans += row->spans;
    if (row->cell == sizeof(struct list) + 8) sum->cells = row->old + row->young;
    if (row->cell == 0) sum->large = row->old + row->young;
    sum->bytes += row->bytes;
    sum->parts += row->old + row->young + row->freed + row->unswept + row->partial + row->cached + row->open + row->tails;
}

static void ask_in_region(void *heap) {
    hw_memory memory = {.size = sizeof memory};
    CHECK(hw_memory_get(heap, &memory, NULL, NULL) == HW_ESTATE);
}

static void memory(void) {
    hw_heap *heap = new_heap();
    hw_mutator *m = join(heap);
    struct {
        hw_memory known;
        uint64_t unknown;
    } newer = {.known = {.size = sizeof newer}, .unknown = 7};
    struct {
        size_t size;
        uint64_t backed, guard;
    } older = {16, 7, 7};
    hw_memory memory = {.size = sizeof memory};
    CHECK(hw_memory_get(heap, &newer.known, NULL, NULL) == HW_OK && newer.unknown == 0 && newer.known.backed == 0);
    hw_type type = list_type(heap);
    for (int i = 0; i < 1000; i++) CHECK(hw_alloc(m, type) != NULL);
    void *large = hw_alloc_bytes_zeroed(m, 100000);
    CHECK(large != NULL && hw_free(m, hw_alloc(m, type)) == HW_OK);
    struct rows sum = {0};
    CHECK(hw_memory_get(heap, &memory, take_row, &sum) == HW_OK);
    CHECK(sum.rows == 2 && sum.cells == 1000 * (sizeof(struct list) + 8) && sum.large == 100000 && sum.bytes == sum.parts);
    CHECK(memory.young == sum.cells + sum.large && memory.freed == sizeof(struct list) + 8 && memory.survived == 0);
    CHECK(memory.backed == sum.bytes + memory.cached_pages + memory.free_pages);
    CHECK(memory.backed == figures(heap).backed_bytes);
    CHECK(memory.resident == memory.backed - memory.untouched + memory.surplus + memory.tables);
    CHECK(memory.layouts > 0 && memory.mark_bits > 0 && memory.process > 0);
    CHECK(hw_memory_get(heap, (hw_memory *)(void *)&older, NULL, NULL) == HW_OK && older.backed == memory.backed);
    CHECK(older.guard == 7);
    CHECK(hw_call_blocking(m, ask_in_region, heap) == HW_OK && hw_last_error(m)->status == HW_ESTATE);
    memory.size = 0;
    CHECK(hw_memory_get(heap, &memory, NULL, NULL) == HW_EINVAL && hw_memory_get(heap, NULL, NULL, NULL) == HW_EINVAL);
    CHECK(hw_memory_get(NULL, &newer.known, NULL, NULL) == HW_EINVAL);
    CHECK(hw_detach(m) == HW_OK && hw_heap_destroy(heap, NULL) == HW_OK);
}

static void everything(void) {
    versions_and_statuses();
    options();
    threads();
    types();
    short_programs();
    large_types();
    allocation();
    freeing();
    out_of_memory();
    no_memory();
    conservative_stack(NULL);
    void *here[1] = {NULL};
    conservative_stack(here + 1);
    roots();
    for (int i = 0; i < 12; i++) stores(i & 1, i >> 1 & 1, i >> 2);
    young();
    statistics();
    memory();
}

/* On a thread that has been cancelled: it ends at the first cancellation point, which is its own. */
static void *cancelled(void *argument) {
    CHECK(pthread_cancel(pthread_self()) == 0);
    everything();
    *(bool *)argument = true;
    pthread_testcancel();
    return NULL;
}

int main(int argc, char **argv) {
    if (argc > 1) {
        CHECK(strcmp(argv[1], "cancelled") == 0);
        pthread_t thread;
        bool is_through = false;
        void *result = NULL;
        process_memory = (size_t)512 << 20;
        CHECK(pthread_create(&thread, NULL, cancelled, &is_through) == 0 && pthread_join(thread, &result) == 0);
        CHECK(is_through && result == PTHREAD_CANCELED);
    } else {
        everything();
    }
    puts("all is as the header says");
    return 0;
}
