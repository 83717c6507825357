/* What the churn peers in C share: the objects, and what is read of them. */
#ifndef PEERS_CHURN_H
#define PEERS_CHURN_H

#include "common.h"
#include "gaps.h"

enum { TABLE_SLOTS = 1000000 };
#define DEFAULT_OPS 20000000
#define MAX_OPS (UINT64_C(1) << 48)

/* The size the random number asks for: 64..=128 bytes, a multiple of 8. */
static inline size_t object_bytes(uint64_t r) {
    return (size_t)((64 + (r >> 32) % 65) & ~UINT64_C(7));
}

/* Writes the whole object; word 0 tells its size. */
static inline void write_object(uint64_t *object, size_t bytes, uint64_t r) {
    object[0] = bytes;
    for (size_t k = 1; k < bytes / 8; k++) object[k] = r + k;
}

static inline uint64_t add_to_checksum(uint64_t checksum, const uint64_t *object) {
    return checksum * 31 + object[0] + object[object[0] / 8 - 1];
}

#endif
