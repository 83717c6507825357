/* Graph with libgc: nodes with four edges each, rewired at random. Nearly all it
   does is to write pointers into objects that have long been there. It compares
   throughput and the longest stall; what is replaced may still be reached, and
   only a trace can tell, so that no peer frees it by hand. */
#include "start.h"

#include "../gaps.h"

enum { EDGES = 4, ROUNDS = 10 };
#define DEFAULT_NODES 1000000
#define MAX_NODES (UINT64_C(1) << 31)

struct node {
    struct node *edges[EDGES];
    uint64_t id;
};

static struct node *new_node(uint64_t id) {
    struct node *node = check_memory(GC_MALLOC(sizeof *node));
    node->id = id;
    return node;
}

static inline struct node **pick(struct node **table, uint64_t nodes, uint64_t r) {
    return table + (r & 0xffffffff) % nodes;
}

static struct node **build(uint64_t nodes, uint64_t *rng) {
    /* What libgc's manual advises for large arrays. */
    struct node **table = check_memory(GC_MALLOC_IGNORE_OFF_PAGE(nodes * sizeof *table));
    for (uint64_t i = 0; i < nodes; i++) table[i] = new_node(i);
    for (uint64_t i = 0; i < nodes; i++) {
        for (int k = 0; k < EDGES; k++) table[i]->edges[k] = *pick(table, nodes, next_random(rng));
    }
    return table;
}

static void graph(uint64_t nodes, struct report *report) {
    uint64_t rng = SEED, ops = nodes * ROUNDS;
    /* The start is kept on the stack. */
    struct node **volatile kept = build(nodes, &rng);
    struct node **table = kept;

    uint64_t checksum = 0;
    struct gaps gaps = gaps_start();
    for (uint64_t i = 0; i < ops; i++) {
        uint64_t r = next_random(&rng), s = next_random(&rng);
        struct node **slot = pick(table, nodes, r), *to = *pick(table, nodes, s), *from = *slot;
        size_t edge = (r >> 32) % EDGES;
        checksum = checksum * 31 + from->edges[edge]->id;
        if ((r >> 34) % 8 == 0) {
            struct node *node = new_node(nodes + i);
            memcpy(node->edges, from->edges, sizeof node->edges);
            node->edges[edge] = to;
            *slot = node;
        } else {
            from->edges[edge] = to;
        }
        if (i % 16 == 15) gaps_sample(&gaps);
    }
    gaps_stop(&gaps);

    for (uint64_t i = 0; i < nodes; i++) {
        checksum = checksum * 31 + table[i]->id;
        for (int k = 0; k < EDGES; k++) checksum = checksum * 31 + table[i]->edges[k]->id;
    }
    gaps_report("graph", ops, checksum, &gaps, report);
}

int main(int argc, char **argv) {
    start_collector(&argc, argv);
    return run(argc, argv, DEFAULT_NODES, MAX_NODES, 1, graph);
}
