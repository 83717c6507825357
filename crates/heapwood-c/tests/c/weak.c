/* Weak references and ephemerons: a table of properties that keeps no key alive, and what it refuses. */
#include "check.h"
#include <heapwood.h>
#include <string.h>

enum { KEYS = 1000 };

struct key { uint64_t number, unused; };
struct property { void *key; uint64_t number; };

static void *slots[3 * KEYS];

int main(int argc, char **argv) {
    hw_options options;
    hw_heap *heap;
    hw_mutator *m;
    hw_type key_type, property_type;
    hw_error why;
    hw_options_init(&options);
    options.conservative_stacks = 0;
    options.verify = argc > 1 && strcmp(argv[1], "verify") == 0;
    options.generational = argc > 1 && strcmp(argv[1], "young") == 0 ? HW_GENERATIONAL_ALWAYS : HW_GENERATIONAL_AUTO;
    CHECK(hw_heap_create(&options, &heap, NULL) == HW_OK);
    CHECK(hw_attach(heap, NULL, &m, NULL) == HW_OK);
    CHECK(hw_type_no_pointers(heap, sizeof(struct key), &key_type, NULL) == HW_OK);
    uint64_t mask = 1;
    CHECK(hw_type_mask(heap, sizeof(struct property), &mask, 1, &property_type, NULL) == HW_OK);
    CHECK(hw_root_slots(heap, slots, 3 * KEYS, NULL) != 0);
    void **keys = slots, **properties = slots + KEYS, **weak = slots + 2 * KEYS;
    for (uint64_t i = 0; i < KEYS; i++) {
        struct key *key = hw_alloc(m, key_type);
        keys[i] = key;
        key->number = i;
        /* The property leads back to its key, and yet does not keep it. */
        struct property *property = hw_alloc(m, property_type);
        properties[i] = property;
        property->key = key;
        property->number = 7 * i;
        CHECK((properties[i] = hw_ephemeron_new(m, key, property)) != NULL);
        CHECK((weak[i] = hw_weak_new(m, key)) != NULL);
    }
    CHECK(hw_collect(m) == HW_OK);
    for (uint64_t i = 0; i < KEYS; i++) {
        struct property *property = hw_ephemeron_value(m, properties[i]);
        CHECK(property != NULL && property->number == 7 * i && property->key == keys[i]);
        CHECK(hw_ephemeron_key(m, properties[i]) == keys[i] && hw_weak_get(m, weak[i]) == keys[i]);
        if (i % 2 == 1) keys[i] = NULL;
    }
    CHECK(hw_collect(m) == HW_OK);
    for (uint64_t i = 0; i < KEYS; i++) {
        CHECK(hw_weak_get(m, weak[i]) == keys[i] && hw_ephemeron_key(m, properties[i]) == keys[i]);
        CHECK((hw_ephemeron_value(m, properties[i]) == NULL) == (i % 2 == 1));
    }
    /* The value changes while the key is alive. */
    CHECK(hw_ephemeron_set(m, properties[0], NULL) == HW_OK && hw_ephemeron_value(m, properties[0]) == NULL);
    CHECK(hw_ephemeron_set(m, properties[1], keys[0]) == HW_OK && hw_ephemeron_value(m, properties[1]) == NULL);

    /* Errors, which change nothing. */
    CHECK(hw_weak_new(m, NULL) == NULL && hw_weak_new(NULL, keys[0]) == NULL);
    CHECK(hw_weak_new(m, (char *)keys[0] + 8) == NULL);
    CHECK(hw_last_error(m)->status == HW_EINVAL && strstr(hw_last_error(m)->text, "no object of this heap") != NULL);
    CHECK(hw_weak_get(m, keys[0]) == NULL);
    CHECK(strstr(hw_last_error(m)->text, "is no ephemeron or weak reference") != NULL);
    CHECK(hw_ephemeron_set(m, NULL, NULL) == HW_EINVAL && hw_ephemeron_set(m, keys[0], NULL) == HW_EINVAL);
    CHECK(hw_free(m, weak[0]) == HW_EINVAL);
    CHECK(strstr(hw_last_error(m)->text, "only a collection frees") != NULL);
    hw_stats stats = {.size = sizeof stats};
    CHECK(hw_stats_get(heap, &stats) == HW_OK && stats.weak_cleared == KEYS);
    CHECK(hw_detach(m) == HW_OK && hw_heap_destroy(heap, &why) == HW_OK);
    puts("what is dead is cleared");
    return 0;
}
