/* Random programs of several threads against models of their object graphs: objects of every kind that libgc can say where pointers
   are, with noise in the words that are none. What a model reaches is there, whole; of the rest nearly all goes. The models have
   addresses masked, and each object a link that tells when it dies. */
#include "check.h"
enum { THREADS = 3, NODES = 3000, ROOTS = 40, SLOTS = 6, STEPS = 300000, CHECKS = 1500 };
enum kind { USUAL, ATOMIC, HELD, TYPED, ELEMENTS, PROCEDURE, FIRST, OWN, LARGE, KINDS };
struct node {
    void *link;
    uintptr_t masked;
    long number;
    int edges[SLOTS];
    unsigned char kind, held, seen;
};
struct model { struct node nodes[NODES]; int roots[ROOTS], free[NODES], spare; unsigned random; long made, died; };
static void *volatile roots[THREADS][ROOTS];
static const uintptr_t mask = 0x5a5a000000000000;
static unsigned kind_procedure, kind_first, kind_own;
static GC_descr typed, element;
#define ADDRESS(n) ((GC_word *)((n)->masked ^ mask))

/* Word 0 is the object's number, the last of twelve words its double. Pointers are at 1 + slot, or where the kind has them. */
enum { WORDS = 12 };
static int place(int kind, int slot) {
    switch (kind) {
    case ELEMENTS: return 1 + 2 * slot;    /* the second word of each element of two */
    case TYPED: return 1 + slot;           /* of which the bitmap has the first three */
    case OWN: return 2 + slot;             /* word 1 is the descriptor, of the first four */
    case LARGE: return 1 + slot * 100;
    default: return 1 + slot;
    }
}
/* How many slots hold pointers; the others of SLOTS hold noise, the addresses of objects that they do not keep. */
static int pointers(int kind) { return kind == ATOMIC ? 0 : kind == TYPED || kind == FIRST ? 3 : kind == OWN ? 4 : kind == ELEMENTS ? 5 : SLOTS; }
static int words(int kind) { return kind == LARGE ? 900 : WORDS; }
static int last(int kind) { return kind == ELEMENTS ? 10 : words(kind) - (kind == TYPED ? 2 : 1); }

