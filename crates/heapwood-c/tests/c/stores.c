/* Programs that store pointers into old objects, each store through the inline barrier: the workloads graph and
 * map, with the same check values. Tests run small sizes. Larger runs serve to count instructions.
 *
 *     stores graph|map N [verify] */
#include <heapwood.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EDGES = 4, ROUNDS = 10 };

struct node {
    struct node *edges[EDGES];
    uint64_t id;
};

struct value {
    uint64_t words[2];
};

struct entry {
    uint64_t key;
    struct value *value;
    struct entry *next;
};

static hw_mutator *m;
static bool small;
static hw_type pointer_type, node_type, value_type, entry_type, number_type;

static void give_up(const char *what, const hw_error *why) {
    fprintf(stderr, "stores: %s: %s\n", what, why->text);
    exit(1);
}

static uint64_t next_random(void) {
    static uint64_t x = UINT64_C(0x9E3779B97F4A7C15);
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    return x * UINT64_C(0x2545F4914F6CDD1D);
}

/* Small runs collect between the filling and the rest, and at the end: verify mode compares what each collection finds with
 * the one before. */
static void collect_if_small(void) {
    if (small && hw_collect(m)) give_up("no collection", hw_last_error(m));
}

static void *some(void *object) {
    if (object == NULL) give_up("no object", hw_last_error(m));
    return object;
}

/* ------------------------------------------------------------------------------------------------------- graph -- */

static struct node *new_node(uint64_t id) {
    struct node *node = (struct node *)some(hw_alloc(m, node_type));
    node->id = id;
    return node;
}

static uint64_t graph(uint64_t nodes) {
    uint64_t checksum = 0;
    struct node **table = (struct node **)some(hw_alloc_array(m, pointer_type, nodes));
    for (uint64_t i = 0; i < nodes; i++) hw_write(m, table, &table[i], new_node(i));
    for (uint64_t i = 0; i < nodes; i++) {
        struct node *node = table[i];
        for (int k = 0; k < EDGES; k++) {
            hw_write(m, node, &node->edges[k], table[(next_random() & 0xffffffff) % nodes]);
        }
    }
    collect_if_small();
    for (uint64_t i = 0; i < nodes * ROUNDS; i++) {
        uint64_t r = next_random(), s = next_random(), slot = (r & 0xffffffff) % nodes;
        struct node *from = table[slot], *to = table[(s & 0xffffffff) % nodes];
        uint64_t edge = (r >> 32) % EDGES;
        checksum = checksum * 31 + from->edges[edge]->id;
        if ((r >> 34) % 8 == 0) {
            /* New until the next allocation: it is filled with plain stores. */
            struct node *node = new_node(nodes + i);
            memcpy(node->edges, from->edges, sizeof node->edges);
            node->edges[edge] = to;
            hw_write(m, table, &table[slot], node);
        } else {
            hw_write(m, from, &from->edges[edge], to);
        }
    }
    for (uint64_t i = 0; i < nodes; i++) {
        checksum = checksum * 31 + table[i]->id;
        for (int k = 0; k < EDGES; k++) checksum = checksum * 31 + table[i]->edges[k]->id;
    }
    return checksum;
}

/* --------------------------------------------------------------------------------------------------------- map -- */

static struct value *new_value(uint64_t r) {
    struct value *value = (struct value *)some(hw_alloc(m, value_type));
    value->words[0] = r;
    value->words[1] = r + 1;
    return value;
}

/* Before all others of its chain. */
static void insert(struct entry **buckets, uint64_t bucket, uint64_t key, struct value *value) {
    struct entry *entry = (struct entry *)some(hw_alloc(m, entry_type));
    entry->key = key;
    entry->value = value;
    entry->next = buckets[bucket];
    hw_write(m, buckets, &buckets[bucket], entry);
}

static uint64_t add_to_checksum(uint64_t checksum, const struct entry *entry) {
    return checksum * 31 + entry->value->words[0] + entry->value->words[1];
}

