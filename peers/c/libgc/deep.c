/* Deep with libgc: a recursion whose calls hold an object each. It compares what
   collections of a deep stack cost. */
#include "memory.h"
#include "../deep.h"

int main(int argc, char **argv) {
    start_collector(&argc, argv);
    return run(argc, argv, DEFAULT_CALLS, MAX_CALLS, 1, run_deep);
}
