/* List in C: a singly linked list of N nodes, all of which survive, walked once at
   the end, and released on the way. A program includes its memory.h before this. */
#ifndef PEERS_LIST_H
#define PEERS_LIST_H

#include "common.h"
#include "threads.h"

#define DEFAULT_NODES 20000000
#define MAX_NODES (UINT64_C(1) << 36)

struct node {
    struct node *next;
    uint64_t value;
};

static inline struct node *new_node(struct node *next, uint64_t value) {
    struct node *node = check_memory(POINTER_MEMORY(sizeof *node));
    *node = (struct node){next, value};
    return node;
}

static inline void list(uint64_t nodes, struct report *report) {
    struct node *first = NULL;
    for (uint64_t value = 0; value < nodes; value++) first = new_node(first, value);
    uint64_t checksum = 0;
    for (struct node *next; first != NULL; first = next) {
        next = first->next;
        checksum = checksum * 31 + first->value;
        RELEASE(first);
    }
    report_checksum("list", "nodes", nodes, checksum, report);
}

#endif
