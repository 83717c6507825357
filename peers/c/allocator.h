/* The allocator of a peer that frees by hand: mimalloc if PEER_MIMALLOC is
   defined, else the malloc of the C library. */
#ifndef PEERS_ALLOCATOR_H
#define PEERS_ALLOCATOR_H

#ifdef PEER_MIMALLOC

#include <mimalloc.h>
#include <stdio.h>

#define PEER_MALLOC(bytes) mi_malloc(bytes)
#define PEER_CALLOC(items, bytes) mi_calloc(items, bytes)
#define PEER_FREE(p) mi_free(p)

/* One number: 209 is 2.0.9; with five digits, 20405 is 2.4.5. */
static inline const char *allocator_version(void) {
    static char text[32];
    int v = mi_version(), base = v < 10000 ? 10 : 100;
    snprintf(text, sizeof text, "%d.%d.%d", v / base / base, v / base % base, v % base);
    return text;
}

#else

#include <gnu/libc-version.h>
#include <stdlib.h>

#define PEER_MALLOC(bytes) malloc(bytes)
#define PEER_CALLOC(items, bytes) calloc(items, bytes)
#define PEER_FREE(p) free(p)

static inline const char *allocator_version(void) {
    return gnu_get_libc_version();
}

#endif

#endif
