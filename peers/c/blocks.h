/* What the programs in C share that replace blocks in a table: rand-small and
   rand-large, whose blocks are never touched, and conalloc, which hashes them.
   Before including this, a program defines
     BLOCK_MEMORY(bytes), TABLE_MEMORY(bytes)
   for memory that may be uncleared, except that of the table, and
     RELEASE(p)
   for what is no longer used; it may do nothing. */
#ifndef PEERS_BLOCKS_H
#define PEERS_BLOCKS_H

#include "common.h"
#include "threads.h"
#include "twister.h"

#define DEFAULT_ITERATIONS 10000
#define MAX_ITERATIONS (UINT64_C(1) << 32)
#define DEFAULT_BLOCKS 10000000
#define MAX_BLOCKS (UINT64_C(1) << 48)
enum { CONALLOC_THREADS = 4, CONALLOC_SLOTS = 4096 };

/* The table is kept on the stack, where a conservative collector sees it. */
static inline void release_all(uint64_t **table, size_t slots) {
    for (size_t i = 0; i < slots; i++) RELEASE(table[i]);
    RELEASE(table);
}

static inline void replace_blocks(const char *name, size_t slots, uint32_t least, uint32_t most,
                                  uint32_t seed, uint64_t iterations, struct report *report) {
    struct twister twister;
    twister_start(&twister, seed);
    uint64_t **volatile table = check_memory(TABLE_MEMORY(slots * sizeof *table));
    uint64_t checksum = 0;
    for (uint64_t n = 0; n < iterations; n++) {
        uint64_t **slot = table;
        for (size_t i = 0; i < slots; i++) {
            uint32_t bytes = twister_within(&twister, least, most);
            RELEASE(slot[i]);
            slot[i] = check_memory(BLOCK_MEMORY(bytes));
            checksum = checksum * 31 + bytes;
        }
    }
    report_checksum(name, "iterations", iterations, checksum, report);
    release_all(table, slots);
}

static inline void rand_small(uint64_t iterations, struct report *report) {
    replace_blocks("rand-small", 4096, 8, 2047, 2929088778, iterations, report);
}

static inline void rand_large(uint64_t iterations, struct report *report) {
    replace_blocks("rand-large", 1024, 1024, 131072, 1202387523, iterations, report);
}

/* FNV-1a by words, of which word 0 tells how many there are. */
static inline uint64_t hash_block(uint64_t hash, const uint64_t *block) {
    for (uint64_t k = 1; k <= block[0]; k++) hash = (hash ^ block[k]) * UINT64_C(0x100000001b3);
    return hash;
}

static inline void conalloc(uint64_t blocks, struct report *report) {
    uint64_t rng = SEED, hash = UINT64_C(0xcbf29ce484222325);
    uint64_t **volatile table = check_memory(TABLE_MEMORY(CONALLOC_SLOTS * sizeof *table));
    for (uint64_t n = 0; n < blocks; n++) {
        uint64_t r = next_random(&rng);
        uint64_t **slot = table + (r & 0xffffffff) % CONALLOC_SLOTS;
        if (*slot != NULL) {
            hash = hash_block(hash, *slot);
            RELEASE(*slot);
        }
        uint64_t words = 2 + (r >> 32) % 31;
        uint64_t *block = check_memory(BLOCK_MEMORY((1 + words) * sizeof *block));
        block[0] = words;
        for (uint64_t k = 0; k < words; k++) block[1 + k] = r + k;
        *slot = block;
    }
    fprintf(report->lines, "conalloc blocks %" PRIu64 " hash 0x%016" PRIx64 "\n", blocks, hash);
    release_all(table, CONALLOC_SLOTS);
}

#endif
