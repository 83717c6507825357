/* Slots with mimalloc (mi_malloc and mi_free), every pair freed by hand. It compares
   throughput and memory with those of a collector. */
#define PEER_MIMALLOC
#include "../glibc/slots.c"
