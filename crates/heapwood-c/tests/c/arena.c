/* Arenas: their values live while they are open, may refer to the heap and be referred to by it, and are freed with
 * them. The arguments are options: verify, signals, stress, precise; and "recycle", which is allowed for all arenas
 * here. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "check.h"
#include <heapwood.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct node {
    struct node *left, *right;
};

/* Of 24 bytes: arrays of it do not consist of multiples of 16. */
struct item {
    struct item *next;
    uintptr_t *number;
    uintptr_t check;
};

/* Longer than a mask of 64 words, and than one of 256. */
struct wide {
    void *slot[200];
};
struct long_one {
    struct item *first;
    uintptr_t words[400];
};

static hw_heap *heap;
static hw_mutator *m;
static hw_type node_type, item_type, number_type, wide_type, long_type, pages_type, traced_type, any_type;
static uint32_t flags;
static int stress, verify, precise;
static void *kept[4]; /* registered slots */

static uint64_t figure(uint64_t *live) {
    hw_stats stats = {.size = sizeof stats};
    CHECK(hw_stats_get(heap, &stats) == HW_OK && stats.barrier_violations == 0);
    if (live != NULL) *live = stats.live_objects;
    return stats.arena_bytes;
}

static hw_arena *open_arena(void) {
    hw_arena *arena = NULL;
    CHECK(hw_arena_new(m, flags, &arena) == HW_OK && arena != NULL && hw_arena_number(arena) != 0);
    CHECK(hw_arena_bytes(arena) == 0);
    return arena;
}

/* New values: filled plainly until the next allocation. */
static struct node *grow(hw_arena *arena, int depth) {
    struct node *left = NULL, *right = NULL;
    if (depth > 0) left = grow(arena, depth - 1), right = grow(arena, depth - 1);
    struct node *n = (struct node *)hw_arena_alloc(arena, node_type, 1);
    CHECK(n != NULL && n->left == NULL && n->right == NULL && (uintptr_t)n % 16 == 0);
    n->left = left;
    n->right = right;
    return n;
}

static uint64_t count(const struct node *n) { return n == NULL ? 0 : 1 + count(n->left) + count(n->right); }

static void garbage(void) {
    for (int i = 0; i < (stress ? 5 : 3000); i++) {
        uintptr_t *words = (uintptr_t *)hw_alloc_bytes(m, 16 + 16 * (size_t)(i % 50));
        CHECK(words != NULL);
        words[0] = words[1] = (uintptr_t)-1 / 3;
    }
}

static void collect(int young) {
    CHECK((young ? hw_collect_young(m) : hw_collect(m)) == HW_OK);
    garbage();
}

static uintptr_t *number(uintptr_t value) {
    uintptr_t *n = (uintptr_t *)hw_alloc(m, number_type);
    CHECK(n != NULL);
    n[0] = value;
    return n;
}

/* ------------------------------------------------------------------------------------------------------- tests -- */

static void trees_of_all_sizes(void) {
    for (int depth = 0; depth <= (stress ? 4 : 16); depth += 4) {
        hw_arena *arena = open_arena();
        struct node *tree = grow(arena, depth);
        CHECK(hw_arena_bytes(arena) >= count(tree) * sizeof *tree);
        CHECK(hw_arena_of(heap, tree) == hw_arena_number(arena));
        collect(depth % 8 == 0);
        CHECK(count(tree) == (UINT64_C(2) << depth) - 1);
        CHECK(hw_arena_free(arena) == HW_OK);
    }
}

/* Items of the arena refer to numbers of the heap and to each other. Collections of both kinds run in between, and
 * stores into old and new values go through the barrier. */
