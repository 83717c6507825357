/* Weak tables with libgc: a map by the identity of keys under churn, and a table of
   interned names. */
#include "weak-table.h"

#include "../gaps.h"

#define DEFAULT_KEYS 2000000
#define MAX_KEYS (UINT64_C(1) << 31)
enum { ROUNDS = 20, ABSENT = 4, LOOKUPS = 2 };

struct pair {
    uint64_t words[2];
};

struct counts {
    uint64_t found, checksum;
};

static struct pair *new_pair(uint64_t first, uint64_t second) {
    struct pair *pair = check_memory(PLAIN_MEMORY(sizeof *pair));
    *pair = (struct pair){{first, second}};
    return pair;
}

static inline void add(struct counts *counts, const struct pair *pair) {
    counts->found++;
    counts->checksum = counts->checksum * 31 + pair->words[0] + pair->words[1];
}

static inline uint64_t hash_word(uint64_t word) {
    return word * UINT64_C(0x9E3779B97F4A7C15) >> 20;
}

static void churn(uint64_t n, uint64_t alive, uint64_t *rng, struct gaps *gaps,
                  struct counts *counts) {
    struct weak_table map = new_weak_table();
    struct pair **volatile kept = check_memory(TABLE_MEMORY(alive * sizeof *kept));
    struct pair **keys = kept;
    uint64_t at = 0;
    for (uint64_t i = 0; i < n; i++) {
        struct pair *key = new_pair(i, 0);
        if (i % ABSENT != ABSENT - 1) {
            uint64_t hash = hash_word((uintptr_t)key);
            struct pair *value = new_pair(i, i + 1);
            struct weak_entry *entry = weak_find(&map, hash, same_object, key);
            if (entry != NULL) {
                entry->value = value;
            } else {
                weak_add(&map, hash, key, value);
            }
        }
        keys[at] = key;
        if (++at == alive) at = 0;
        uint64_t made = i + 1 < alive ? i + 1 : alive;
        for (int k = 0; k < LOOKUPS; k++) {
            struct pair *wanted = keys[(next_random(rng) & 0xffffffff) % made];
            struct weak_entry *entry =
                weak_find(&map, hash_word((uintptr_t)wanted), same_object, wanted);
            if (entry != NULL) add(counts, entry->value);
        }
        if (i % 16 == 15) gaps_sample(gaps);
    }
}

static bool same_name(const void *key, const void *wanted) {
    const struct pair *a = key, *b = wanted;
    return a->words[0] == b->words[0] && a->words[1] == b->words[1];
}

static struct pair *interned(struct weak_table *table, uint64_t number) {
    struct pair name = {{number, number * UINT64_C(0x9E3779B97F4A7C15)}};
    uint64_t hash = hash_word(number);
    struct weak_entry *entry = weak_find(table, hash, same_name, &name);
    if (entry != NULL) return GC_REVEAL_POINTER(entry->key);
    struct pair *made = new_pair(name.words[0], name.words[1]);
    weak_add(table, hash, made, NULL);
    return made;
}

static void intern(uint64_t n, uint64_t alive, uint64_t *rng, struct gaps *gaps,
                   struct counts *counts) {
    struct weak_table table = new_weak_table();
    struct pair **volatile kept = check_memory(TABLE_MEMORY(alive * sizeof *kept));
    struct pair **names = kept;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t r = next_random(rng);
        struct pair **place = &names[(r & 0xffffffff) % alive];
        if (*place != NULL && i % 2 == 0) {
            if (interned(&table, (*place)->words[0]) != *place) {
                fputs("a name has two objects\n", stderr);
                exit(1);
            }
            add(counts, *place);
        } else {
            *place = interned(&table, (r >> 32) % n);
        }
        if (i % 16 == 15) gaps_sample(gaps);
    }
    for (uint64_t i = 0; i < alive; i++) {
        if (names[i] != NULL) add(counts, names[i]);
    }
}

static void weakmap(uint64_t n, struct report *report) {
    uint64_t rng = SEED, alive = n / ROUNDS > 0 ? n / ROUNDS : 1;
    struct counts counts = {0, 0};
    struct gaps gaps = gaps_start();
    churn(n, alive, &rng, &gaps, &counts);
    intern(n, alive, &rng, &gaps, &counts);
    gaps_stop(&gaps);
    gaps_figures(n * (LOOKUPS + 1), &gaps, report);
    report_checksum("weakmap", "found", counts.found, counts.checksum, report);
}

int main(int argc, char **argv) {
    start_collector(&argc, argv);
    return run_alone(argc, argv, DEFAULT_KEYS, MAX_KEYS, weakmap);
}
