/* What the libgc peers do that count dead objects. A word that was left on the stack,
   or in a register, may keep an object or two for a collection more. So tables are
   filled in a call far below, and a few are taken for alive. */
#ifndef PEERS_LIBGC_STRAY_H
#define PEERS_LIBGC_STRAY_H

#include "../common.h"
#include "start.h"

/* Of N objects. */
static inline uint64_t most_stray(uint64_t n) {
    return 16 + n / 1000;
}

static inline void require_few_stray(uint64_t stray, uint64_t n, const char *what) {
    if (stray > most_stray(n)) {
        fprintf(stderr, "%" PRIu64 " %s\n", stray, what);
        exit(1);
    }
}

/* Overwrites the stack below the caller's frame. */
static __attribute__((noinline)) void clear_below(void) {
    volatile uint64_t words[2048];
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) words[i] = 0;
}

#endif