static void both_ways(void) {
    const uintptr_t items = stress ? 40 : 20000;
    hw_arena *arena = open_arena();
    struct item *list = NULL;
    for (uintptr_t i = 0; i < items; i++) {
        uintptr_t *n = number(i);
        kept[1] = n; /* the arena's allocation may collect */
        struct item *item = (struct item *)hw_arena_alloc(arena, item_type, 1);
        CHECK(item != NULL && item->next == NULL && item->number == NULL);
        item->next = list;
        item->number = n;
        item->check = ~i;
        list = item;
        kept[0] = i % 3 == 0 ? list : kept[0];
        if (i % (items / 5) == 7) collect(1);
        if (i % (items / 3) == 11) collect(0);
    }
    kept[0] = kept[1] = NULL;
    /* Half of the numbers become others. */
    uintptr_t i = items;
    for (struct item *at = list; at != NULL; at = at->next) {
        i--;
        CHECK(at->check == ~i && *at->number == i);
        if (i % 2 == 0) hw_write(m, at, &at->number, number(i + items));
        if (i % (items / 4) == 3) collect(i % 3 != 0);
    }
    collect(1);
    collect(0);
    i = items;
    for (struct item *at = list; at != NULL; at = at->next) {
        i--;
        CHECK(*at->number == (i % 2 == 0 ? i + items : i));
    }
    CHECK(i == 0);
    /* Objects lead into it: with hw_cas and hw_copy, too. */
    struct item *object = (struct item *)hw_alloc(m, item_type);
    kept[2] = object;
    CHECK(hw_cas(m, object, &object->next, NULL, list) && !hw_cas(m, object, &object->next, NULL, NULL));
    void **handle = hw_handle_new(m, list->next);
    CHECK(handle != NULL);
    collect(0);
    CHECK(object->next == list && list->check == ~(items - 1) && *handle == list->next);
    struct item *twins = (struct item *)hw_arena_alloc(arena, item_type, 2);
    void *both[2] = {list, number(5)};
    kept[1] = both[1];
    hw_copy(m, twins + 1, &twins[1].next, both, 2);
    kept[1] = NULL;
    collect(1);
    collect(0);
    CHECK(twins[1].next == list && *twins[1].number == 5 && twins[0].next == NULL);
    /* The arena is freed, and nothing may refer to it. */
    object->next = NULL;
    hw_write(m, object, &object->next, NULL);
    kept[2] = NULL;
    CHECK(hw_handle_free(m, handle) == HW_OK);
    CHECK(hw_arena_free(arena) == HW_OK);
    collect(0);
}

/* Arrays are C arrays, of whatever length, and the bits of one do not reach into the next. */
static void arrays(void) {
    const size_t lengths[] = {2, 3, 5, 64, 65, 66, stress ? 67 : 1000};
    enum { LENGTHS = sizeof lengths / sizeof *lengths };
    hw_arena *arena = open_arena();
    struct item *items[LENGTHS];
    struct wide *wides[LENGTHS];
    for (size_t k = 0; k < LENGTHS; k++) {
        items[k] = (struct item *)hw_arena_alloc(arena, item_type, lengths[k]);
        wides[k] = (struct wide *)hw_arena_alloc(arena, wide_type, lengths[k] % 70);
        CHECK(items[k] != NULL && wides[k] != NULL);
        CHECK((uintptr_t)items[k] % 16 == 0 && (uintptr_t)wides[k] % 16 == 0);
        for (size_t i = 0; i < lengths[k]; i++) {
            CHECK(items[k][i].next == NULL && items[k][i].number == NULL && items[k][i].check == 0);
            items[k][i].check = (uintptr_t)-16; /* no pointer, though it would be one if the mask lay elsewhere */
            hw_write(m, &items[k][i], &items[k][i].number, number(i));
        }
        hw_write(m, wides[k], &wides[k]->slot[199], items[k]);
        hw_write(m, wides[k], &wides[k]->slot[100], number(k));
    }
    for (int round = 0; round < 3; round++) {
        collect(round == 1);
        for (size_t k = 0; k < LENGTHS; k++) {
            for (size_t i = 0; i < lengths[k]; i++) CHECK(*items[k][i].number == i && items[k][i].check == (uintptr_t)-16);
            CHECK(wides[k]->slot[199] == items[k] && *(uintptr_t *)wides[k]->slot[100] == k);
        }
    }
    CHECK(hw_arena_alloc(arena, item_type, 0) != NULL && hw_arena_alloc_bytes(arena, 0) != NULL);
    CHECK(hw_arena_free(arena) == HW_OK);
}

/* Types take turns, so that hardly any run has two values; and bytes come between. */
static void many_types(void) {
    const size_t rounds = stress ? 12 : 3000;
    hw_arena *arena = open_arena();
    struct item *list = NULL;
    struct node *nodes = NULL;
    for (size_t i = 0; i < rounds; i++) {
        size_t length = 1 + i % 60;
        char *text = (char *)hw_arena_alloc_bytes(arena, length);
        uintptr_t *word = (uintptr_t *)hw_arena_alloc(arena, number_type, 1);
        CHECK(text != NULL && word != NULL && (uintptr_t)text % 16 == 0 && (uintptr_t)word % 16 == 0);
        memset(text, (int)(i % 256), length);
        word[0] = i;
        struct node *n = (struct node *)hw_arena_alloc(arena, node_type, 1 + i % 3);
        CHECK(n != NULL && n->left == NULL && n->right == NULL);
        n->left = nodes;
        n->right = (struct node *)(void *)text;
        nodes = n;
        struct item *item = (struct item *)hw_arena_alloc(arena, item_type, 1 + i % 2);
        CHECK(item != NULL && item->next == NULL);
        item->next = list;
        item->number = word;
        list = item;
        if (i % (rounds / 4) == 5) collect(i % 2 == 0);
    }
    collect(0);
    for (size_t i = rounds; i-- > 0; list = list->next, nodes = nodes->left) {
        CHECK(*list->number == i);
        const unsigned char *text = (const unsigned char *)(const void *)nodes->right;
        for (size_t k = 0; k < 1 + i % 60; k++) CHECK(text[k] == i % 256);
    }
    CHECK(list == NULL && nodes == NULL);
    CHECK(hw_arena_free(arena) == HW_OK);
}

