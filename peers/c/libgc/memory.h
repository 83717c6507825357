/* Memory of the libgc peers: without pointers (GC_MALLOC_ATOMIC), which libgc does
   not clear, with pointers, and for tables, which are zero. What is dropped is only
   forgotten. */
#ifndef PEERS_LIBGC_MEMORY_H
#define PEERS_LIBGC_MEMORY_H

#include "start.h"

#define PLAIN_MEMORY(bytes) GC_MALLOC_ATOMIC(bytes)
#define POINTER_MEMORY(bytes) GC_MALLOC(bytes)
/* What libgc's manual advises for large arrays; the start is kept on the stack. */
#define TABLE_MEMORY(bytes) GC_MALLOC_IGNORE_OFF_PAGE(bytes)
#define RELEASE(p) ((void)(p))

#endif
