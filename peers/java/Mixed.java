// Mixed in Java: a cache of documents whose sizes reach from 32 bytes to 256 KiB,
// replaced at random, while what it holds changes over time: in even phases most
// bodies are small, in odd ones eight times as large, and after each phase 7 of
// 10 documents are dropped. It compares throughput and memory.

final class Mixed {
    private static final int CACHE_SLOTS = 100_000;
    private static final int PHASES = 8;

    // The lowest octave of bodies, in bytes, in the phases of small ones and of
    // large ones, and the highest.
    private static final int SMALL_BODIES = 5;
    private static final int LARGE_BODIES = 8;
    private static final int HIGHEST_OCTAVE = 17;

    private static final long[][] NO_FRAGMENTS = {};

    private record Document(long[] body, long[][] fragments) {}

    private Mixed() {}

    // The words of the body that the number asks for, from those octaves up: each
    // is half as likely as the one below.
    private static int bodyWords(long r, int lowest) {
        int octave = Math.min(lowest + Long.numberOfTrailingZeros(r | 1 << 12), HIGHEST_OCTAVE);
        int least = (1 << octave) / 8;
        return least + (int) ((r >>> 32) % least);
    }

    private static long[] newWords(int count, long first) {
        long[] words = new long[count];
        for (int k = 0; k < count; k++) {
            words[k] = first + k;
        }
        return words;
    }

    private static Document newDocument(long r, int lowest) {
        int words = bodyWords(r, lowest);
        long[] body = newWords(words, r);
        body[0] = words;
        // Half of the documents have 1 to 8 fragments of 16 to 64 bytes.
        int count = 1 + (int) ((r >>> 16) % 16);
        long[][] fragments = NO_FRAGMENTS;
        if (count <= 8) {
            fragments = new long[count][];
            for (int i = 0; i < count; i++) {
                long first = (r >>> 20) + i;
                fragments[i] = newWords(2 + (int) (first % 7), first);
            }
        }
        return new Document(body, fragments);
    }

    static void run(long ops) {
        Xorshift random = new Xorshift();

        Document[] cache = new Document[CACHE_SLOTS];
        for (int i = 0; i < CACHE_SLOTS; i++) {
            cache[i] = newDocument(random.next(), LARGE_BODIES);
        }

        long checksum = 0;
        long longest = 0;
        long start = System.nanoTime();
        long last = start;
        for (int phase = 0; phase < PHASES; phase++) {
            int lowest = phase % 2 == 0 ? SMALL_BODIES : LARGE_BODIES;
            for (long i = ops * phase / PHASES; i < ops * (phase + 1) / PHASES; i++) {
                int slot = (int) ((random.next() & 0xffffffffL) % CACHE_SLOTS);
                Document old = cache[slot];
                if (old != null) {
                    long[] body = old.body();
                    checksum = checksum * 31 + body[0] + body[body.length - 1] + old.fragments().length;
                }
                cache[slot] = newDocument(random.next(), lowest);
                if (i % 16 == 15) {
                    long now = System.nanoTime();
                    longest = Math.max(longest, now - last);
                    last = now;
                }
            }
            for (int slot = 0; slot < CACHE_SLOTS; slot++) {
                if ((random.next() >>> 32) % 10 < 7) {
                    cache[slot] = null;
                }
            }
            long now = System.nanoTime();
            longest = Math.max(longest, now - last);
            last = now;
        }
        long elapsed = System.nanoTime() - start;

        System.out.printf("mixed ops %d checksum 0x%016x\n", ops, checksum);
        System.out.printf("figure longest_gap_us %.1f\n", longest / 1e3);
        System.out.printf("figure mops %.3f\n", ops * 1e3 / elapsed);
    }
}
