/* The random numbers of rand-small and rand-large: the Mersenne Twister MT19937
   of Matsumoto and Nishimura, and numbers drawn from a range as D's standard
   library draws them. */
#ifndef PEERS_TWISTER_H
#define PEERS_TWISTER_H

#include <stdint.h>

enum { TWISTER_WORDS = 624, TWISTER_AHEAD = 397 };

struct twister {
    uint32_t words[TWISTER_WORDS];
    int next;
};

static inline void twister_start(struct twister *t, uint32_t seed) {
    t->words[0] = seed;
    for (uint32_t i = 1; i < TWISTER_WORDS; i++) {
        uint32_t last = t->words[i - 1];
        t->words[i] = UINT32_C(1812433253) * (last ^ last >> 30) + i;
    }
    t->next = TWISTER_WORDS;
}

static void twister_twist(struct twister *t) {
    for (int i = 0; i < TWISTER_WORDS; i++) {
        uint32_t next = t->words[(i + 1) % TWISTER_WORDS];
        uint32_t both = (t->words[i] & UINT32_C(0x80000000)) | (next & UINT32_C(0x7fffffff));
        uint32_t odd = next & 1 ? UINT32_C(0x9908b0df) : 0;
        t->words[i] = t->words[(i + TWISTER_AHEAD) % TWISTER_WORDS] ^ both >> 1 ^ odd;
    }
    t->next = 0;
}

static inline uint32_t twister_next(struct twister *t) {
    if (t->next == TWISTER_WORDS) twister_twist(t);
    uint32_t x = t->words[t->next++];
    x ^= x >> 11;
    x ^= x << 7 & UINT32_C(0x9d2c5680);
    x ^= x << 15 & UINT32_C(0xefc60000);
    return x ^ x >> 18;
}

/* From low to high, both included; numbers of the last range, which is not whole,
   are drawn again. */
static inline uint32_t twister_within(struct twister *t, uint32_t low, uint32_t high) {
    uint32_t range = high - low + 1, number, rest;
    do {
        number = twister_next(t);
        rest = number % range;
    } while (number - rest > UINT32_MAX - (range - 1));
    return low + rest;
}

#endif
