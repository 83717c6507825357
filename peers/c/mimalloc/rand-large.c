/* RandLarge with mimalloc (mi_malloc and mi_free), every block freed by hand. */
#define PEER_MIMALLOC
#include "../glibc/rand-large.c"
