/* Weak references and ephemerons: a table of properties that keeps no key alive, and what it refuses. */
#include "check.h"
#include <heapwood.h>
#include <string.h>

enum { KEYS = 1000 };

struct key { uint64_t number, unused; };
struct property { void *key; uint64_t number; };

static void *slots[3 * KEYS];

static bool has_number(void *object, void *arg) { return ((struct key *)object)->number == *(uint64_t *)arg; }

/* One object for each number: hashes are few, so numbers are compared. */
static struct key *interned(hw_mutator *m, void **table, hw_type type, uint64_t number, void **room) {
    struct key *found = hw_weak_table_intern(m, *table, number % 16, has_number, &number, NULL);
    if (found != NULL) return found;
    struct key *made = hw_alloc(m, type);
    *room = made;
    CHECK(made != NULL);
    made->number = number;
    CHECK((found = hw_weak_table_intern(m, *table, number % 16, has_number, &number, made)) == made);
    *room = NULL;
    return found;
}

static void tables(hw_mutator *m, hw_type type, void **roots) {
    void **table = &roots[0], **kept = &roots[10], *value, *key;
    size_t position = 0, entries = 0;
    CHECK((*table = hw_weak_table_new(m)) != NULL);
    for (uint64_t number = 0; number < 10000; number++) {
        struct key *one = interned(m, table, type, number, &roots[1]);
        CHECK(one->number == number);
        if (number % 1000 == 0) kept[number / 1000] = one;
        if (number % 1000 == 0) CHECK(interned(m, table, type, number, &roots[1]) == one);
        if (number % 2000 == 0) CHECK(hw_collect(m) == HW_OK);
    }
    CHECK(hw_collect(m) == HW_OK && hw_weak_table_count(m, *table) == 10);
    while (hw_weak_table_next(m, *table, &position, &key, &value)) {
        CHECK(value == NULL && kept[((struct key *)key)->number / 1000] == key);
        entries++;
    }
    CHECK(entries == 10);
    CHECK((*table = hw_weak_table_new(m)) != NULL);
    for (int i = 0; i < 10; i++) CHECK(hw_weak_table_set(m, *table, kept[i], kept[9 - i]) == HW_OK);
    CHECK(hw_weak_table_get(m, *table, kept[3], &value) && value == kept[6]);
    CHECK(hw_weak_table_remove(m, *table, kept[3]) && !hw_weak_table_get(m, *table, kept[3], NULL));
    CHECK(hw_weak_table_set(m, kept[0], kept[1], NULL) == HW_EINVAL);
    CHECK(strstr(hw_last_error(m)->text, "no weak table") != NULL);
    CHECK(hw_weak_table_set(m, *table, NULL, NULL) == HW_EINVAL && hw_weak_table_count(m, NULL) == 0);
    memset(roots, 0, 20 * sizeof *roots);
}

/* Words outside the heap, plain and hidden, which are 0 once their objects are dead. */
static void links(hw_heap *heap, hw_mutator *m, hw_type type, void **roots) {
    static uintptr_t plain[10], hidden[10], elsewhere;
    for (int i = 0; i < 10; i++) {
        CHECK((roots[i] = hw_alloc(m, type)) != NULL);
        plain[i] = (uintptr_t)roots[i];
        hidden[i] = ~(uintptr_t)roots[i];
        CHECK(hw_link_add(m, &plain[i], roots[i], 0) == HW_OK);
        CHECK(hw_link_add(m, &hidden[i], roots[i], HW_LINK_LONG) == HW_OK);
    }
    CHECK(hw_collect(m) == HW_OK && hw_link_get(m, &hidden[9]) == roots[9] && plain[9] == (uintptr_t)roots[9]);
    for (int i = 0; i < 9; i += 2) roots[i] = NULL;
    CHECK(hw_collect(m) == HW_OK);
    for (int i = 0; i < 10; i++) {
        CHECK(plain[i] == (uintptr_t)roots[i] && hw_link_get(m, &plain[i]) == roots[i]);
        CHECK(hidden[i] == (roots[i] == NULL ? 0 : ~(uintptr_t)roots[i]));
    }
    CHECK(hw_link_move(m, &plain[1], &elsewhere) == HW_OK && elsewhere == (uintptr_t)roots[1]);
    CHECK(hw_link_remove(heap, &elsewhere) && !hw_link_remove(heap, &plain[1]));
    CHECK(hw_link_move(m, &plain[1], &elsewhere) == HW_EINVAL);
    CHECK(strstr(hw_last_error(m)->text, "has no link") != NULL);
    CHECK(hw_link_add(m, (char *)plain + 1, roots[1], 0) == HW_EINVAL && hw_link_add(m, plain, roots[1], 8) == HW_EINVAL);
    CHECK(strstr(hw_last_error(m)->text, "flags") != NULL);
    CHECK(hw_link_add(m, plain, NULL, 0) == HW_EINVAL && hw_link_get(m, plain) == NULL);
    for (int i = 0; i < 10; i++) {
        hw_link_remove(heap, &plain[i]);
        hw_link_remove(heap, &hidden[i]);
        roots[i] = NULL;
    }
}

int main(int argc, char **argv) {
    hw_options options;
    hw_heap *heap;
    hw_mutator *m;
    hw_type key_type, property_type;
    hw_error why;
    hw_stats stats = {.size = sizeof stats};
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
    tables(m, key_type, slots);
    links(heap, m, key_type, slots);
    CHECK(hw_collect(m) == HW_OK && hw_stats_get(heap, &stats) == HW_OK);
    uint64_t cleared = stats.weak_cleared;
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
    CHECK(hw_stats_get(heap, &stats) == HW_OK && stats.weak_cleared - cleared == KEYS);
    CHECK(hw_detach(m) == HW_OK && hw_heap_destroy(heap, &why) == HW_OK);
    puts("what is dead is cleared");
    return 0;
}
