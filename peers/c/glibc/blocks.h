/* Blocks of the peers that free by hand, one by one. */
#ifndef PEERS_GLIBC_BLOCKS_H
#define PEERS_GLIBC_BLOCKS_H

#include "../allocator.h"

#define BLOCK_MEMORY(bytes) PEER_MALLOC(bytes)
#define TABLE_MEMORY(bytes) PEER_CALLOC(1, bytes)
#define RELEASE(p) PEER_FREE(p)
#include "../blocks.h"

#endif
