/* What the trees-arena peers in C share: binary trees in arenas that are freed
   as a whole, apart from what an arena is, which a peer says before it includes
   this: struct arena and new_node (node.h), and the four functions
   that are declared below.
   `--threads` shares the lines out among so many threads, unlike elsewhere. */
#ifndef PEERS_TREES_ARENA_H
#define PEERS_TREES_ARENA_H

#include "node.h"
#include "threads.h"

#include <stdatomic.h>

enum { MIN_DEPTH = 4, DEFAULT_DEPTH = 21, DEPTH_LIMIT = 40 };

/* An arena is full when it holds so many bytes. */
#define ARENA_BYTES (UINT64_C(1) << 20)

/* A thread that builds trees begins and ends so; the one that main is, too. */
static void begin_thread(void);
static void end_thread(void);

static void begin_arena(struct arena *arena);
static void free_arena(struct arena *arena);

struct line {
    int depth;
    uint64_t trees, arenas, nodes;
};

static struct line lines[DEPTH_LIMIT / 2];
static unsigned line_count;
static atomic_uint next_line;

/* Builds the trees of a line, each counted as soon as it is built. */
static void fill_line(struct line *line) {
    uint64_t left = line->trees;
    while (left > 0) {
        struct arena arena = {};
        begin_arena(&arena);
        uint64_t nodes = 0;
        for (; left > 0 && nodes * sizeof(struct node) < ARENA_BYTES; left--) {
            nodes += count(bottom_up(&arena, line->depth));
        }
        line->nodes += nodes;
        line->arenas++;
        free_arena(&arena);
    }
}

static void fill_lines(void) {
    for (unsigned i; (i = atomic_fetch_add(&next_line, 1)) < line_count;) fill_line(&lines[i]);
}

static void *fill_lines_on_thread(void *arg) {
    begin_thread();
    fill_lines();
    end_thread();
    return arg;
}

/* The thread that main is is one of them. No more than there are lines are of use. */
static void fill_lines_on(unsigned threads) {
    pthread_t started[DEPTH_LIMIT / 2];
    if (threads > line_count) threads = line_count;
    for (unsigned t = 1; t < threads; t++) {
        int error = pthread_create(&started[t], NULL, fill_lines_on_thread, NULL);
        if (error != 0) {
            fprintf(stderr, "thread %u of %u cannot be started: %s\n", t + 1, threads,
                    strerror(error));
            exit(1);
        }
    }
    fill_lines();
    for (unsigned t = 1; t < threads; t++) pthread_join(started[t], NULL);
}

static void print_sizes(uint64_t arenas, uint64_t nodes) {
    printf("arenas %" PRIu64 " nodes %" PRIu64 " MB %.1f\n", arenas, nodes,
           (double)(nodes * sizeof(struct node)) / (1 << 20));
}

/* The rest of main. */
static int run_trees_arena(int argc, char **argv) {
    unsigned threads = take_threads(&argc, argv, 1);
    uint64_t n = take_number(argc, argv, DEFAULT_DEPTH, DEPTH_LIMIT);
    int max = n < MIN_DEPTH + 2 ? MIN_DEPTH + 2 : (int)n;

    begin_thread();
    struct arena arena = {};
    begin_arena(&arena);
    uint64_t stretch = count(bottom_up(&arena, max + 1));
    free_arena(&arena);

    arena = (struct arena){};
    begin_arena(&arena);
    struct node *long_lived = bottom_up(&arena, max);

    for (int depth = MIN_DEPTH; depth <= max; depth += 2) {
        lines[line_count++] =
            (struct line){.depth = depth, .trees = UINT64_C(1) << (max - depth + MIN_DEPTH)};
    }
    fill_lines_on(threads);

    printf("stretch tree of depth %d ", max + 1);
    print_sizes(1, stretch);
    for (unsigned i = 0; i < line_count; i++) {
        printf("%" PRIu64 " trees of depth %d ", lines[i].trees, lines[i].depth);
        print_sizes(lines[i].arenas, lines[i].nodes);
    }
    printf("long lived tree of depth %d ", max);
    print_sizes(1, count(long_lived));
    free_arena(&arena);
    end_thread();
    return 0;
}

#endif
