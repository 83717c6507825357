/* The VM's heap on one of three collectors: Heapwood, its own mark-sweep (-DOWN_GC), or libgc (-DLIBGC). Invariant: vm.c names each
 * root, slot and store once, by the macros of this file, and each collector takes of that what it needs. -DPLANTED=n breaks the place
 * that has the number n, for the test of verify mode. */
#ifndef VM_HEAP_H
#define VM_HEAP_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef PLANTED
#define PLANTED 0
#endif
#define PLANT(n, right, wrong) (PLANTED == (n) ? (wrong) : (right))

/* ------------------------------------------------------------------------------------------------------ values -- */

typedef uint64_t __attribute__((__may_alias__)) value;
#ifdef LIBGC
#define TURNED /* it sees no boxed pointer */
#endif
#ifdef TURNED
/* Pointers as they are, doubles moved by 2^48: docs/guide/values.md. */
#define MOVED ((value)1 << 48)
#define SINGLE ((value)0xfffe << 48)
#define ADDRESS(v) (v)
static inline bool is_number(value v) { return v - MOVED < SINGLE - MOVED; }
static inline bool is_object(value v) { return v - 1 < MOVED - 1; }
static inline value of_object(const void *o) { return (value)(uintptr_t)o; }
#else
/* Doubles as they are, pointers in a quiet NaN with the sign, as in Wren: the heap's tag. */
#define MOVED ((value)0)
#define SINGLE ((value)0x7ffc << 48)
#define TAG ((value)0xfffc << 48)
#define TAG_MASK ((value)0xffff << 48)
#define ADDRESS(v) ((v) & ~TAG_MASK)
static inline bool is_number(value v) { return (v & SINGLE) != SINGLE; }
static inline bool is_object(value v) { return (v & TAG_MASK) == TAG; }
static inline value of_object(const void *o) { return TAG | (value)(uintptr_t)o; }
#endif
#define NIL (SINGLE | 1)
#define FALSE (SINGLE | 2)
#define TRUE (SINGLE | 3)
#define EMPTY (SINGLE | 4) /* a place of a map that nobody has used, and one whose key was removed */
#define GONE (SINGLE | 5)
static inline void *to_object(value v) { return (void *)(uintptr_t)ADDRESS(v); }
static inline value of_bool(bool b) { return b ? TRUE : FALSE; }
static inline value of_number(double d) {
    value v;
    memcpy(&v, &d, sizeof v);
    return v + MOVED;
}
static inline double to_number(value v) {
    double d;
    v -= MOVED;
    memcpy(&d, &v, sizeof d);
    return d;
}

/* ------------------------------------------------------------------------------------------------------ shapes -- */

enum tail { NONE, BYTES, WORDS, POINTERS, VALUES };

/* Where the pointers of a kind of objects are: words of the header, and what lies behind it. */
struct shape {
    const char *name;
    size_t header;
    uint64_t pointers, values;
    enum tail tail;
};
enum { MAX_SHAPES = 16 };
#define BIT(n, type, field) PLANT(n, UINT64_C(1) << (offsetof(type, field) / 8), 0)

_Noreturn static void die(const char *what, const char *why) {
    fflush(stdout);
    fprintf(stderr, "vm: %s: %s\n", what, why);
    exit(70);
}

/* Bytes that operations may allocate between two questions for room, and what is kept for them: that, and for each type a bit more. */
enum { SLICE = 1 << 16, RESERVE = 1 << 20 };
static ptrdiff_t slice;

#if !defined(OWN_GC) && !defined(LIBGC)
/* ---------------------------------------------------------------------------------------------------- Heapwood -- */
#include <heapwood.h>

static hw_heap *heap;
static hw_mutator *m;
static hw_type types[MAX_SHAPES];
static hw_tail tails[MAX_SHAPES];
static hw_error why;
typedef hw_tracer tracer;
typedef hw_frame frame_link;

static inline void *made(void *memory) {
    if (HW_UNLIKELY(memory == NULL)) die("no room in the middle of an operation", hw_last_error(m)->text);
    return memory;
}
static inline void *make(int shape) { return made(hw_alloc(m, types[shape])); }
static inline void *make_tail(int shape, size_t n) { return made(hw_alloc_tail(m, &tails[shape], n)); }

