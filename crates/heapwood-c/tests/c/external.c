/* Small objects own large buffers of malloc. A trace function sees the live ones; after a full collection the buffers of the others
 * are freed. The process does not grow. */
#include "check.h"
#include <heapwood.h>
#include <string.h>

enum { OWNERS = 4000, BUFFER = 128 << 10, KEPT = 8, LIMIT = 8 << 20 };

struct box { void *memory; struct box *next; uint64_t seen; };
struct owner { struct box *box; uint64_t unused; };

static hw_heap *heap;
static struct box *boxes;
static uint64_t mark, allocated, most, frees;

static void trace(void *object, size_t size, hw_tracer *t) {
    struct owner *owner = object;
    (void)size, (void)t;
    if (owner->box != NULL) owner->box->seen = mark;
}

static uint64_t full_collections(void) {
    hw_stats stats = {.size = sizeof stats};
    CHECK(hw_stats_get(heap, &stats) == HW_OK && stats.external_bytes == allocated);
    return stats.collections - stats.young_collections;
}

static void free_unseen(hw_mutator *m) {
    static uint64_t last;
    uint64_t now = full_collections();
    if (now == last) return;
    last = now;
    for (struct box **at = &boxes; *at != NULL;) {
        struct box *box = *at;
        if (box->seen == mark) {
            at = &box->next;
            continue;
        }
        *at = box->next;
        free(box->memory);
        free(box);
        CHECK(hw_external(m, -BUFFER) == HW_OK);
        allocated -= BUFFER;
        frees++;
    }
    mark++;
}

int main(void) {
    hw_options options;
    hw_mutator *m;
    hw_type type;
    struct owner *kept[KEPT + 1] = {NULL};
    hw_options_init(&options);
    options.conservative_stacks = 0;
    options.generational = HW_GENERATIONAL_OFF;
    options.concurrent = HW_CONCURRENT_OFF;
    options.limit = LIMIT;
    CHECK(hw_heap_create(&options, &heap, NULL) == HW_OK);
    CHECK(hw_type_trace(heap, sizeof(struct owner), trace, &type, NULL) == HW_OK);
    CHECK(hw_attach(heap, NULL, &m, NULL) == HW_OK);
    CHECK(hw_root_slots(heap, kept, KEPT + 1, NULL) != 0);
    for (int i = 0; i < OWNERS; i++) {
        /* The object first: a collection that the addition makes sees it. */
        kept[KEPT] = hw_alloc(m, type);
        CHECK(kept[KEPT] != NULL);
        free_unseen(m);
        CHECK(hw_external(m, BUFFER) == HW_OK);
        allocated += BUFFER;
        if (allocated > most) most = allocated;
        struct box *box = malloc(sizeof *box);
        CHECK(box != NULL && (box->memory = malloc(BUFFER)) != NULL);
        memset(box->memory, 1, BUFFER);
        box->next = boxes;
        box->seen = mark;
        boxes = box;
        kept[KEPT]->box = box;
        kept[i % KEPT] = kept[KEPT];
        free_unseen(m);
    }
    CHECK(most <= LIMIT);
    CHECK(full_collections() >= (uint64_t)OWNERS * BUFFER / LIMIT);
    memset(kept, 0, sizeof kept);
    CHECK(hw_collect(m) == HW_OK);
    free_unseen(m);
    /* What was made in the last cycle counts as seen. */
    CHECK(hw_collect(m) == HW_OK);
    free_unseen(m);
    CHECK(allocated == 0 && frees == OWNERS);

    /* Misuse. */
    CHECK(hw_external(NULL, 1) == HW_EINVAL);
    CHECK(hw_external(m, -1) == HW_EINVAL);
    CHECK(strstr(hw_last_error(m)->text, "1 bytes outside the heap are given back, and 0 are counted") != NULL);
    CHECK(hw_external(m, PTRDIFF_MIN) == HW_EINVAL);
    CHECK(hw_external(m, LIMIT) == HW_OK);
    CHECK(hw_external(m, 1) == HW_ELIMIT && strstr(hw_last_error(m)->text, "8388608 are outside the heap") != NULL);
    CHECK(hw_alloc_bytes(m, 100000) == NULL && hw_last_error(m)->status == HW_ELIMIT);
    CHECK(hw_external(m, -LIMIT) == HW_OK && hw_alloc_bytes(m, 100000) != NULL);
    CHECK(hw_detach(m) == HW_OK);
    CHECK(hw_heap_destroy(heap, NULL) == HW_OK);
    puts("the process does not grow");
    return 0;
}
