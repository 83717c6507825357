/* Churn with malloc and free: objects of 64 to 128 bytes replaced at random in
   a large table, the old one freed by hand. It compares throughput and the
   longest stall with those of a collector. The mimalloc peer is this source,
   too, with another allocator (see ../allocator.h). */
#include "../allocator.h"
#include "../churn.h"

static uint64_t *new_object(uint64_t r) {
    size_t bytes = object_bytes(r);
    uint64_t *object = check_memory(PEER_MALLOC(bytes));
    write_object(object, bytes, r);
    return object;
}

static void churn(uint64_t ops, struct report *report) {
    uint64_t rng = SEED;

    uint64_t **table = check_memory(PEER_MALLOC(TABLE_SLOTS * sizeof *table));
    for (size_t i = 0; i < TABLE_SLOTS; i++) table[i] = new_object(next_random(&rng));

    uint64_t checksum = 0;
    struct gaps gaps = gaps_start();
    for (uint64_t i = 0; i < ops; i++) {
        uint64_t r = next_random(&rng);
        size_t slot = (r & 0xffffffff) % TABLE_SLOTS;
        checksum = add_to_checksum(checksum, table[slot]);
        PEER_FREE(table[slot]);
        table[slot] = new_object(r);
        if (i % 16 == 15) gaps_sample(&gaps);
    }
    gaps_stop(&gaps);
    gaps_report("churn", ops, checksum, &gaps, report);

    for (size_t i = 0; i < TABLE_SLOTS; i++) PEER_FREE(table[i]);
    PEER_FREE(table);
}

int main(int argc, char **argv) {
    answer_version(argc, argv, allocator_version());
    return run(argc, argv, DEFAULT_OPS, MAX_OPS, 1, churn);
}