#define WORD(v) ((const void *)(uintptr_t)(v))
/* A store into an object, one through the address of a slot, copies, and many plain ones after an announcement. */
#define STORE(n, object, slot, v) PLANT(n, hw_write(m, object, slot, WORD(v)), (void)(*(slot) = (v)))
#define LINK(n, object, slot, to) PLANT(n, hw_write(m, object, slot, to), (void)(*(slot) = (to)))
#define INSIDE(n, slot, v) PLANT(n, hw_write_inside(m, slot, WORD(v)), (void)(*(slot) = (v)))
#define COPY(n, object, to, from, count) \
    PLANT(n, hw_copy(m, object, to, from, count), (void)memmove(to, from, (count) * sizeof(value)))
#define DIRTY(n, object) PLANT(n, (void)hw_dirty(m, object), (void)0)
#define IS_POLLED() HW_UNLIKELY(m->poll)
#define POLL() hw_safepoint_slow(m)
/* Slots of a function: values. */
#define FRAME(n, variables, size) \
    frame_link link;              \
    PLANT(n, hw_frame_push(m, &link, variables, size), (void)(link.slots = variables))
#define END_FRAME(n) PLANT(n, hw_frame_pop(m, &link), (void)0)
#define VISIT(n, tracer, slot) PLANT(n, hw_visit(tracer, slot), (void)(tracer))

static void heap_begin(const struct shape *shapes, int count, void *roots, size_t n, hw_root_fn visit) {
    hw_options options;
    hw_options_init(&options);
    options.conservative_stacks = 0; /* frames have what C variables hold */
    if (hw_options_env(&options, &why) || hw_heap_create(&options, &heap, &why)) die("no heap", why.text);
#ifndef TURNED
    if (PLANT(1, hw_heap_tag(heap, (hw_tag){TAG_MASK, TAG}, &why), HW_OK)) die("no tag", why.text);
#endif
    hw_type elements[VALUES + 1]; /* boxed or not: the heap's slots take both */
    if (hw_type_no_pointers(heap, 1, &elements[BYTES], &why) || hw_type_no_pointers(heap, 8, &elements[WORDS], &why) ||
        hw_type_describe(heap, "ptr", NULL, &elements[POINTERS], &why))
        die("no types", why.text);
    elements[VALUES] = elements[POINTERS];
    for (int i = 0; i < count; i++) {
        const struct shape *s = &shapes[i];
        uint64_t mask = s->pointers | s->values;
        hw_type header = 0;
        if (s->header && (mask ? hw_type_mask(heap, s->header, &mask, 1, &header, &why)
                               : hw_type_no_pointers(heap, s->header, &header, &why)))
            die(s->name, why.text);
        types[i] = header;
        if (s->tail && hw_type_tail(heap, header, elements[s->tail], &tails[i], &why)) die(s->name, why.text);
        if (hw_type_name(heap, s->tail ? tails[i].type : header, s->name, &why)) die(s->name, why.text);
    }
    if (hw_attach(heap, NULL, &m, &why)) die("no thread", why.text);
    if (PLANT(2, hw_root_slots(heap, roots, n, &why), 1) == 0 || PLANT(3, hw_root_function(heap, visit, NULL, &why), 1) == 0)
        die("no roots", why.text);
}

static void free_dead(void (*release)(void *)) {
    for (void *data; hw_finalize_next_data(heap, 0, &data);) release(data);
}
static void heap_end(void (*release)(void *)) {
    if (hw_finalize_all(heap, &why)) die("finalisers", why.text);
    free_dead(release);
    if (hw_detach(m) || hw_heap_destroy(heap, &why)) die("the end", why.text);
}

/* Whether operations may allocate so many bytes: asked where an error can be raised. */
static bool more_room(size_t bytes) {
    slice = 0;
    if (hw_reserve(m, RESERVE + (bytes > SLICE ? bytes : 0)) != HW_OK) return false;
    slice = SLICE;
    return true;
}
static bool own_outside(size_t bytes) { return hw_external(m, (ptrdiff_t)bytes) == HW_OK; }
static void disown_outside(size_t bytes) { hw_external(m, -(ptrdiff_t)bytes); }
static bool finalize(void *object, void *data) { return hw_finalize_data(m, object, 0, data, NULL) == HW_OK; }
static void collect(void) { hw_collect(m); }

/* An object that takes plain stores, up to *top: a fiber's stack. */
static bool plain_begin(void *object, volatile size_t **top, size_t *own) {
    *own = 0;
    *top = own;
    hw_status status = hw_plain_begin(m, object, 0, top);
    if (status == HW_EFULL && hw_collect(m) == HW_OK) status = hw_plain_begin(m, object, 0, top);
    return status == HW_OK;
}
static void plain_end(void *object) { hw_plain_end(m, object); }

#else
#include "other_heaps.h"
#endif

static inline bool room(size_t bytes) { return (slice -= (ptrdiff_t)bytes) >= 0 || more_room(bytes); }
#endif
