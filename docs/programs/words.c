/* What it takes to mark objects without a layout, each word of which may be a pointer; the documents quote it. Builds a graph that
   stays alive, and prints the milliseconds of CPU time of a full collection: the median of the rounds, and that of the first, which
   meets objects that no collection has seen. One marking thread, no young collections.

       cc -O2 -Icrates/heapwood-c/include -o words docs/programs/words.c target/release/libheapwood.a -lpthread -ldl -lm
       cc -O2 -DLIBGC -o words-libgc docs/programs/words.c -lgc
       ./words GRAPH N [ROUNDS]; GC_MARKERS=1 ./words-libgc GRAPH N [ROUNDS]

   GRAPH: tree (N levels of nodes of two words), list (of N pairs, in order), shuffled (the same, in no order), table (a hash table of N
   entries of four words, with keys without pointers and values of two words), tagged (N objects of 2 to 8 words, whose words
   are numbers, or pointers to any byte of an object's first word). */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_ROUNDS = 99, SMALL = 8 };
#define FIRST_HEAP (512ul << 20) /* so that nothing is collected before the first round */

static void *volatile root;

#ifdef LIBGC
#include <gc.h>

static void begin(void) {
    GC_init();
    GC_expand_hp(FIRST_HEAP);
}
static void *words(size_t n) { return GC_malloc(n * sizeof(uintptr_t)); }
static void *data(size_t bytes) { return GC_malloc_atomic(bytes); }
static void collect(void) { GC_gcollect(); }
#else
#include <heapwood.h>

static hw_heap *heap;
static hw_mutator *m;
static hw_type of_words[SMALL + 1], bytes24;

static void check(hw_status status, const hw_error *why) {
    if (status == HW_OK) return;
    fprintf(stderr, "words: %s\n", why->text);
    exit(1);
}

static void begin(void) {
    hw_error why;
    hw_options options;
    hw_options_init(&options);
    options.generational = 0;
    options.concurrent = 0;
    options.mark_threads = 1;
    options.min_heap = FIRST_HEAP;
    check(hw_options_env(&options, &why), &why);
    check(hw_heap_create(&options, &heap, &why), &why);
    check(hw_attach(heap, NULL, &m, &why), &why);
    for (size_t n = 2; n <= SMALL; n++) check(hw_type_conservative(heap, n * 8, &of_words[n], &why), &why);
    check(hw_type_no_pointers(heap, 24, &bytes24, &why), &why);
    if (hw_root_range(heap, (void *)&root, (void *)(&root + 1), &why) == 0) check(HW_EINVAL, &why);
}
static void *words(size_t n) {
    hw_type type;
    hw_error why;
    if (n <= SMALL) return hw_alloc(m, of_words[n]);
    check(hw_type_conservative(heap, n * 8, &type, &why), &why);
    return hw_alloc(m, type);
}
static void *data(size_t bytes) { return bytes == 24 ? hw_alloc(m, bytes24) : NULL; }
static void collect(void) { check(hw_collect(m), hw_last_error(m)); }
#endif

static double cpu_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
}

static uint64_t random_word(void) {
    static uint64_t state = 88172645463325252u;
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state;
}

static uintptr_t *tree(int depth) {
    uintptr_t *node = words(2);
    if (depth > 1) node[0] = (uintptr_t)tree(depth - 1), node[1] = (uintptr_t)tree(depth - 1);
    return node;
}

/* Numbers are odd: no pointers. */
static uintptr_t *list(size_t n, int shuffled) {
    uintptr_t **pairs = words(n), *first = NULL;
    root = pairs;
    for (size_t i = 0; i < n; i++) pairs[i] = words(2);
    for (size_t i = n - 1; shuffled && i > 0; i--) {
        size_t other = random_word() % (i + 1);
        uintptr_t *pair = pairs[i];
        pairs[i] = pairs[other], pairs[other] = pair;
    }
    for (size_t i = 0; i < n; i++) {
        pairs[i][0] = 2 * i + 1, pairs[i][1] = (uintptr_t)first;
        first = pairs[i];
    }
    memset(pairs, 0, n * sizeof *pairs); /* stray words may keep the array */
    return first;
}

static uintptr_t *table(size_t n) {
    uintptr_t *buckets = words(n);
    root = buckets;
    for (size_t i = 0; i < n; i++) {
        uintptr_t *entry = words(4);
        entry[0] = random_word() >> 20;
        entry[1] = (uintptr_t)data(24);
        entry[2] = (uintptr_t)words(2);
        size_t at = random_word() % n;
        entry[3] = buckets[at];
        buckets[at] = (uintptr_t)entry;
    }
    return buckets;
}

static uintptr_t *tagged(size_t n) {
    uintptr_t *all = words(n);
    root = all;
    for (size_t i = 0; i < n; i++) {
        size_t size = 2 + random_word() % 7;
        uintptr_t *object = words(size);
        for (size_t word = 1; word < size; word++) {
            uint64_t random = random_word();
            object[word] = i > 0 && random % 2 ? all[(random >> 8) % i] + random / 2 % 8 : random >> 40;
        }
        all[i] = (uintptr_t)object;
    }
    return all;
}

static int by_value(const void *a, const void *b) {
    double one = *(const double *)a, other = *(const double *)b;
    return (one > other) - (one < other);
}

int main(int argc, char **argv) {
    long n = argc > 2 ? atol(argv[2]) : 0, rounds = argc > 3 ? atol(argv[3]) : 9;
    const char *graph = argc > 1 ? argv[1] : "";
    int is_tree = strcmp(graph, "tree") == 0, is_list = strcmp(graph, "list") == 0;
    int is_shuffled = strcmp(graph, "shuffled") == 0, is_table = strcmp(graph, "table") == 0;
    if (n < 1 || (is_tree && n > 30) || rounds < 1 || rounds > MOST_ROUNDS ||
        !(is_tree || is_list || is_shuffled || is_table || strcmp(graph, "tagged") == 0)) {
        fprintf(stderr, "usage: words tree|list|shuffled|table|tagged N [ROUNDS]\n");
        return 2;
    }
    begin();
    root = is_tree ? tree((int)n) : is_table ? table(n) : is_list || is_shuffled ? list(n, is_shuffled) : tagged(n);
    double first = 0, ms[MOST_ROUNDS];
    for (long round = -1; round < rounds; round++) {
        double began = cpu_ms();
        collect();
        *(round < 0 ? &first : &ms[round]) = cpu_ms() - began;
    }
    size_t length = 0;
    if (is_list || is_shuffled)
        for (uintptr_t *at = root; at != NULL; at = (uintptr_t *)at[1]) length++;
    if ((is_list || is_shuffled) && length != (size_t)n) {
        fprintf(stderr, "words: of %ld pairs %zu are left\n", n, length);
        return 1;
    }
    qsort(ms, rounds, sizeof *ms, by_value);
    printf("%s %ld: first %.2f ms, later %.2f ms\n", graph, n, first, ms[rounds / 2]);
    return 0;
}
