/* Queue with mimalloc (mi_malloc and mi_free), every object freed by hand. It
   compares throughput and memory with those of a collector. */
#define PEER_MIMALLOC
#include "../glibc/queue.c"