static void trace_pair(void *object, size_t size, hw_tracer *tracer) {
    struct node *n = (struct node *)object;
    CHECK(size >= sizeof *n);
    hw_visit(tracer, &n->left);
    hw_visit(tracer, &n->right);
}

/* A value that no arena can hold lives in the heap, only as long as the arena keeps it. */
static void passed(void) {
    uint64_t before, after;
    hw_arena *arena = open_arena();
    CHECK(hw_collect(m) == HW_OK);
    figure(&before);
    for (int round = 0; round < 2; round++) {
        struct long_one *one = (struct long_one *)hw_arena_alloc(arena, long_type, 1);
        kept[0] = one;
        void **pages = (void **)hw_arena_alloc(arena, pages_type, 1);
        kept[1] = pages;
        struct node *traced = (struct node *)hw_arena_alloc(arena, traced_type, 1);
        kept[2] = traced;
        void **any = (void **)hw_arena_alloc(arena, any_type, 3);
        kept[3] = any;
        CHECK(one != NULL && pages != NULL && traced != NULL && any != NULL);
        CHECK(hw_arena_of(heap, one) == 0 && hw_base(m, one, NULL) == one && traced->left == NULL);
        hw_write(m, one, &one->first, hw_arena_alloc(arena, item_type, 1));
        hw_write(m, pages, &pages[0], one);
        hw_write(m, traced, &traced->right, number(77));
        hw_write(m, any, &any[5], number(78));
        struct node *array = (struct node *)hw_arena_alloc(arena, node_type, 100000);
        CHECK(array != NULL && array[99999].right == NULL);
        char *long_text = (char *)hw_arena_alloc_bytes(arena, 1 << 20);
        CHECK(long_text != NULL);
        memset(long_text, 1, 1 << 20);
        struct item *holds = (struct item *)hw_arena_alloc(arena, item_type, 1);
        hw_write(m, holds, &holds->next, array);
        memset(kept, 0, sizeof kept);
        collect(1);
        collect(0);
        CHECK(one->first->check == 0 && pages[0] == one);
        CHECK(*(uintptr_t *)traced->right == 77 && *(uintptr_t *)any[5] == 78 && long_text[(1 << 20) - 1] == 1);
        CHECK(hw_arena_alloc(arena, traced_type, 2) == NULL && hw_last_error(m)->status == HW_EDESC);
        CHECK(hw_arena_alloc(arena, item_type, SIZE_MAX / 8) == NULL && hw_last_error(m)->status == HW_ELIMIT);
        CHECK(hw_arena_alloc_bytes(arena, SIZE_MAX) == NULL && hw_last_error(m)->status == HW_ELIMIT);
        CHECK(hw_arena_reset(arena) == HW_OK);
    }
    CHECK(hw_arena_free(arena) == HW_OK);
    CHECK(hw_collect(m) == HW_OK);
    figure(&after);
    /* Stacks may keep some. */
    if (precise) CHECK(after <= before);
}

/* A reset arena has zeroed memory again, and in time no more than before. */
static void reset(void) {
    hw_arena *arena = open_arena();
    size_t most = 0;
    for (int round = 0; round < 20; round++) {
        struct node *tree = grow(arena, stress ? 3 : 12);
        char *text = (char *)hw_arena_alloc_bytes(arena, 5000);
        CHECK(text != NULL);
        memset(text, -1, 5000);
        if (round % 5 == 2) collect(round % 2);
        CHECK(count(tree) == (stress ? 15 : 8191));
        if (round == 3) most = hw_arena_bytes(arena);
        /* A cached chunk may be taken where a smaller one would be enough. */
        CHECK(round < 4 || hw_arena_bytes(arena) <= most + (4 << 20));
        CHECK(hw_arena_reset(arena) == HW_OK && hw_arena_bytes(arena) == 0);
    }
    CHECK(hw_arena_free(arena) == HW_OK);
}

