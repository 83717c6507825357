/* The allocator of a peer that frees by hand: mimalloc if PEER_MIMALLOC is
   defined, else the malloc of the C library. */
#ifndef PEERS_ALLOCATOR_H
#define PEERS_ALLOCATOR_H

#ifdef PEER_MIMALLOC
#include <mimalloc.h>
#define PEER_MALLOC(bytes) mi_malloc(bytes)
#define PEER_FREE(p) mi_free(p)
#else
#include <stdlib.h>
#define PEER_MALLOC(bytes) malloc(bytes)
#define PEER_FREE(p) free(p)
#endif

#endif
