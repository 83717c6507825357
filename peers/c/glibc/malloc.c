/* Malloc with calloc and free: objects of seven kinds, each freed as soon as it was
   made. The mimalloc peer is this source, too, with another allocator (see
   ../allocator.h). */
#include "../allocator.h"

#define PLAIN_MEMORY(bytes) PEER_CALLOC(1, bytes)
#define POINTER_MEMORY(bytes) PEER_CALLOC(1, bytes)
#define RELEASE(p) PEER_FREE(p)
#include "../malloc.h"

int main(int argc, char **argv) {
    answer_version(argc, argv, allocator_version());
    return run(argc, argv, DEFAULT_THOUSANDS, MAX_THOUSANDS, 1, allocate_and_drop);
}
