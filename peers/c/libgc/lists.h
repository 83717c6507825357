/* Singly linked lists of 16-byte nodes, side by side: the graph with the fewest
   edges to follow at a time. */
#ifndef PEERS_LIBGC_LISTS_H
#define PEERS_LIBGC_LISTS_H

#include "collect.h"
#include "order.h"

enum { MOST_LISTS = 64 };

struct list_node {
    struct list_node *next;
    uint64_t index;
};

/* The only things that lead to nodes. The table of all of them is memory of the
   collector, freed before anything is measured. */
static struct list_node *list_head[MOST_LISTS];
static struct list_node **list_table;

/* Allocates nodes in index order and links them: list k has order[k],
   order[k + lists] and so on. Not inlined, so that what it leaves on the stack lies
   below the frames of the measuring. */
static __attribute__((noinline)) void lists_build(size_t n, const uint32_t *order, size_t lists) {
    list_table = check_memory(GC_MALLOC_IGNORE_OFF_PAGE(n * sizeof *list_table));
    for (size_t i = 0; i < n; i++) {
        list_table[i] = check_memory(GC_MALLOC(sizeof **list_table));
        list_table[i]->index = i;
    }
    for (size_t i = 0; i + lists < n; i++) {
        list_table[order[i]]->next = list_table[order[i + lists]];
    }
    for (size_t k = 0; k < lists && k < n; k++) list_head[k] = list_table[order[k]];
    GC_FREE(list_table);
    list_table = NULL;
}

/* Counts the nodes and sums up their words, list by list. Takes the lists apart: a
   stray pointer then keeps one node and not the rest of its list. */
static __attribute__((noinline)) size_t lists_walk(size_t lists, uint64_t *checksum) {
    size_t walked = 0;
    *checksum = 0;
    for (size_t k = 0; k < lists; k++) {
        struct list_node *node = list_head[k];
        list_head[k] = NULL;
        while (node != NULL) {
            struct list_node *next = node->next;
            walked++;
            *checksum = *checksum * 31 + node->index;
            node->next = NULL;
            node = next;
        }
    }
    return walked;
}

/* Measures n nodes in so many lists, and frees their order. The prefixes say
   how they lie, in the names of the graph and of the figure. */
static inline bool mark_lists(const char *graph_prefix, const char *figure_prefix, size_t n,
                              uint32_t *order, size_t lists) {
    lists_build(n, order, lists);
    free(order);

    char name[32];
    snprintf(name, sizeof name, "%slists-%zu", graph_prefix, lists);
    uint64_t best = collect_in_full(name, n);

    uint64_t checksum;
    size_t walked = lists_walk(lists, &checksum);
    printf("mark %s objects %zu reached %zu checksum 0x%016" PRIx64 "\n", name, n, walked, checksum);
    printf("figure %slists_%zu_ns %.3f\n", figure_prefix, lists, (double)best / (double)n);
    return walked == n;
}

#endif
