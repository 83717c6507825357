/* Pipe with mimalloc: messages that one thread makes (mi_malloc) and another frees
   (mi_free). It compares throughput with that of a collector. */
#define PEER_MIMALLOC
#include "../glibc/pipe.c"
