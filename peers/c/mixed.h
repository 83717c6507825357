/* Mixed in C: a cache of documents whose sizes reach from 32 bytes to 256 KiB,
   replaced at random, while what it holds changes over time: in even phases
   most bodies are small, in odd ones eight times as large, and after each phase
   7 of 10 documents are dropped. A program includes its memory.h
   before this. */
#ifndef PEERS_MIXED_H
#define PEERS_MIXED_H

#include "common.h"
#include "gaps.h"

enum { CACHE_SLOTS = 100000, PHASES = 8 };
#define DEFAULT_OPS 4000000
#define MAX_OPS (UINT64_C(1) << 48)

/* The lowest octave of bodies, in bytes, in the phases of small ones and of
   large ones, and the highest. */
enum { SMALL_BODIES = 5, LARGE_BODIES = 8, HIGHEST_OCTAVE = 17 };

/* Word 0 of the body is the number of its words. */
struct document {
    uint64_t *body;
    uint64_t **fragments;
    uint64_t fragment_count;
};

/* The words of the body that the number asks for, from those octaves up: each
   is half as likely as the one below. */
static inline uint64_t body_words(uint64_t r, int lowest) {
    int octave = lowest + __builtin_ctzll(r | 1 << 12);
    if (octave > HIGHEST_OCTAVE) octave = HIGHEST_OCTAVE;
    uint64_t least = (UINT64_C(1) << octave) / 8;
    return least + (r >> 32) % least;
}

static inline uint64_t *new_words(uint64_t count, uint64_t first) {
    uint64_t *words = check_memory(PLAIN_MEMORY(count * sizeof *words));
    for (uint64_t k = 0; k < count; k++) words[k] = first + k;
    return words;
}

static inline struct document *new_document(uint64_t r, int lowest) {
    uint64_t words = body_words(r, lowest);
    uint64_t *body = new_words(words, r);
    body[0] = words;
    /* Half of the documents have 1 to 8 fragments of 16 to 64 bytes. */
    uint64_t count = 1 + (r >> 16) % 16;
    uint64_t **fragments = NULL;
    if (count > 8) {
        count = 0;
    } else {
        fragments = check_memory(POINTER_MEMORY(count * sizeof *fragments));
        for (uint64_t i = 0; i < count; i++) {
            uint64_t first = (r >> 20) + i;
            fragments[i] = new_words(2 + first % 7, first);
        }
    }
    struct document *document = check_memory(POINTER_MEMORY(sizeof *document));
    *document = (struct document){body, fragments, count};
    return document;
}

static inline void drop_document(struct document *document) {
    if (document == NULL) return;
    for (uint64_t i = 0; i < document->fragment_count; i++) RELEASE(document->fragments[i]);
    RELEASE(document->fragments);
    RELEASE(document->body);
    RELEASE(document);
}

static inline uint64_t add_to_checksum(uint64_t checksum, const struct document *document) {
    if (document == NULL) return checksum;
    const uint64_t *body = document->body;
    return checksum * 31 + body[0] + body[body[0] - 1] + document->fragment_count;
}

static inline struct document **fill_cache(uint64_t *rng) {
    struct document **cache = check_memory(TABLE_MEMORY(CACHE_SLOTS * sizeof *cache));
    for (size_t i = 0; i < CACHE_SLOTS; i++) cache[i] = new_document(next_random(rng), LARGE_BODIES);
    return cache;
}

static inline void run_phases(struct document **cache, uint64_t ops, uint64_t *rng,
                              struct report *report) {
    uint64_t checksum = 0;
    struct gaps gaps = gaps_start();
    for (uint64_t phase = 0; phase < PHASES; phase++) {
        int lowest = phase % 2 == 0 ? SMALL_BODIES : LARGE_BODIES;
        for (uint64_t i = ops * phase / PHASES; i < ops * (phase + 1) / PHASES; i++) {
            size_t slot = (next_random(rng) & 0xffffffff) % CACHE_SLOTS;
            checksum = add_to_checksum(checksum, cache[slot]);
            drop_document(cache[slot]);
            cache[slot] = new_document(next_random(rng), lowest);
            if (i % 16 == 15) gaps_sample(&gaps);
        }
        for (size_t slot = 0; slot < CACHE_SLOTS; slot++) {
            if ((next_random(rng) >> 32) % 10 < 7) {
                drop_document(cache[slot]);
                cache[slot] = NULL;
            }
        }
        gaps_sample(&gaps);
    }
    gaps_stop(&gaps);
    gaps_report("mixed", ops, checksum, &gaps, report);
}

static inline void drop_cache(struct document **cache) {
    for (size_t i = 0; i < CACHE_SLOTS; i++) drop_document(cache[i]);
    RELEASE(cache);
}

static inline void mixed(uint64_t ops, struct report *report) {
    uint64_t rng = SEED;
    /* On the stack, where a conservative collector sees it. */
    struct document **volatile cache = fill_cache(&rng);
    run_phases(cache, ops, &rng, report);
    drop_cache(cache);
}

#endif
