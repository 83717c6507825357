/* Blocks of the libgc peers: without pointers (GC_MALLOC_ATOMIC), and so not
   cleared. What is dropped is only forgotten. */
#ifndef PEERS_LIBGC_BLOCKS_H
#define PEERS_LIBGC_BLOCKS_H

#include "start.h"

#define BLOCK_MEMORY(bytes) GC_MALLOC_ATOMIC(bytes)
#define TABLE_MEMORY(bytes) GC_MALLOC(bytes)
#define RELEASE(p) ((void)(p))
#include "../blocks.h"

#endif
