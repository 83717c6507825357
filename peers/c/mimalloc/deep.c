/* Deep with mimalloc (mi_malloc and mi_free), every object freed by hand. Nothing here
   scans a stack: it is the floor. */
#define PEER_MIMALLOC
#include "../glibc/deep.c"
