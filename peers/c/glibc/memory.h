/* Memory of the peers that free by hand: without pointers, with pointers, and for
   tables, which are zero. All is freed, object by object. */
#ifndef PEERS_GLIBC_MEMORY_H
#define PEERS_GLIBC_MEMORY_H

#include "../allocator.h"

#define PLAIN_MEMORY(bytes) PEER_MALLOC(bytes)
#define POINTER_MEMORY(bytes) PEER_MALLOC(bytes)
#define TABLE_MEMORY(bytes) PEER_CALLOC(1, bytes)
#define RELEASE(p) PEER_FREE(p)

#endif
