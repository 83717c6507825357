/* Treap with mimalloc (mi_malloc and mi_free): nodes and items count their references,
   and are freed by hand when there are none. */
#define PEER_MIMALLOC
#include "../glibc/treap.c"
