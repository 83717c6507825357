/* Malloc with mimalloc (mi_calloc and mi_free), each object freed as soon as it was
   made. */
#define PEER_MIMALLOC
#include "../glibc/malloc.c"
