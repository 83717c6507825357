/* Tree1 with mimalloc (mi_malloc and mi_free), every node freed by hand. */
#define PEER_MIMALLOC
#include "../glibc/tree1.c"
