/* The fast paths as a C program compiles them: see lib.rs. */
#include <heapwood.h>

/* A type that is known at run time. */
void *alloc(hw_mutator *m, hw_type type) { return hw_alloc(m, type); }

/* One that the compiler knows. */
void *alloc_known(hw_mutator *m) { return hw_alloc(m, 1 << 14 | 149); }

void *alloc_bytes(hw_mutator *m, size_t n) { return hw_alloc_bytes(m, n); }

void *alloc_24_bytes(hw_mutator *m) { return hw_alloc_bytes(m, 24); }

void write_pointer(hw_mutator *m, void **object, void *value) { hw_write(m, object, &object[1], value); }

void *arena_alloc(hw_arena *arena, hw_type type) { return hw_arena_alloc(arena, type, 1); }

void *arena_alloc_bytes(hw_arena *arena, size_t n) { return hw_arena_alloc_bytes(arena, n); }

void safepoint(hw_mutator *m) { hw_safepoint(m); }

void frame(hw_mutator *m, void **slot, void *value) {
    hw_frame frame;
    hw_frame_push(m, &frame, slot, 1);
    *slot = value;
    hw_frame_pop(m, &frame);
}
