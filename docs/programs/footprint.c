/* Small programs whose counts the documents quote: what a heap has resident, and what it does with the memory of arenas. Each
   prints one JSON object: the most and the last resident memory and the minor faults as the kernel says, and statistics of the
   heap. docs/results/check-counts builds and runs it; docs/results/counts.toml says what came.

       cc -O2 -Icrates/heapwood-c/include -o footprint docs/programs/footprint.c target/release/libheapwood.a -lpthread -ldl -lm
       ./footprint garbage MIB            20 KB stay alive, MIB of objects of 32 bytes die
       ./footprint leave ROUNDS MIB       arenas of MIB full of pairs, left to the collector
       ./footprint free ROUNDS MIB        the same, freed without the promise that nothing points into them
       ./footprint heaps N                a thread that is attached to N heaps, with 100 pairs in each */
#include <heapwood.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

struct pair {
    struct pair *left, *right;
};

struct node {
    struct node *next;
    uint64_t rest[3];
};

static void fail(const char *what) {
    fprintf(stderr, "footprint: %s failed\n", what);
    exit(1);
}

static hw_heap *new_heap(hw_mutator **m) {
    hw_heap *heap;
    if (hw_heap_create(NULL, &heap, NULL) != HW_OK) fail("hw_heap_create");
    if (hw_attach(heap, NULL, m, NULL) != HW_OK) fail("hw_attach");
    return heap;
}

/* A type whose words that `mask` has are pointers. */
static hw_type new_type(hw_heap *heap, size_t size, uint64_t mask) {
    hw_type type;
    if (hw_type_mask(heap, size, &mask, 1, &type, NULL) != HW_OK) fail("hw_type_mask");
    return type;
}

static hw_stats stats(hw_heap *heap) {
    hw_stats stats = {.size = sizeof stats};
    if (hw_stats_get(heap, &stats) != HW_OK) fail("hw_stats_get");
    return stats;
}

/* The process's resident KiB now. */
static long resident_kib(void) {
    long pages[2];
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%ld %ld", &pages[0], &pages[1]) != 2) fail("reading /proc/self/statm");
    fclose(file);
    return pages[1] * 4;
}

static void print(hw_heap *heap) {
    hw_stats s = stats(heap);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("{\"max_rss_kib\":%ld,\"rss_kib\":%ld,\"minor_faults\":%ld,\"collections\":%" PRIu64 ",\"live_bytes\":%" PRIu64
           ",\"backed_bytes\":%" PRIu64 "}\n",
           usage.ru_maxrss, resident_kib(), usage.ru_minflt, s.collections, s.live_bytes, s.backed_bytes);
}

static struct node *list(hw_mutator *m, hw_type type, uint64_t bytes) {
    struct node *first = NULL;
    for (uint64_t made = 0; made < bytes; made += sizeof(struct node)) {
        struct node *node = hw_alloc(m, type);
        if (node == NULL) fail("hw_alloc");
        node->next = first;
        first = node;
    }
    return first;
}

static void garbage(uint64_t mib) {
    hw_mutator *m;
    hw_heap *heap = new_heap(&m);
    hw_type type = new_type(heap, sizeof(struct node), 1);
    struct node *volatile kept = list(m, type, 20 << 10);
    for (uint64_t made = 0; made < mib << 20; made += sizeof(struct node))
        if (hw_alloc(m, type) == NULL) fail("hw_alloc");
    (void)kept;
    print(heap);
}

/* Apart, so that nothing on the caller's stack leads into the arena afterwards. */
__attribute__((noinline)) static hw_arena *full_arena(hw_mutator *m, hw_type type, uint64_t mib) {
    hw_arena *arena;
    struct pair *last = NULL;
    if (hw_arena_new(m, 0, &arena) != HW_OK) fail("hw_arena_new");
    for (uint64_t i = 0; i < (mib << 20) / sizeof(struct pair); i++) {
        struct pair *pair = hw_arena_alloc(arena, type, 1);
        if (pair == NULL) fail("hw_arena_alloc");
        pair->left = last;
        last = pair;
    }
    return arena;
}

/* Overwrites what earlier calls have left below on the stack, so that none of it keeps an arena: whether any would is chance. */
__attribute__((noinline)) static void overwrite_stack(void) {
    volatile char words[8192];
    memset((char *)words, 0, sizeof words);
    __asm__ volatile("" : : "r"(words) : "memory");
}

static void arenas(int leave, uint64_t rounds, uint64_t mib) {
    hw_mutator *m;
    hw_heap *heap = new_heap(&m);
    hw_type type = new_type(heap, sizeof(struct pair), 3);
    for (uint64_t i = 0; i < rounds; i++) {
        hw_arena *arena = full_arena(m, type, mib);
        if ((leave ? hw_arena_leave(arena) : hw_arena_free(arena)) != HW_OK) fail("closing an arena");
        overwrite_stack();
    }
    print(heap);
}

static void heaps(uint64_t n) {
    hw_heap *heap = NULL;
    for (uint64_t i = 0; i < n; i++) {
        hw_mutator *m;
        heap = new_heap(&m);
        hw_type type = new_type(heap, sizeof(struct pair), 3);
        for (int made = 0; made < 100; made++)
            if (hw_alloc(m, type) == NULL) fail("hw_alloc");
    }
    print(heap);
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 10) : 0, second = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
    if (argc == 3 && strcmp(what, "garbage") == 0) garbage(first);
    else if (argc == 4 && strcmp(what, "leave") == 0) arenas(1, first, second);
    else if (argc == 4 && strcmp(what, "free") == 0) arenas(0, first, second);
    else if (argc == 3 && strcmp(what, "heaps") == 0) heaps(first);
    else {
        fprintf(stderr, "usage: footprint garbage MIB | leave ROUNDS MIB | free ROUNDS MIB | heaps N\n");
        return 2;
    }
    return 0;
}
