/* A program with libheapwood.a and another Rust archive, other.rs: each does its work. */
#include "check.h"
#include <heapwood.h>

uint64_t other_sum(uint64_t n);
bool other_catches(void);

struct node {
    struct node *next;
};

int main(void) {
    hw_heap *heap;
    hw_mutator *m;
    hw_type type;
    const uint64_t mask = HW_POINTER(struct node, next);
    CHECK(hw_heap_create(NULL, &heap, NULL) == HW_OK && hw_attach(heap, NULL, &m, NULL) == HW_OK);
    CHECK(hw_type_mask(heap, sizeof(struct node), &mask, 1, &type, NULL) == HW_OK);
    struct node *list = NULL;
    hw_frame frame;
    hw_frame_push(m, &frame, &list, 1);
    for (int i = 0; i < 1000000; i++) {
        struct node *node = (struct node *)hw_alloc(m, type);
        CHECK(node != NULL);
        node->next = i % 1000 ? list : NULL;
        list = node;
        if (i % 100000 == 0) CHECK(other_catches());
    }
    CHECK(hw_collect(m) == HW_OK);
    uint64_t length = 0;
    for (struct node *node = list; node != NULL; node = node->next) length++;
    CHECK(length == 1000 && other_sum(length) == 499500 && other_catches());
    hw_frame_pop(m, &frame);
    CHECK(hw_detach(m) == HW_OK && hw_heap_destroy(heap, NULL) == HW_OK);
    puts("both did their work");
    return 0;
}
