/* Every table of a heap is filled to the last entry, all entries are looked up, and one more is refused. The test is
 * that this ends: a linear search for each new entry would take minutes. */
#include "check.h"
#include <heapwood.h>
#include <string.h>

enum { TYPES = 262143, ROOTS = 65536, LAYOUTS = 16073 };

static void trace(void *object, size_t size, hw_tracer *tracer) { hw_visit_range(tracer, object, (char *)object + size); }

static hw_heap *new_heap(void) {
    hw_options o;
    hw_heap *heap = NULL;
    hw_options_init(&o);
    o.conservative_stacks = 0;
    o.address_space = 1 << 30;
    CHECK(hw_heap_create(&o, &heap, NULL) == HW_OK);
    return heap;
}

static void types(void) {
    static hw_type known[TYPES];
    hw_heap *heap = new_heap();
    hw_type type;
    hw_error why;
    for (size_t i = 0; i < TYPES; i++) CHECK(hw_type_trace(heap, 8 * (i + 1), trace, &known[i], NULL) == HW_OK);
    CHECK(hw_type_trace(heap, 8 * (TYPES + 1), trace, &type, &why) == HW_EFULL);
    CHECK(strstr(why.text, "more than 262143 different types") != NULL);
    for (size_t i = 0; i < TYPES; i++) {
        CHECK(hw_type_trace(heap, 8 * (i + 1), trace, &type, &why) == HW_OK && type == known[i] && why.status == HW_OK);
    }
    CHECK(hw_heap_destroy(heap, NULL) == HW_OK);
}

static void layouts(void) {
    hw_heap *heap = new_heap();
    hw_type type;
    hw_error why;
    for (int again = 0; again < 2; again++) {
        for (uint64_t mask = 1; mask <= LAYOUTS; mask++) CHECK(hw_type_mask(heap, 160, &mask, 1, &type, NULL) == HW_OK);
    }
    uint64_t mask = LAYOUTS + 1;
    CHECK(hw_type_mask(heap, 160, &mask, 1, &type, &why) == HW_EFULL);
    CHECK(strstr(why.text, "more than 16073 different layouts") != NULL);
    /* Those that every heap has are none of them. */
    mask = 7;
    CHECK(hw_type_mask(heap, 24, &mask, 1, &type, NULL) == HW_OK && hw_type_no_pointers(heap, 1000, &type, NULL) == HW_OK);
    CHECK(hw_type_conservative(heap, 3000, &type, NULL) == HW_OK);
    CHECK(hw_heap_destroy(heap, NULL) == HW_OK);
}

static void roots(void) {
    static void *slots[ROOTS + 1];
    static hw_root root[ROOTS];
    hw_heap *heap = new_heap();
    hw_mutator *m = NULL;
    hw_error why;
    hw_type type;
    hw_stats stats = {.size = sizeof stats};
    CHECK(hw_attach(heap, NULL, &m, NULL) == HW_OK && hw_type_no_pointers(heap, 16, &type, NULL) == HW_OK);
    for (int i = 0; i < ROOTS; i++) {
        root[i] = hw_root_slots(heap, &slots[i], 1, &why);
        CHECK(root[i] != 0 && why.status == HW_OK);
    }
    CHECK(hw_root_slots(heap, &slots[ROOTS], 1, &why) == 0 && why.status == HW_EFULL);
    CHECK(strstr(why.text, "65536 roots are registered") != NULL);
    CHECK(hw_root_range(heap, slots, slots + 1, &why) == 0 && why.status == HW_EFULL);
    for (int round = 0; round < 2; round++) {
        for (int i = round; i < ROOTS; i += 2) CHECK(hw_root_remove(heap, root[i], NULL) == HW_OK);
        for (int i = round; i < ROOTS; i += 2) {
            CHECK(hw_root_remove(heap, root[i], NULL) == HW_EINVAL);
            root[i] = hw_root_slots(heap, &slots[i], 1, NULL);
            CHECK(root[i] != 0);
        }
    }
    /* Each of them is one. */
    for (int i = 0; i < ROOTS; i++) slots[i] = hw_alloc(m, type);
    CHECK(hw_collect(m) == HW_OK && hw_stats_get(heap, &stats) == HW_OK && stats.live_objects == ROOTS);
    CHECK(hw_detach(m) == HW_OK && hw_heap_destroy(heap, NULL) == HW_OK);
}

int main(void) {
    types();
    layouts();
    roots();
    puts("all tables are full");
    return 0;
}
