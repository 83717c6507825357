// Churn in Java: objects without pointers, of 64 to 128 bytes, replaced at
// random in a large table. It compares throughput and the longest stall of the
// program while the collector works.

final class Churn {
    private static final int TABLE_SLOTS = 1_000_000;

    private Churn() {}

    // Allocates an object whose size the random number r decides, and writes the
    // whole of it. The array's own header of 16 bytes comes on top of the size.
    private static long[] newObject(long r) {
        int size = (int) (64 + (r >>> 32) % 65) & ~7;
        long[] object = new long[size / 8];
        object[0] = size;
        for (int k = 1; k < object.length; k++) {
            object[k] = r + k;
        }
        return object;
    }

    static void run(long ops) {
        Xorshift random = new Xorshift();

        long[][] table = new long[TABLE_SLOTS][];
        for (int i = 0; i < TABLE_SLOTS; i++) {
            table[i] = newObject(random.next());
        }

        long checksum = 0;
        long longest = 0;
        long start = System.nanoTime();
        long last = start;
        for (long i = 0; i < ops; i++) {
            long r = random.next();
            int slot = (int) ((r & 0xffffffffL) % TABLE_SLOTS);
            long[] old = table[slot];
            checksum = checksum * 31 + old[0] + old[old.length - 1];
            table[slot] = newObject(r);
            if (i % 16 == 15) {
                long now = System.nanoTime();
                longest = Math.max(longest, now - last);
                last = now;
            }
        }
        long elapsed = System.nanoTime() - start;

        System.out.printf("churn ops %d checksum 0x%016x\n", ops, checksum);
        System.out.printf("figure longest_gap_us %.1f\n", longest / 1e3);
        System.out.printf("figure mops %.3f\n", ops * 1e3 / elapsed);
    }
}
