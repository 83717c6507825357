// The longest time between two samples of the clock, of the workloads with weak
// references and finalisers.

final class Gaps {
    private static final int STEPS = 16;

    private final long start = System.nanoTime();
    private long last = start;
    private long longest;

    // Samples the clock after each sixteenth step.
    void step(long step) {
        if (step % STEPS == STEPS - 1) {
            long now = System.nanoTime();
            longest = Math.max(longest, now - last);
            last = now;
        }
    }

    // The figures of so many operations until now, for after the check line.
    String figures(long ops) {
        long elapsed = System.nanoTime() - start;
        return String.format("figure longest_gap_us %.1f\nfigure mops %.3f\n", longest / 1e3, ops * 1e3 / elapsed);
    }

    // Fails if more of N objects are left than stray words keep where stacks are
    // scanned conservatively.
    static void requireFewStray(long stray, long n, String what) {
        if (stray > 16 + n / 1000) {
            throw new IllegalStateException(stray + " " + what);
        }
    }
}
