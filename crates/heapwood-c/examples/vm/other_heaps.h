/* The collectors that the VM is compared with: libgc, and a mark-sweep of its own. They take of the macros of heap.h what they need:
 * neither has a barrier, and libgc no roots. */
typedef struct tracer { char none; } tracer;
#define STORE(n, object, slot, v) (*(slot) = (v))
#define LINK(n, object, slot, to) (*(slot) = (to))
#define INSIDE(n, slot, v) (*(slot) = (v))
#define COPY(n, object, to, from, count) memmove(to, from, (count) * sizeof(value))
#define DIRTY(n, object) ((void)0)
#define IS_POLLED() false
#define POLL() ((void)0)
static const struct shape *all_shapes;
static inline size_t size_of(int shape, size_t n) { return all_shapes[shape].header + (all_shapes[shape].tail == BYTES ? n : 8 * n); }
static bool more_room(size_t bytes) { return slice = SLICE, bytes < (size_t)1 << 40; }

#ifdef LIBGC /* ----------------------------------------------------------------------------------------------- libgc -- */
#include <gc.h>

static bool plain_begin(void *object, volatile size_t **top, size_t *own) { return *own = 0, *top = own, object != NULL; }
static void plain_end(void *object) { (void)object; }
static void (*release_data)(void *);
#define FRAME(n, variables, size) (void)(variables)
#define END_FRAME(n) ((void)0)
#define VISIT(n, tracer, slot) ((void)(slot), (void)(tracer))
static inline void *make_tail(int shape, size_t n) {
    bool bytes = all_shapes[shape].tail == BYTES; /* what these have in headers is kept by roots */
    void *memory = bytes ? GC_malloc_atomic(size_of(shape, n)) : GC_malloc(size_of(shape, n));
    if (memory == NULL) die("no room", "libgc has none");
    return memory;
}
static inline void *make(int shape) { return make_tail(shape, 0); }
static void heap_begin(const struct shape *shapes, int count, void *roots, size_t n, void (*visit)(void *, tracer *)) {
    (void)count, (void)roots, (void)n, (void)visit;
    all_shapes = shapes;
    GC_INIT();
}
static void free_dead(void (*release)(void *)) {
    release_data = release;
    GC_invoke_finalizers();
}
static void finalized(void *object, void *data) {
    (void)object;
    if (release_data) release_data(data);
}
static bool finalize(void *object, void *data) { return GC_register_finalizer_no_order(object, finalized, data, NULL, NULL), true; }
static void heap_end(void (*release)(void *)) { free_dead(release); }
static bool own_outside(size_t bytes) { return bytes != SIZE_MAX; }
static void disown_outside(size_t bytes) { (void)bytes; }
static void collect(void) { GC_gcollect(); }

#else /* ------------------------------------------------------------------------------------- a mark-sweep of its own -- */

/* As in many interpreters: each object is malloc'd behind a header that is in one list of all. */
struct cell {
    struct cell *next;
    uint32_t shape, n;
    bool marked;
    void *data;          /* what it owns outside */
    volatile size_t top; /* the words of its tail that count */
};
typedef struct frame_link {
    struct frame_link *prev;
    value *slots;
    size_t count;
} frame_link;

static struct cell *cells, **gray;
static frame_link *frames;
static void **root_slots;
static void (*visit_roots)(void *, tracer *), (*release_data)(void *);
static size_t root_count, grays, gray_room, in_use, goal = 4 << 20, outside;

#define FRAME(n, variables, size)                \
    frame_link link = {frames, variables, size}; \
    frames = &link
#define END_FRAME(n) (void)(frames = link.prev)
#define VISIT(n, tracer, slot) mark(*(void *const *)(slot), tracer)

static void mark(void *object, tracer *t) {
    (void)t;
    if (object == NULL) return;
    struct cell *cell = (struct cell *)object - 1;
    if (cell->marked) return;
    cell->marked = true;
    if (grays == gray_room) {
        gray_room = gray_room ? 2 * gray_room : 1024;
        gray = realloc(gray, gray_room * sizeof *gray);
        if (gray == NULL) die("no room", "the mark stack");
    }
    gray[grays++] = cell;
}
static void mark_value(value v) {
    if (is_object(v)) mark(to_object(v), NULL);
}
static void collect(void) {
    for (size_t i = 0; i < root_count; i++) mark(root_slots[i], NULL);
    visit_roots(NULL, NULL);
    for (frame_link *f = frames; f; f = f->prev)
        for (size_t i = 0; i < f->count; i++) mark_value(f->slots[i]);
    while (grays) {
        struct cell *cell = gray[--grays];
        const struct shape *s = &all_shapes[cell->shape];
        value *words = (value *)(cell + 1);
        for (uint64_t bits = s->pointers; bits; bits &= bits - 1) mark((void *)(uintptr_t)words[__builtin_ctzll(bits)], NULL);
        for (uint64_t bits = s->values; bits; bits &= bits - 1) mark_value(words[__builtin_ctzll(bits)]);
        words += s->header / 8;
        size_t n = cell->n < cell->top ? cell->n : cell->top;
        if (s->tail == VALUES)
            for (size_t i = 0; i < n; i++) mark_value(words[i]);
        if (s->tail == POINTERS)
            for (size_t i = 0; i < n; i++) mark((void *)(uintptr_t)words[i], NULL);
    }
    for (struct cell **at = &cells, *cell; (cell = *at) != NULL;) {
        if (cell->marked) {
            cell->marked = false;
            at = &cell->next;
        } else {
            *at = cell->next;
            in_use -= sizeof *cell + size_of((int)cell->shape, cell->n);
            if (cell->data) release_data(cell->data);
            free(cell);
        }
    }
    goal = (in_use + outside) * 5 / 2;
    if (goal < 4 << 20) goal = 4 << 20;
}
static inline void *make_tail(int shape, size_t n) {
    size_t size = sizeof(struct cell) + size_of(shape, n);
    if (in_use + outside + size > goal) collect();
    struct cell *cell = calloc(1, size);
    if (cell == NULL) die("no room", "malloc has none");
    *cell = (struct cell){cells, (uint32_t)shape, (uint32_t)n, false, NULL, SIZE_MAX};
    cells = cell;
    in_use += size;
    return cell + 1;
}
static inline void *make(int shape) { return make_tail(shape, 0); }
static void heap_begin(const struct shape *shapes, int count, void *roots, size_t n, void (*visit)(void *, tracer *)) {
    (void)count;
    all_shapes = shapes, root_slots = roots, root_count = n, visit_roots = visit;
}
static bool plain_begin(void *object, volatile size_t **top, size_t *own) {
    struct cell *cell = (struct cell *)object - 1;
    return *own = cell->top = 0, *top = &cell->top, true;
}
static void plain_end(void *object) { ((struct cell *)object - 1)->top = 0; }
static void free_dead(void (*release)(void *)) { release_data = release; }
static bool finalize(void *object, void *data) { return ((struct cell *)object - 1)->data = data, true; }
static void heap_end(void (*release)(void *)) {
    release_data = release;
    root_count = 0;
    frames = NULL;
    collect();
    free(gray);
}
static bool own_outside(size_t bytes) { return outside += bytes, true; }
static void disown_outside(size_t bytes) { outside -= bytes; }
#endif
