/* Lists of numbered nodes, for test programs that look whether all of one is still there. */
#ifndef LIST_H
#define LIST_H

#include "check.h"
#include <heapwood.h>

struct node {
    struct node *next;
    uint64_t number;
};

static inline hw_type node_type_of(hw_heap *heap) {
    const uint64_t mask = HW_POINTER(struct node, next);
    hw_type type;
    CHECK(hw_type_mask(heap, sizeof(struct node), &mask, 1, &type, NULL) == HW_OK);
    return type;
}

static inline struct node *extend(hw_mutator *m, hw_type type, struct node *list, uint64_t number) {
    struct node *n = (struct node *)hw_alloc(m, type);
    CHECK(n != NULL && n->next == NULL && n->number == 0);
    n->next = list;
    n->number = number;
    return n;
}

/* A list of nodes whose numbers decrease to the given one. */
static inline struct node *make(hw_mutator *m, hw_type type, uint64_t length, uint64_t number) {
    struct node *list = NULL;
    for (uint64_t i = 0; i < length; i++) list = extend(m, type, list, number + i);
    return list;
}

static inline void walk(const struct node *list, uint64_t length, uint64_t number) {
    for (; list != NULL; list = list->next) CHECK(list->number == number + --length);
    CHECK(length == 0);
}

#endif