/* Not inlined, so that its words are gone with it. */
__attribute__((noinline)) static void leave_one(void) {
    hw_arena *arena = open_arena();
    uint64_t number_of = hw_arena_number(arena);
    struct node *tree = grow(arena, 3);
    kept[0] = tree->left;
    CHECK(hw_arena_leave(arena) == HW_OK);
    CHECK(hw_arena_leave(arena) == HW_EINVAL && hw_arena_free(arena) == HW_EINVAL && hw_arena_reset(arena) == HW_EINVAL);
    CHECK(hw_arena_alloc(arena, node_type, 1) == NULL && strstr(hw_last_error(m)->text, "left to the collector") != NULL);
    CHECK(hw_arena_of(heap, tree) == number_of);
}

static void left(void) {
    leave_one();
    for (int i = 0; i < 3; i++) collect(i == 1);
    CHECK(count((struct node *)kept[0]) == 7 && figure(NULL) > 0);
    kept[0] = NULL;
    if (!precise) return;
    CHECK(hw_collect(m) == HW_OK && hw_collect(m) == HW_OK);
    CHECK(figure(NULL) == 0);
}

static void queries_and_refusals(void) {
    hw_arena *arena = NULL;
    CHECK(hw_arena_new(NULL, 0, &arena) == HW_EINVAL && hw_arena_new(m, 0, NULL) == HW_EINVAL);
    CHECK(hw_arena_new(m, 2, &arena) == HW_EINVAL && strstr(hw_last_error(m)->text, "flags is 0x2") != NULL);
    CHECK(arena == NULL && hw_arena_free(NULL) == HW_OK && hw_arena_bytes(NULL) == 0 && hw_arena_number(NULL) == 0);
    CHECK(hw_arena_reset(NULL) == HW_EINVAL && strstr(hw_last_error(m)->text, "arena is NULL") != NULL);
    CHECK(hw_arena_leave(NULL) == HW_EINVAL);
    arena = open_arena();
    CHECK(hw_arena_alloc(arena, 0, 1) == NULL && strstr(hw_last_error(m)->text, "not the number of a type") != NULL);
    struct node *n = (struct node *)hw_arena_alloc(arena, node_type, 1);
    CHECK(hw_arena_alloc(arena, node_type + 1, 1) == NULL && hw_last_error(m)->status == HW_EINVAL);
    size_t size = 7;
    CHECK(n != NULL && hw_base(m, n, &size) == NULL && size == 7);
    CHECK(hw_free(m, n) == HW_EINVAL && strstr(hw_last_error(m)->text, "lies in arena") != NULL);
    CHECK(hw_arena_of(heap, n + 1) == hw_arena_number(arena) && hw_arena_of(heap, arena) == 0);
    CHECK(hw_arena_of(heap, NULL) == 0 && hw_arena_of(NULL, n) == 0);
    CHECK(hw_arena_free(arena) == HW_OK && hw_arena_of(heap, n) == 0);
}

/* Threads have arenas of their own, and use each other's values. */
static void *with_its_own(void *out) {
    hw_mutator *mine;
    hw_arena *arena;
    CHECK(hw_attach(heap, NULL, &mine, NULL) == HW_OK && hw_arena_new(mine, 0, &arena) == HW_OK);
    struct item *list = NULL;
    for (uintptr_t i = 0; i < (stress ? 20 : 5000); i++) {
        struct item *item = (struct item *)hw_arena_alloc(arena, item_type, 1);
        item->next = list;
        item->check = i;
        list = item;
    }
    *(struct item **)out = list;
    CHECK(hw_arena_leave(arena) == HW_OK && hw_detach(mine) == HW_OK);
    return NULL;
}

static void join(void *thread) { pthread_join(*(pthread_t *)thread, NULL); }

static void threads(void) {
    pthread_t thread[3];
    for (int i = 0; i < 3; i++) CHECK(pthread_create(&thread[i], NULL, with_its_own, &kept[i]) == 0);
    for (int i = 0; i < 3; i++) CHECK(hw_call_blocking(m, join, &thread[i]) == HW_OK);
    for (int round = 0; round < 2; round++) {
        collect(round);
        for (int i = 0; i < 3; i++) {
            uintptr_t k = stress ? 20 : 5000;
            for (struct item *at = (struct item *)kept[i]; at != NULL; at = at->next) CHECK(at->check == --k);
            CHECK(k == 0);
        }
    }
    memset(kept, 0, sizeof kept);
}

static pthread_barrier_t forks;

