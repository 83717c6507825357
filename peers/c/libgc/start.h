/* How the libgc peers start the collector. Its defaults hold, apart from two
   flags:
   --no-interior  no pointer in the heap points into the middle or past the end
                  of an object (true of all these programs). libgc then need not
                  add a byte to every object, and 16 bytes take 16, not 32.
   --parallel     start the parallel markers, which libgc otherwise does not do
                  in a program with one thread; GC_MARKERS tells how many. */
#ifndef PEERS_LIBGC_START_H
#define PEERS_LIBGC_START_H

#define GC_THREADS
#include <gc.h>

#include "../common.h"

static inline void start_collector(int *argc, char **argv) {
    if (take_flag(argc, argv, "--no-interior")) GC_set_all_interior_pointers(0);
    bool parallel = take_flag(argc, argv, "--parallel");
    GC_INIT();
    if (parallel) GC_start_mark_threads();
}

#endif
