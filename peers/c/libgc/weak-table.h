/* A weak table with libgc: chains of entries, each with the hidden address of its key in
   a disappearing link, and a strong value. An entry whose key is dead is unlinked by
   whoever passes it, and all are before the table grows. */
#ifndef PEERS_LIBGC_WEAK_TABLE_H
#define PEERS_LIBGC_WEAK_TABLE_H

#include "memory.h"

struct weak_entry {
    struct weak_entry *next;
    void *value;
    GC_hidden_pointer key;
    uint64_t hash;
};

struct weak_table {
    struct weak_entry **buckets;
    /* A power of two. */
    uint64_t size;
    uint64_t entries;
};

typedef bool weak_equal(const void *key, const void *wanted);

static inline struct weak_table new_weak_table(void) {
    enum { FEWEST = 16 };
    struct weak_entry **buckets = check_memory(GC_MALLOC(FEWEST * sizeof *buckets));
    return (struct weak_table){buckets, FEWEST, 0};
}

static inline bool same_object(const void *key, const void *wanted) {
    return key == wanted;
}

/* The key's entry, or NULL. */
static inline struct weak_entry *weak_find(struct weak_table *table, uint64_t hash,
                                           weak_equal *equal, const void *wanted) {
    struct weak_entry **link = &table->buckets[hash & (table->size - 1)];
    while (*link != NULL) {
        struct weak_entry *entry = *link;
        if (entry->key == 0) {
            *link = entry->next;
            table->entries--;
        } else if (entry->hash == hash && equal(GC_REVEAL_POINTER(entry->key), wanted)) {
            return entry;
        } else {
            link = &entry->next;
        }
    }
    return NULL;
}

static inline void weak_grow(struct weak_table *table) {
    uint64_t alive = 0;
    for (uint64_t i = 0; i < table->size; i++) {
        for (struct weak_entry *e = table->buckets[i]; e != NULL; e = e->next) alive += e->key != 0;
    }
    uint64_t size = 16;
    while (size < 2 * (alive + 1)) size *= 2;
    struct weak_entry **buckets =
        check_memory(GC_MALLOC_IGNORE_OFF_PAGE(size * sizeof *buckets));
    alive = 0;
    for (uint64_t i = 0; i < table->size; i++) {
        for (struct weak_entry *e = table->buckets[i], *next; e != NULL; e = next) {
            next = e->next;
            if (e->key == 0) continue;
            struct weak_entry **bucket = &buckets[e->hash & (size - 1)];
            e->next = *bucket;
            *bucket = e;
            alive++;
        }
    }
    *table = (struct weak_table){buckets, size, alive};
}

/* Adds a key that the table does not have. */
static inline void weak_add(struct weak_table *table, uint64_t hash, void *key, void *value) {
    if (table->entries >= table->size) weak_grow(table);
    struct weak_entry *entry = check_memory(GC_MALLOC(sizeof *entry));
    struct weak_entry **bucket = &table->buckets[hash & (table->size - 1)];
    *entry = (struct weak_entry){*bucket, value, GC_HIDE_POINTER(key), hash};
    if (GC_general_register_disappearing_link((void **)&entry->key, key) == GC_NO_MEMORY) {
        check_memory(NULL);
    }
    *bucket = entry;
    table->entries++;
}

#endif
