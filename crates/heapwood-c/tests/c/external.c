/* Small objects own large buffers of malloc, which the heap's limit bounds. A finaliser frees the buffer of each object that is dead,
 * and no other: the process does not grow. */
#include "check.h"
#include <heapwood.h>
#include <string.h>

enum { OWNERS = 4000, BUFFER = 128 << 10, KEPT = 8, LIMIT = 8 << 20 };

/* A buffer is full of its owner's number. */
struct owner { uint64_t *memory; uint64_t number; };

static hw_heap *heap;
static uint64_t allocated, most, frees, refusals;

static void free_dead(hw_mutator *m) {
    for (void *memory; hw_finalize_next_data(heap, 0, &memory); frees++) {
        free(memory);
        CHECK(hw_external(m, -BUFFER) == HW_OK);
        allocated -= BUFFER;
    }
}

/* The bytes first, then the memory: where there is no room for them, what has died meanwhile is freed. */
static struct owner *make(hw_mutator *m, hw_type type, uint64_t number, struct owner **root) {
    struct owner *owner = *root = hw_alloc(m, type);
    CHECK(owner != NULL);
    while (hw_external(m, BUFFER) != HW_OK) {
        CHECK(hw_last_error(m)->status == HW_ELIMIT);
        uint64_t before = frees;
        free_dead(m);
        CHECK(frees > before);
        refusals++;
    }
    allocated += BUFFER;
    if (allocated > most) most = allocated;
    uint64_t *memory = owner->memory = malloc(BUFFER);
    CHECK(memory != NULL && hw_finalize_data(m, owner, 0, memory, NULL) == HW_OK);
    for (size_t i = 0; i < BUFFER / sizeof *memory; i++) memory[i] = number;
    owner->number = number;
    return owner;
}

int main(int argc, char **argv) {
    hw_options options;
    hw_mutator *m;
    hw_type type;
    hw_stats stats = {.size = sizeof stats};
    struct owner *kept[KEPT + 1] = {NULL};
    hw_options_init(&options);
    options.conservative_stacks = 0;
    options.generational = argc > 1 && strcmp(argv[1], "young") == 0 ? HW_GENERATIONAL_ALWAYS : HW_GENERATIONAL_OFF;
    options.concurrent = HW_CONCURRENT_OFF;
    options.verify = argc > 1 && strcmp(argv[1], "verify") == 0;
    options.limit = LIMIT;
    CHECK(hw_heap_create(&options, &heap, NULL) == HW_OK);
    CHECK(hw_type_no_pointers(heap, sizeof(struct owner), &type, NULL) == HW_OK);
    CHECK(hw_attach(heap, NULL, &m, NULL) == HW_OK);
    CHECK(hw_root_slots(heap, kept, KEPT + 1, NULL) != 0);
    for (uint64_t i = 0; i < OWNERS; i++) {
        kept[i % KEPT] = make(m, type, i, &kept[KEPT]);
        /* One that was made a while ago. */
        struct owner *old = kept[(i + 1) % KEPT];
        CHECK(old == NULL || (old->memory[0] == old->number && old->memory[BUFFER / 8 - 1] == old->number));
    }
    CHECK(most <= LIMIT && refusals > 0);
    CHECK(hw_stats_get(heap, &stats) == HW_OK && stats.external_bytes == allocated);
    CHECK(stats.collections >= (uint64_t)OWNERS * BUFFER / LIMIT);
    memset(kept, 0, sizeof kept);
    CHECK(hw_collect(m) == HW_OK);
    free_dead(m);
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
