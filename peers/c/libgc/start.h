/* How the libgc peers start the collector, or tell its version. Its defaults hold, apart from two
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

/* Of the library that is linked, not of the header. */
static inline const char *collector_version(void) {
    static char text[32];
    unsigned v = GC_get_version();
    snprintf(text, sizeof text, "%u.%u.%u", v >> 16, v >> 8 & 0xff, v & 0xff);
    return text;
}

static inline void start_collector(int *argc, char **argv) {
    answer_version(*argc, argv, collector_version());
    if (take_flag(argc, argv, "--no-interior")) GC_set_all_interior_pointers(0);
    bool parallel = take_flag(argc, argv, "--parallel");
    GC_INIT();
    if (parallel) GC_start_mark_threads();
}

#endif
