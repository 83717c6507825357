/* Binary trees in arenas written by hand: pieces of 2 MiB, each a huge page where
   the kernel gives one, which are used again without being cleared. It is the
   least that arenas can cost. With --small-pages the kernel is told to give none,
   which shows what the huge pages gain. */
#define _GNU_SOURCE
#include "../node.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#define PIECE_BYTES ((size_t)2 << 20)

/* Pieces lie in one reservation, beside each other, so that each has a number;
   what is known of a piece stands in a table of its own, for a piece is to be
   full of nodes. */
typedef uint32_t piece;
enum { NO_PIECE = UINT32_MAX };

static char *reservation;
static piece *next_in_list; /* for every piece, the one behind it */
static size_t piece_count;
static atomic_size_t fresh; /* so many pieces have been taken for the first time */
static bool small_pages;

struct list {
    piece first, last;
};

static const struct list EMPTY = {NO_PIECE, NO_PIECE};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct list shared_spare = {NO_PIECE, NO_PIECE}; /* of threads that have ended */
static _Thread_local struct list spare = {NO_PIECE, NO_PIECE};

struct arena {
    char *free, *end; /* what is left of the newest piece */
    struct list pieces;
};

static void put_first(struct list *list, struct list more) {
    if (more.first == NO_PIECE) return;
    next_in_list[more.last] = list->first;
    if (list->first == NO_PIECE) list->last = more.last;
    list->first = more.first;
}

static bool take_first(struct list *list, piece *taken) {
    *taken = list->first;
    if (list->first == NO_PIECE) return false;
    list->first = next_in_list[list->first];
    return true;
}

static piece take_piece(void) {
    piece taken;
    if (take_first(&spare, &taken)) return taken;
    pthread_mutex_lock(&lock);
    bool found = take_first(&shared_spare, &taken);
    pthread_mutex_unlock(&lock);
    if (found) return taken;
    size_t number = atomic_fetch_add(&fresh, 1);
    if (number >= piece_count) check_memory(NULL);
    /* The whole of it, at once, if it is a huge page. */
    *(volatile char *)(reservation + number * PIECE_BYTES) = 0;
    return (piece)number;
}

__attribute__((noinline)) static void arena_grow(struct arena *arena) {
    piece taken = take_piece();
    put_first(&arena->pieces, (struct list){taken, taken});
    arena->free = reservation + taken * PIECE_BYTES;
    arena->end = arena->free + PIECE_BYTES;
}

static void begin_arena(struct arena *arena) {
    arena->pieces = EMPTY;
}

static inline struct node *new_node(struct arena *arena, struct node *left, struct node *right) {
    if (__builtin_expect(arena->free == arena->end, 0)) arena_grow(arena);
    struct node *node = (struct node *)arena->free;
    arena->free += sizeof *node;
    *node = (struct node){.left = left, .right = right};
    return node;
}

static void free_arena(struct arena *arena) {
    put_first(&spare, arena->pieces);
}

static void begin_thread(void) {}

static void end_thread(void) {
    pthread_mutex_lock(&lock);
    put_first(&shared_spare, spare);
    pthread_mutex_unlock(&lock);
}

/* As much as the machine has memory: nothing of it is taken before it is touched. */
static void reserve(void) {
    size_t bytes = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
    piece_count = bytes / PIECE_BYTES;
    char *start = mmap(NULL, (piece_count + 1) * PIECE_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED) check_memory(NULL);
    reservation = start + -(uintptr_t)start % PIECE_BYTES;
    /* A kernel without huge pages refuses, and it works all the same. */
    madvise(reservation, piece_count * PIECE_BYTES, small_pages ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
    next_in_list = check_memory(malloc(piece_count * sizeof *next_in_list));
}

/* Nothing is under it but what the compiler makes of it. */
#ifdef __clang__
#define VERSION "clang " __clang_version__
#else
#define VERSION "gcc " __VERSION__
#endif

#include "../trees-arena.h"

int main(int argc, char **argv) {
    answer_version(argc, argv, VERSION);
    small_pages = take_flag(&argc, argv, "--small-pages");
    reserve();
    return run_trees_arena(argc, argv);
}