static struct GC_ms_entry *procedure(GC_word *addr, struct GC_ms_entry *top, struct GC_ms_entry *limit, GC_word env) {
    CHECK(env == 5);
    for (int i = 0; i < SLOTS; i++)
        if (addr[1 + i]) top = GC_MARK_AND_PUSH((void *)~addr[1 + i], top, limit, NULL);
    return top;
}
static GC_word *make(int kind) {
    size_t bytes = words(kind) * sizeof(GC_word);
    switch (kind) {
    case ATOMIC: return memset(GC_MALLOC_ATOMIC(bytes), 0, bytes);
    case HELD: return GC_MALLOC_UNCOLLECTABLE(bytes);
    case TYPED: return GC_malloc_explicitly_typed(bytes - sizeof(GC_word), typed);
    case ELEMENTS: return GC_calloc_explicitly_typed(6, 2 * sizeof(GC_word), element);
    case PROCEDURE: return GC_generic_malloc(bytes, kind_procedure);
    case FIRST: return GC_generic_malloc(bytes, kind_first);
    case OWN: return GC_generic_malloc(bytes, kind_own);
    default: return GC_MALLOC(bytes);
    }
}
static unsigned below(struct model *m, unsigned n) { m->random = m->random * 1103515245 + 12345; return (m->random >> 8) % n; }
/* The word of an edge: to the inside, sometimes, and hidden where a procedure reads it. */
static GC_word word(struct node *from, struct node *to) {
    if (!to) return 0;
    GC_word to_word = (GC_word)ADDRESS(to) + (from->number + to->number) % 3 * 8;
    return from->kind == PROCEDURE ? ~to_word : to_word;
}
static void set(struct model *m, int from, int slot, int to) {
    struct node *n = &m->nodes[from];
    n->edges[slot] = to;
    if (n->kind == ATOMIC || (n->kind == ELEMENTS && slot == 5)) return;
    ADDRESS(n)[place(n->kind, slot)] = word(n, to < 0 ? NULL : &m->nodes[to]);
}
static void set_root(struct model *m, int thread, int root, int to) {
    m->roots[root] = to;
    roots[thread][root] = to < 0 ? NULL : (char *)ADDRESS(&m->nodes[to]) + (root % 3) * 8;
}
/* An object that the model reaches, some edges from a root; -1 for none. */
static int pick(struct model *m) {
    int at = m->roots[below(m, ROOTS)];
    for (int steps = below(m, 12); steps && at >= 0; steps--) {
        struct node *n = &m->nodes[at];
        int count = pointers(n->kind), next = count ? n->edges[below(m, count)] : -1;
        if (next < 0) break;
        at = next;
    }
    return at;
}
static void __attribute__((noinline)) step(struct model *m, int thread) {
    int what = below(m, 20), at = pick(m);
    if (what < 11 && m->spare) {
        int index = m->free[--m->spare];
        struct node *n = &m->nodes[index];
        memset(n, 0, sizeof *n);
        n->kind = below(m, 60) ? below(m, KINDS - 1) : LARGE;
        if (n->kind == HELD && below(m, 4)) n->kind = USUAL;
        n->number = ++m->made;
        for (int i = 0; i < SLOTS; i++) n->edges[i] = -1;
        GC_word *object = make(n->kind);
        CHECK(object);
        n->masked = (uintptr_t)object ^ mask;
        object[0] = n->number;
        object[last(n->kind)] = 2 * n->number;
        if (n->kind == OWN) object[1] = (GC_word)0xf << (64 - 6) | GC_DS_BITMAP;
        n->held = n->kind == HELD;
        n->link = (void *)GC_HIDE_POINTER(object);
        CHECK(GC_general_register_disappearing_link(&n->link, object) == GC_SUCCESS);
        if (at >= 0 && pointers(m->nodes[at].kind) && below(m, 3)) set(m, at, below(m, pointers(m->nodes[at].kind)), index);
        else set_root(m, thread, below(m, ROOTS), index);
        /* Noise: words that are no pointers name others. */
        for (int i = pointers(n->kind); i < SLOTS && n->kind != ATOMIC; i++) set(m, index, i, pick(m));
    } else if (at < 0) {
        set_root(m, thread, below(m, ROOTS), -1);
    } else if (what < 15) {
        if (pointers(m->nodes[at].kind)) set(m, at, below(m, pointers(m->nodes[at].kind)), below(m, 3) ? pick(m) : -1);
    } else if (what < 18) {
        set_root(m, thread, below(m, ROOTS), below(m, 4) ? pick(m) : -1);
    } else if (what == 18 && m->nodes[at].held) {
        /* It is an ordinary object to the model from now on, as nobody frees what others know. */
        m->nodes[at].held = 1;
    } else {
        for (int i = 0; i < 30; i++) memset(GC_MALLOC_ATOMIC(16 + below(m, 900)), 0x5a, 16);
    }
}
static void visit(struct model *m, int from, int *stack) {
    int depth = 0;
    if (from >= 0 && !m->nodes[from].seen) m->nodes[from].seen = 1, stack[depth++] = from;
    while (depth) {
        struct node *n = &m->nodes[stack[--depth]];
        for (int i = 0; i < pointers(n->kind); i++)
            if (n->edges[i] >= 0 && !m->nodes[n->edges[i]].seen) m->nodes[n->edges[i]].seen = 1, stack[depth++] = n->edges[i];
    }
}
static void __attribute__((noinline)) check(struct model *m) {
    static __thread int stack[NODES];
    static __thread char is_free[NODES];
    memset(is_free, 0, sizeof is_free);
    for (int i = 0; i < m->spare; i++) is_free[m->free[i]] = 1;
    for (int i = 0; i < NODES; i++) m->nodes[i].seen = 0;
    for (int i = 0; i < ROOTS; i++) visit(m, m->roots[i], stack);
    for (int i = 0; i < NODES; i++) if (!is_free[i] && m->nodes[i].held && m->nodes[i].link) visit(m, i, stack);
    int alive = 0, late = 0;
    for (int i = 0; i < NODES; i++) {
        struct node *n = &m->nodes[i];
        if (is_free[i]) continue;
        if (n->seen) {
            GC_word *object = ADDRESS(n);
            alive++;
            if (n->link != (void *)GC_HIDE_POINTER(object)) {
                fprintf(stderr, "kind %d number %ld is gone\n", n->kind, n->number);
                for (int j = 0; j < ROOTS; j++) if (m->roots[j] == i) fprintf(stderr, "root %d\n", j);
                for (int k = 0; k < NODES; k++)
                    for (int j = 0; m->nodes[k].seen && j < pointers(m->nodes[k].kind); j++)
                        if (m->nodes[k].edges[j] == i) fprintf(stderr, "kind %d slot %d\n", m->nodes[k].kind, j);
            }
            CHECK(n->link == (void *)GC_HIDE_POINTER(object));
            CHECK(GC_base((char *)object + 17) == object && GC_size(object) >= 11 * sizeof(GC_word));
            CHECK(object[0] == (GC_word)n->number && object[last(n->kind)] == 2 * (GC_word)n->number);
            for (int j = 0; j < pointers(n->kind); j++)
                CHECK(object[place(n->kind, j)] == word(n, n->edges[j] < 0 ? NULL : &m->nodes[n->edges[j]]));
        } else if (!n->link) {
            m->free[m->spare++] = i;
            m->died++;
        } else {
            late++;
        }
    }
    /* What a word on some stack seems to name stays, with what it leads to. */
    if (late > 100) fprintf(stderr, "%d of %d are late\n", late, late + alive);
    CHECK(late <= 100);
}
static void *run(void *argument) {
    int thread = (int)(intptr_t)argument;
    struct model *m = calloc(1, sizeof *m);
    m->random = 7 + thread;
    for (int i = 0; i < NODES; i++) m->free[m->spare++] = i;
    for (int i = 0; i < ROOTS; i++) m->roots[i] = -1;
    for (int i = 1; i <= STEPS; i++) {
        step(m, thread);
        if (i % CHECKS == 0) {
            collect();
            check(m);
        }
    }
    CHECK(m->died > NODES);
    /* The model stays: there are links in it. */
    for (int i = 0; i < ROOTS; i++) set_root(m, thread, i, -1);
    return NULL;
}
int main(void) {
    GC_INIT();
    unsigned number = GC_new_proc(procedure);
    kind_procedure = GC_new_kind(GC_new_free_list(), GC_MAKE_PROC(number, 5), 0, 1);
    kind_first = GC_new_kind(GC_new_free_list(), 4 * sizeof(GC_word), 0, 1);
    kind_own = GC_new_kind(GC_new_free_list(), sizeof(GC_word) | GC_DS_PER_OBJECT, 0, 1);
    GC_word three[1] = { 7 << 1 }, second[1] = { 2 };
    typed = GC_make_descriptor(three, WORDS - 1);
    element = GC_make_descriptor(second, 2);
    pthread_t threads[THREADS];
    for (intptr_t i = 0; i < THREADS; i++) CHECK(!GC_pthread_create(&threads[i], NULL, run, (void *)i));
    for (int i = 0; i < THREADS; i++) CHECK(!GC_pthread_join(threads[i], NULL));
    puts("ok");
    return 0;
}
