/* Objects without pointers, of 16 bytes or more, a multiple of 8: word 0 is the
   size in bytes. A checksum takes the first and the last word. */
#ifndef PEERS_OBJECT_H
#define PEERS_OBJECT_H

#include "common.h"

/* Writes the whole object. */
static inline void write_object(uint64_t *object, size_t bytes, uint64_t r) {
    object[0] = bytes;
    for (size_t k = 1; k < bytes / 8; k++) object[k] = r + k;
}

/* Writes the first and the last word only. */
static inline void write_ends(uint64_t *object, size_t bytes, uint64_t r) {
    object[0] = bytes;
    object[bytes / 8 - 1] = r;
}

static inline uint64_t add_to_checksum(uint64_t checksum, const uint64_t *object) {
    return checksum * 31 + object[0] + object[object[0] / 8 - 1];
}

#endif
