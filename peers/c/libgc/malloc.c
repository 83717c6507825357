/* Malloc with libgc: objects of seven kinds, of which nothing is left but an integer
   that is not scanned. What has no pointers (GC_MALLOC_ATOMIC) is zeroed by the
   program, all else by the collector. */
#include "start.h"

/* Of a size that the compiler knows. */
static inline void *zeroed(void *object, size_t bytes) {
    return memset(check_memory(object), 0, bytes);
}

#define PLAIN_MEMORY(bytes) zeroed(GC_MALLOC_ATOMIC(bytes), bytes)
#define POINTER_MEMORY(bytes) GC_MALLOC(bytes)
#define RELEASE(p) ((void)(p))
#include "../malloc.h"

int main(int argc, char **argv) {
    start_collector(&argc, argv);
    return run(argc, argv, DEFAULT_THOUSANDS, MAX_THOUSANDS, 1, allocate_and_drop);
}
