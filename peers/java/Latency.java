// Latency in Java: a cache of entries of three nodes, replaced at random for a
// chosen time, whose threads note the gaps between their own operations (see
// ../../workloads/src/latency.rs). Which collector runs, the launcher decides; the
// program says what ran.

import java.io.IOException;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CyclicBarrier;
import java.util.stream.Collectors;

final class Latency implements Runnable {
    private static final int SAMPLE_STEPS = 4;
    private static final int CHECKED_STEPS = 200_000;
    private static final long LONG_GAP_NS = 20_000;
    private static final int MOST_LONG_GAPS = 1 << 18;
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

    private static final com.sun.management.OperatingSystemMXBean SYSTEM =
        (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

    private final long ms;
    private final long depth;
    private final CyclicBarrier started;
    private final CyclicBarrier ended;
    private final Node[] table;
    private long random = 0x9E3779B97F4A7C15L;
    private long sum;
    private long check;
    // The CPU time of the process when the thread began to measure and when it ended.
    private long cpuBefore;
    private long cpuAfter;

    // The gaps. Noting one neither allocates nor touches new memory.
    private final long[] counts = new long[60 * GAP_SUB];
    private final long[] longGaps = new long[2 * MOST_LONG_GAPS];
    private long steps;
    private long ns;
    private long longest;
    private long dropped;
    private int kept;
    private Throwable failure;

    private Latency(int entries, long ms, long depth, int thread, CyclicBarrier started, CyclicBarrier ended) {
        this.ms = ms;
        this.depth = depth;
        this.started = started;
        this.ended = ended;
        this.table = new Node[entries];
        // Each thread takes other numbers.
        for (int t = 0; t < thread; t++) {
            random = next() | 1;
        }
        Arrays.fill(longGaps, 1);
    }

    private long next() {
        long x = random;
        x ^= x >>> 12;
        x ^= x << 25;
        x ^= x >>> 27;
        random = x;
        return x * 0x2545F4914F6CDD1DL;
    }

    private static Node newEntry(long r) {
        return new Node(new Node(null, null, r + 1), new Node(null, null, r + 2), r);
    }

    private int slot(long r) {
        return (int) ((r >>> 32) * table.length >>> 32);
    }

    private void step() {
        long r = next();
        int slot = slot(r);
        switch ((int) (r & 3)) {
            case 0 -> table[slot] = newEntry(r);
            case 1 -> {
                Node a = table[slot];
                Node b = table[slot(next())];
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

    private void work() {
        for (int i = 0; i < table.length; i++) {
            table[i] = newEntry(next());
        }
        for (int i = 0; i < CHECKED_STEPS; i++) {
            step();
        }
        check = sum;
        meet(started);
        cpuBefore = SYSTEM.getProcessCpuTime();
        long start = System.nanoTime();
        long last = start;
        do {
            for (int k = 0; k < SAMPLE_STEPS; k++) {
                step();
            }
            long now = System.nanoTime();
            long gap = now - last;
            steps += SAMPLE_STEPS;
            counts[bucket(gap)]++;
            longest = Math.max(longest, gap);
            if (gap >= LONG_GAP_NS) {
                if (kept < MOST_LONG_GAPS) {
                    longGaps[2 * kept] = last - start;
                    longGaps[2 * kept + 1] = gap;
                    kept++;
                } else {
                    dropped++;
                }
            }
            last = now;
        } while (last - start < ms * 1_000_000);
        ns = last - start;
        cpuAfter = SYSTEM.getProcessCpuTime();
        meet(ended);
    }

    private static void meet(CyclicBarrier barrier) {
        try {
            barrier.await();
        } catch (InterruptedException | BrokenBarrierException e) {
            throw new IllegalStateException("another thread has failed", e);
        }
    }

    // The work beneath so many frames, each with a node of its own.
    private long beneath(long frames) {
        if (frames == 0) {
            work();
            return 0;
        }
        Node kept = new Node(null, null, frames);
        long below = beneath(frames - 1);
        return kept.key + below;
    }

    @Override
    public void run() {
        try {
            beneath(depth);
        } catch (Throwable e) {
            failure = e;
            started.reset();
            ended.reset();
        }
    }

    private void print(PrintStream out) {
        StringBuilder line = new StringBuilder();
        line.append("thread steps=").append(steps).append(" ns=").append(ns).append(" max_ns=").append(longest);
        line.append(" dropped=").append(dropped).append(" hist=");
        String comma = "";
        for (int k = 0; k < counts.length; k++) {
            if (counts[k] > 0) {
                line.append(comma).append(k).append(':').append(counts[k]);
                comma = ",";
            }
        }
        line.append(" long=");
        for (int k = 0; k < kept; k++) {
            line.append(k > 0 ? "," : "").append(longGaps[2 * k]).append(':').append(longGaps[2 * k + 1]);
        }
        out.println(line);
    }

    // The proportional share of what is mapped. ZGC maps its heap several times until
    // Java 21, and the kernel counts each as resident.
    private static long pssBytes() throws IOException {
        for (String line : Files.readAllLines(Path.of("/proc/self/smaps_rollup"))) {
            if (line.startsWith("Pss:")) {
                return Long.parseLong(line.replaceAll("[^0-9]", "")) << 10;
            }
        }
        throw new IOException("/proc/self/smaps_rollup has no Pss");
    }

    // Whether it could run.
    static boolean run(long live, long ms, int threads, long depth) {
        int entries = (int) Math.max(1, Math.min(Integer.MAX_VALUE - 8, live / threads / 192));
        CyclicBarrier started = new CyclicBarrier(threads + 1);
        CyclicBarrier ended = new CyclicBarrier(threads + 1);
        Latency[] caches = new Latency[threads];
        Thread[] all = new Thread[threads];
        for (int t = 0; t < threads; t++) {
            caches[t] = new Latency(entries, ms, depth, t, started, ended);
            all[t] = new Thread(null, caches[t], "cache", (4L << 20) + 256 * depth);
            all[t].start();
        }
        try {
            meet(started);
            meet(ended);
            long check = 0;
            // From the first thread's beginning to the last one's end.
            long first = Long.MAX_VALUE;
            long last = 0;
            for (int t = 0; t < threads; t++) {
                all[t].join();
                check += caches[t].check;
                first = Math.min(first, caches[t].cpuBefore);
                last = Math.max(last, caches[t].cpuAfter);
            }
            String collector = ManagementFactory.getGarbageCollectorMXBeans().stream()
                .map(bean -> bean.getName().replace(' ', '-')).collect(Collectors.joining("+"));
            System.out.printf("latency entries=%d check=0x%016x cpu_ns=%d pss_bytes=%d collector=%s\n",
                entries, check, last - first, pssBytes(), collector);
        } catch (IllegalStateException | InterruptedException | IOException e) {
            Throwable why = e;
            for (Latency cache : caches) {
                why = cache.failure != null && !(cache.failure instanceof IllegalStateException) ? cache.failure : why;
            }
            System.err.println("java-peer: " + why);
            return false;
        }
        for (Latency cache : caches) {
            cache.print(System.out);
        }
        return true;
    }
}
