/* List with mimalloc (mi_malloc and mi_free), every node freed by hand. It compares
   what a growing heap costs. */
#define PEER_MIMALLOC
#include "../glibc/list.c"
