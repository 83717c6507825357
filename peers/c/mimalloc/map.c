/* Map with mimalloc (mi_malloc and mi_free), entries and values freed by hand. It
   compares throughput and memory with those of a collector. */
#define PEER_MIMALLOC
#include "../glibc/map.c"
