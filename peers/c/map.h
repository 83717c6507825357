/* Map in C: a hash map with chains, into which entries are inserted and from
   which they are deleted at random, half and half. A program includes its
   memory.h before this. */
#ifndef PEERS_MAP_H
#define PEERS_MAP_H

#include "common.h"
#include "gaps.h"

enum { ROUNDS = 10 };
#define DEFAULT_ENTRIES 1000000
#define MAX_ENTRIES (UINT64_C(1) << 31)

/* What a key has; no pointers. */
struct value {
    uint64_t words[2];
};

struct entry {
    uint64_t key;
    struct value *value;
    struct entry *next;
};

struct map {
    struct entry **buckets;
    uint64_t count;
};

static inline struct value *new_value(uint64_t r) {
    struct value *value = check_memory(PLAIN_MEMORY(sizeof *value));
    *value = (struct value){{r, r + 1}};
    return value;
}

static inline uint64_t add_to_checksum(uint64_t checksum, const struct entry *entry) {
    return checksum * 31 + entry->value->words[0] + entry->value->words[1];
}

static inline struct entry **bucket_of(const struct map *map, uint64_t key) {
    return map->buckets + (key * UINT64_C(0x9E3779B97F4A7C15) >> 32) % map->count;
}

/* The link that leads to the key's entry, or the last of its chain, which holds
   NULL. */
static inline struct entry **find(const struct map *map, uint64_t key) {
    struct entry **link = bucket_of(map, key);
    while (*link != NULL && (*link)->key != key) link = &(*link)->next;
    return link;
}

/* Puts a new entry before all others of its chain. */
static inline void insert(const struct map *map, uint64_t key, struct value *value) {
    struct entry **bucket = bucket_of(map, key);
    struct entry *entry = check_memory(POINTER_MEMORY(sizeof *entry));
    *entry = (struct entry){key, value, *bucket};
    *bucket = entry;
}

static inline void drop_entry(struct entry *entry) {
    RELEASE(entry->value);
    RELEASE(entry);
}

/* Inserts, if asked to, or deletes; a value that was there is added to the
   checksum. */
static inline uint64_t operate(const struct map *map, uint64_t key, bool inserts, uint64_t r,
                               uint64_t checksum) {
    struct entry **link = find(map, key), *entry = *link;
    if (entry == NULL) {
        if (inserts) insert(map, key, new_value(r));
        return checksum;
    }
    checksum = add_to_checksum(checksum, entry);
    if (inserts) {
        RELEASE(entry->value);
        entry->value = new_value(r);
    } else {
        *link = entry->next;
        drop_entry(entry);
    }
    return checksum;
}

/* All entries are added to the checksum, bucket by bucket, and dropped. */
static inline uint64_t drop_all(const struct map *map, uint64_t checksum) {
    for (uint64_t i = 0; i < map->count; i++) {
        for (struct entry *entry = map->buckets[i], *next; entry != NULL; entry = next) {
            next = entry->next;
            checksum = add_to_checksum(checksum, entry) + entry->key;
            drop_entry(entry);
        }
    }
    RELEASE(map->buckets);
    return checksum;
}

static inline void map(uint64_t entries, struct report *report) {
    uint64_t rng = SEED, checksum = 0, ops = entries * ROUNDS;
    struct map map = {NULL, entries < 2 ? 1 : entries / 2};
    /* On the stack, where a conservative collector sees it. */
    struct entry **volatile kept = check_memory(TABLE_MEMORY(map.count * sizeof *kept));
    map.buckets = kept;
    for (uint64_t i = 0; i < entries; i++) insert(&map, 2 * i, new_value(next_random(&rng)));

    struct gaps gaps = gaps_start();
    for (uint64_t i = 0; i < ops; i++) {
        uint64_t r = next_random(&rng), key = (r & 0xffffffff) % (2 * entries);
        checksum = operate(&map, key, (r >> 32) % 2 == 0, r, checksum);
        if (i % 16 == 15) gaps_sample(&gaps);
    }
    gaps_stop(&gaps);
    checksum = drop_all(&map, checksum);
    gaps_report("map", ops, checksum, &gaps, report);
}

#endif
