/* Latency with libgc in its incremental mode (GC_enable_incremental): a cache
   replaced at random, and the gaps between its steps. GC_PAUSE_TIME_TARGET, in
   milliseconds, is libgc's own variable. */
#include "start.h"

#define NODE_MEMORY(bytes) GC_MALLOC(bytes)
#define TABLE_MEMORY(bytes) GC_MALLOC_IGNORE_OFF_PAGE(bytes)
#define RELEASE(p) ((void)(p))
#include "../latency.h"

int main(int argc, char **argv) {
    start_collector(&argc, argv);
    GC_enable_incremental();
    return run(argc, argv, DEFAULT_MIB, MAX_MIB, 1, latency);
}
