/* What the peers in C share: the random numbers, the clock, the arguments. */
#ifndef PEERS_COMMON_H
#define PEERS_COMMON_H

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* xorshift64*, always from the same seed: every peer does the same work. */
#define SEED UINT64_C(0x9E3779B97F4A7C15)

static inline uint64_t next_random(uint64_t *state) {
    uint64_t x = *state;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    *state = x;
    return x * UINT64_C(0x2545F4914F6CDD1D);
}

static inline uint64_t monotonic_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static inline void *check_memory(void *p) {
    if (p == NULL) {
        fputs("out of memory\n", stderr);
        exit(1);
    }
    return p;
}

/* Takes the flag out of the arguments; tells whether it was there. */
static inline bool take_flag(int *argc, char **argv, const char *flag) {
    for (int i = 1; i < *argc; i++) {
        if (strcmp(argv[i], flag) == 0) {
            for (int k = i; k < *argc; k++) argv[k] = argv[k + 1];
            --*argc;
            return true;
        }
    }
    return false;
}

/* Prints what the program runs on, and ends, if that is asked in place of N. */
static inline void answer_version(int argc, char **argv, const char *version) {
    if (argc > 1 && strcmp(argv[argc - 1], "--version") == 0) {
        puts(version);
        exit(0);
    }
}

/* The one number a program takes, 1..=limit, or its default. */
static inline uint64_t take_number(int argc, char **argv, uint64_t normal, uint64_t limit) {
    if (argc < 2) return normal;
    char *end = argv[1];
    errno = 0;
    uint64_t n = argv[1][0] >= '0' && argv[1][0] <= '9' ? strtoull(argv[1], &end, 10) : 0;
    if (argc > 2 || *end != '\0' || errno != 0 || n == 0 || n > limit) {
        fprintf(stderr, "usage: %s [NUMBER, 1..%" PRIu64 ", default %" PRIu64 "]\n", argv[0], limit,
                normal);
        exit(2);
    }
    return n;
}

#endif