static uint64_t map(uint64_t entries) {
    uint64_t checksum = 0, count = entries < 2 ? 1 : entries / 2;
    struct entry **buckets = (struct entry **)some(hw_alloc_array(m, pointer_type, count));
    for (uint64_t i = 0; i < entries; i++) {
        uint64_t key = 2 * i, bucket = (key * UINT64_C(0x9E3779B97F4A7C15) >> 32) % count;
        insert(buckets, bucket, key, new_value(next_random()));
    }
    collect_if_small();
    for (uint64_t i = 0; i < entries * ROUNDS; i++) {
        uint64_t r = next_random(), key = (r & 0xffffffff) % (2 * entries);
        uint64_t bucket = (key * UINT64_C(0x9E3779B97F4A7C15) >> 32) % count;
        int inserts = (r >> 32) % 2 == 0;
        struct entry *before = NULL, *entry = buckets[bucket];
        while (entry != NULL && entry->key != key) {
            before = entry;
            entry = entry->next;
        }
        if (entry != NULL) checksum = add_to_checksum(checksum, entry);
        if (inserts && entry != NULL) {
            hw_write(m, entry, &entry->value, new_value(r));
        } else if (inserts) {
            insert(buckets, bucket, key, new_value(r));
        } else if (entry != NULL && before != NULL) {
            hw_write(m, before, &before->next, entry->next);
        } else if (entry != NULL) {
            hw_write(m, buckets, &buckets[bucket], entry->next);
        }
    }
    for (uint64_t i = 0; i < count; i++) {
        for (const struct entry *entry = buckets[i]; entry != NULL; entry = entry->next) {
            checksum = add_to_checksum(checksum, entry) + entry->key;
        }
    }
    return checksum;
}

static void make_types(hw_heap *heap) {
    hw_error why;
    uint64_t pointer = 1, edges = (1 << EDGES) - 1;
    uint64_t links = HW_POINTER(struct entry, value) | HW_POINTER(struct entry, next);
    if (hw_type_mask(heap, sizeof(void *), &pointer, 1, &pointer_type, &why) ||
        hw_type_mask(heap, sizeof(struct node), &edges, 1, &node_type, &why) ||
        hw_type_mask(heap, sizeof(struct entry), &links, 1, &entry_type, &why) ||
        hw_type_no_pointers(heap, sizeof(struct value), &value_type, &why) ||
        hw_type_no_pointers(heap, sizeof(uint64_t), &number_type, &why)) {
        give_up("no type", &why);
    }
}

int main(int argc, char **argv) {
    const char *name = argc > 1 ? argv[1] : "";
    uint64_t n = argc > 2 ? strtoull(argv[2], NULL, 10) : 0, checksum;
    hw_heap *heap;
    hw_error why;
    hw_options options;
    hw_options_init(&options);
    options.verify = argc > 3;
    small = n < 100000;
    if (small) {
        options.min_heap = 64 << 10;
        options.percent = 10;
    }
    if (n == 0 || n > UINT64_C(1) << 31) return 2;
    if (hw_heap_create(&options, &heap, &why)) give_up("no heap", &why);
    if (hw_attach(heap, NULL, &m, &why)) give_up("not attached", &why);
    make_types(heap);

    if (strcmp(name, "graph") == 0) {
        checksum = graph(n);
        printf("graph ops %" PRIu64, n * ROUNDS);
    } else if (strcmp(name, "map") == 0) {
        checksum = map(n);
        printf("map ops %" PRIu64, n * ROUNDS);
    } else {
        return 2;
    }
    printf(" checksum 0x%016" PRIx64 "\n", checksum);

    collect_if_small();
    hw_stats stats = {.size = sizeof stats};
    hw_stats_get(heap, &stats);
    if (stats.barrier_violations != 0 || (small && stats.collections < 2)) {
        fprintf(stderr, "stores: %" PRIu64 " stores around the barrier, %" PRIu64 " collections\n",
                stats.barrier_violations, stats.collections);
        return 1;
    }
    if (hw_detach(m) || hw_heap_destroy(heap, NULL)) return 1;
    return 0;
}
