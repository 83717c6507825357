// Map in Java: a hash map with chains, into which entries are inserted and from
// which they are deleted at random, half and half. It is written out, since
// HashMap makes trees of long chains, and grows. It compares throughput and memory.

final class ChainedMap {
    private static final int ROUNDS = 10;

    // What a key has; no references.
    private record Value(long first, long second) {
        static Value of(long r) {
            return new Value(r, r + 1);
        }

        long addTo(long checksum) {
            return checksum * 31 + first + second;
        }
    }

    private static final class Entry {
        final long key;
        Value value;
        Entry next;

        Entry(long key, Value value, Entry next) {
            this.key = key;
            this.value = value;
            this.next = next;
        }
    }

    private final Entry[] buckets;
    private long checksum;

    private ChainedMap(int buckets) {
        this.buckets = new Entry[buckets];
    }

    private int bucket(long key) {
        return (int) ((key * 0x9E3779B97F4A7C15L >>> 32) % buckets.length);
    }

    // Puts a new entry before all others of its chain.
    private void insert(int bucket, long key, Value value) {
        buckets[bucket] = new Entry(key, value, buckets[bucket]);
    }

    // Inserts, if asked to, or deletes; a value that was there is added to the
    // checksum.
    private void operate(long key, boolean inserts, long r) {
        int bucket = bucket(key);
        Entry before = null;
        Entry entry = buckets[bucket];
        while (entry != null && entry.key != key) {
            before = entry;
            entry = entry.next;
        }
        if (entry == null) {
            if (inserts) {
                insert(bucket, key, Value.of(r));
            }
            return;
        }
        checksum = entry.value.addTo(checksum);
        if (inserts) {
            entry.value = Value.of(r);
        } else if (before == null) {
            buckets[bucket] = entry.next;
        } else {
            before.next = entry.next;
        }
    }

    private void addAll() {
        for (Entry entry : buckets) {
            for (; entry != null; entry = entry.next) {
                checksum = entry.value.addTo(checksum) + entry.key;
            }
        }
    }

    static void run(long entries) {
        Xorshift random = new Xorshift();
        ChainedMap map = new ChainedMap((int) Math.max(entries / 2, 1));
        for (long i = 0; i < entries; i++) {
            map.insert(map.bucket(2 * i), 2 * i, Value.of(random.next()));
        }

        long longest = 0;
        long ops = entries * ROUNDS;
        long start = System.nanoTime();
        long last = start;
        for (long i = 0; i < ops; i++) {
            long r = random.next();
            map.operate((r & 0xffffffffL) % (2 * entries), (r >>> 32) % 2 == 0, r);
            if (i % 16 == 15) {
                long now = System.nanoTime();
                longest = Math.max(longest, now - last);
                last = now;
            }
        }
        long elapsed = System.nanoTime() - start;

        map.addAll();
        System.out.printf("map ops %d checksum 0x%016x\n", ops, map.checksum);
        System.out.printf("figure longest_gap_us %.1f\n", longest / 1e3);
        System.out.printf("figure mops %.3f\n", ops * 1e3 / elapsed);
    }
}
