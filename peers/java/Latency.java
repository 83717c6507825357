// Latency in Java: a cache of entries of three nodes, replaced at random, and the
// gaps between its steps (see ../../workloads/src/latency.rs). Which collector runs,
// the launcher decides.

final class Latency {
    private static final int SAMPLE_STEPS = 4;
    private static final int ROUNDS = 16;
    private static final int LEAST_STEPS = 200_000;
    private static final int GAP_SUB = 32;

    // 64 bytes with references of 8 bytes, as ZGC has them, and 56 with those of 4.
    private static final class Node {
        Node left;
        Node right;
        final int check;
        final long key;
        final long a;
        final long b;
        final long c;

        Node(Node left, Node right, long key) {
            this.left = left;
            this.right = right;
            this.check = (int) key;
            this.key = key;
            this.a = key;
            this.b = key;
            this.c = key;
        }
    }

    private final Xorshift random = new Xorshift();
    private final Node[] table;
    private long sum;

    // The gaps. Noting one neither allocates nor touches new memory.
    private final long[] counts = new long[60 * GAP_SUB];
    private long gaps;
    private long longest;

    private Latency(int entries) {
        this.table = new Node[entries];
        for (int i = 0; i < entries; i++) {
            table[i] = newEntry(random.next());
        }
    }

    private static Node newEntry(long r) {
        return new Node(new Node(null, null, r + 1), new Node(null, null, r + 2), r);
    }

    private int slot(long r) {
        return (int) ((r >>> 32) * table.length >>> 32);
    }

    private void step() {
        long r = random.next();
        int slot = slot(r);
        switch ((int) (r & 3)) {
            case 0 -> table[slot] = newEntry(r);
            case 1 -> {
                Node a = table[slot];
                Node b = table[slot(random.next())];
                Node ofA = a.left;
                Node ofB = b.left;
                a.left = ofB;
                b.left = ofA;
            }
            default -> {
                Node root = table[slot];
                sum = sum * 31 + root.key + root.left.key + root.right.key;
            }
        }
    }

    private static int bucket(long ns) {
        if (ns < GAP_SUB) {
            return (int) ns;
        }
        int shift = 63 - Long.numberOfLeadingZeros(ns) - 5;
        return (int) (shift * GAP_SUB + (ns >>> shift));
    }

    private void note(long ns) {
        gaps++;
        counts[bucket(ns)]++;
        longest = Math.max(longest, ns);
    }

    // The length in microseconds that such a share of all gaps does not exceed.
    private double us(double share) {
        long sum = 0;
        for (int k = 0; k < counts.length; k++) {
            sum += counts[k];
            if (sum >= share * gaps) {
                int shift = k < GAP_SUB ? 0 : k / GAP_SUB - 1;
                return Math.min(longest, ((long) (k - shift * GAP_SUB + 1) << shift) - 1) / 1e3;
            }
        }
        return longest / 1e3;
    }

    static void run(long mib) {
        Latency cache = new Latency((int) Math.min(Integer.MAX_VALUE - 8, (mib << 20) / 192));
        long steps = Math.max((mib << 20) / 192 * ROUNDS, LEAST_STEPS) / SAMPLE_STEPS * SAMPLE_STEPS;
        long start = System.nanoTime();
        long last = start;
        for (long i = 0; i < steps; i += SAMPLE_STEPS) {
            for (int k = 0; k < SAMPLE_STEPS; k++) {
                cache.step();
            }
            long now = System.nanoTime();
            cache.note(now - last);
            last = now;
        }
        System.out.printf("latency steps %d checksum 0x%016x\n", steps, cache.sum);
        System.out.printf("figure mops %.3f\n", steps * 1e3 / (last - start));
        System.out.printf("figure gap_99_us %.3f\nfigure gap_99_9_us %.3f\nfigure gap_99_99_us %.3f\n",
            cache.us(0.99), cache.us(0.999), cache.us(0.9999));
        System.out.printf("figure longest_gap_us %.1f\n", cache.longest / 1e3);
    }
}
