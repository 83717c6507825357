/* What the churn peers in C share: the sizes of the objects. */
#ifndef PEERS_CHURN_H
#define PEERS_CHURN_H

#include "common.h"
#include "gaps.h"
#include "object.h"

enum { TABLE_SLOTS = 1000000 };
#define DEFAULT_OPS 20000000
#define MAX_OPS (UINT64_C(1) << 48)

/* The size the random number asks for: 64..=128 bytes, a multiple of 8. */
static inline size_t object_bytes(uint64_t r) {
    return (size_t)((64 + (r >> 32) % 65) & ~UINT64_C(7));
}

#endif
