// The random numbers of all workloads: xorshift64*, always from the same seed,
// so that every peer does the same work. Java has no unsigned types: users must
// shift by >>> and take remainders by Long.remainderUnsigned.

final class Xorshift {
    private long state = 0x9E3779B97F4A7C15L;

    long next() {
        long x = state;
        x ^= x >>> 12;
        x ^= x << 25;
        x ^= x >>> 27;
        state = x;
        return x * 0x2545F4914F6CDD1DL;
    }
}