static void wait_for_fork(void *unused) {
    (void)unused;
    pthread_barrier_wait(&forks);
}

/* Has an arena open while another thread forks. */
static void *holds_one(void *out) {
    hw_mutator *mine;
    hw_arena *arena;
    CHECK(hw_attach(heap, NULL, &mine, NULL) == HW_OK && hw_arena_new(mine, 0, &arena) == HW_OK);
    *(struct node **)out = grow(arena, 6);
    for (int i = 0; i < 2; i++) CHECK(hw_call_blocking(mine, wait_for_fork, NULL) == HW_OK);
    CHECK(hw_arena_free(arena) == HW_OK && hw_detach(mine) == HW_OK);
    return NULL;
}

/* A child keeps its thread's arenas. The collector owns those of other threads there. */
static void children(void) {
    pthread_t thread;
    hw_arena *arena = open_arena();
    struct node *tree = grow(arena, 4);
    CHECK(pthread_barrier_init(&forks, NULL, 2) == 0);
    CHECK(pthread_create(&thread, NULL, holds_one, &kept[0]) == 0);
    CHECK(hw_call_blocking(m, wait_for_fork, NULL) == HW_OK);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        alarm(60);
        struct node *more = grow(arena, 5);
        collect(0);
        collect(1);
        CHECK(count((struct node *)kept[0]) == 127);
        kept[0] = NULL;
        collect(0);
        CHECK(count(tree) == 31 && count(more) == 63);
        CHECK(hw_arena_reset(arena) == HW_OK && count(grow(arena, 3)) == 15);
        CHECK(hw_arena_free(arena) == HW_OK && hw_collect(m) == HW_OK);
        CHECK(hw_detach(m) == HW_OK && hw_heap_destroy(heap, NULL) == HW_OK);
        _exit(0);
    }
    int status;
    CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    collect(0);
    CHECK(count(tree) == 31 && count((struct node *)kept[0]) == 127);
    kept[0] = NULL;
    CHECK(hw_call_blocking(m, wait_for_fork, NULL) == HW_OK && hw_call_blocking(m, join, &thread) == HW_OK);
    CHECK(hw_arena_free(arena) == HW_OK && pthread_barrier_destroy(&forks) == 0);
}

int main(int argc, char **argv) {
    hw_options options;
    hw_options_init(&options);
    for (int i = 1; i < argc; i++) {
        verify |= strcmp(argv[i], "verify") == 0;
        stress |= strcmp(argv[i], "stress") == 0;
        precise |= strcmp(argv[i], "precise") == 0;
        if (strcmp(argv[i], "signals") == 0) options.stop = HW_STOP_SIGNALS;
        if (strcmp(argv[i], "recycle") == 0) flags = HW_ARENA_RECYCLE;
    }
    options.verify = (uint32_t)verify;
    options.stress = (uint32_t)stress;
    options.conservative_stacks = !precise;
    options.min_heap = 1 << 20;
    CHECK(hw_heap_create(&options, &heap, NULL) == HW_OK && hw_attach(heap, NULL, &m, NULL) == HW_OK);
    uint64_t pair = 3, wide[4] = {1, UINT64_C(1) << 36, 0, 1 << 7};
    CHECK(hw_type_mask(heap, sizeof(struct node), &pair, 1, &node_type, NULL) == HW_OK);
    CHECK(hw_type_mask(heap, sizeof(struct item), &pair, 1, &item_type, NULL) == HW_OK);
    CHECK(hw_type_no_pointers(heap, 16, &number_type, NULL) == HW_OK);
    CHECK(hw_type_mask(heap, sizeof(struct wide), wide, 4, &wide_type, NULL) == HW_OK);
    CHECK(hw_type_mask(heap, sizeof(struct long_one), &pair, 1, &long_type, NULL) == HW_OK);
    CHECK(hw_type_describe(heap, "[1024]{ptr word}", NULL, &pages_type, NULL) == HW_OK);
    CHECK(hw_type_trace(heap, sizeof(struct node), trace_pair, &traced_type, NULL) == HW_OK);
    CHECK(hw_type_conservative(heap, 32, &any_type, NULL) == HW_OK);
    CHECK(hw_root_slots(heap, kept, 4, NULL) != 0);
    trees_of_all_sizes();
    both_ways();
    arrays();
    many_types();
    passed();
    reset();
    left();
    queries_and_refusals();
    threads();
    children();

    CHECK(hw_detach(m) == HW_OK && hw_heap_destroy(heap, NULL) == HW_OK);
    puts("arenas hold what they were given");
    return 0;
}
