/* Deep with malloc and free: a recursion whose calls hold an object each, and free it
   by hand as they return. Nothing here scans a stack: it is the floor. The mimalloc
   peer is this source, too, with another allocator (see ../allocator.h). */
#include "memory.h"
#include "../deep.h"

int main(int argc, char **argv) {
    answer_version(argc, argv, allocator_version());
    return run(argc, argv, DEFAULT_CALLS, MAX_CALLS, 1, run_deep);
}
