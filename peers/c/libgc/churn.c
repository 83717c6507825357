/* Churn with libgc: objects without pointers (GC_MALLOC_ATOMIC), of 64 to 128
   bytes, replaced at random in a large table. It compares throughput and the
   longest stall of the program while the collector works. */
#include "start.h"

#include "../churn.h"

static uint64_t *new_object(uint64_t r) {
    size_t bytes = object_bytes(r);
    uint64_t *object = check_memory(GC_MALLOC_ATOMIC(bytes));
    write_object(object, bytes, r);
    return object;
}

static void churn(uint64_t ops, struct report *report) {
    uint64_t rng = SEED;

    /* What libgc's manual advises for large arrays; the start is kept on the stack. */
    uint64_t **volatile kept =
        check_memory(GC_MALLOC_IGNORE_OFF_PAGE(TABLE_SLOTS * sizeof *kept));
    uint64_t **table = kept;
    for (size_t i = 0; i < TABLE_SLOTS; i++) table[i] = new_object(next_random(&rng));

    uint64_t checksum = 0;
    struct gaps gaps = gaps_start();
    for (uint64_t i = 0; i < ops; i++) {
        uint64_t r = next_random(&rng);
        size_t slot = (r & 0xffffffff) % TABLE_SLOTS;
        checksum = add_to_checksum(checksum, table[slot]);
        table[slot] = new_object(r);
        if (i % 16 == 15) gaps_sample(&gaps);
    }
    gaps_stop(&gaps);
    gaps_report("churn", ops, checksum, &gaps, report);
}

int main(int argc, char **argv) {
    start_collector(&argc, argv);
    return run(argc, argv, DEFAULT_OPS, MAX_OPS, 1, churn);
}
