/* What the test programs share. A failed check says where, and ends the program. */
#ifndef CHECK_H
#define CHECK_H
#ifndef GC_THREADS
#define GC_THREADS 1
#endif
#include <gc.h>
#include <gc/gc_mark.h>
#include <gc/gc_typed.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(x) \
    do { \
        if (!(x)) { \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x); \
            abort(); \
        } \
    } while (0)

/* Calls a function far down the stack, so that no words of its calls are left where later calls have their frames. */
static void __attribute__((noinline, unused)) far_down(void (*function)(void)) {
    volatile char room[1 << 19];
    room[0] = 0;
    function();
    room[1] = 0;
}

/* Calls a function some way down: what it leaves is not where later calls of main have their frames, and it does not see what was left far
   down. */
static void __attribute__((noinline, unused)) down(void (*function)(void)) {
    volatile char room[1 << 17];
    room[0] = 0;
    function();
    room[1] = 0;
}

/* Overwrites the words that earlier calls have left where later calls have their frames. */
static void __attribute__((noinline, unused)) clear_stack(void) {
    volatile char words[1 << 16];
    memset((char *)words, 0, sizeof words);
}

static void __attribute__((noinline, unused)) collect(void) {
    for (int i = 0; i < 3; i++) {
        clear_stack();
        GC_gcollect();
    }
}
#endif
