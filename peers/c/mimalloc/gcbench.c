/* GCBench with mimalloc (mi_malloc and mi_free), every node freed by hand. It
   compares the cost of a collector with that of a fast allocator. */
#define PEER_MIMALLOC
#include "../glibc/gcbench.c"
