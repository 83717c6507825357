// The Java peer: the workloads trees, churn, mixed, mark, gcbench, graph, map, treap,
// weak, finalize and weakmap as a Java user would write them, on one thread, to compare Heapwood with the
// collectors of the JVM. Which collector runs, and in how much memory, the launcher decides.

import java.util.Locale;

final class Peer {
    private static final String USAGE = """
            usage: java-peer serial|parallel trees [N]                  binary trees, default 21
                   java-peer serial|parallel churn [OPS]                replace objects in a table, default 20000000
                   java-peer serial|parallel mixed [OPS]                replace documents in a cache, default 4000000
                   java-peer serial|parallel mark [OBJECTS] [--count]   time full collections, default 8000000
                   java-peer serial|parallel gcbench [N]                trees top down and bottom up, default 16
                   java-peer serial|parallel graph [NODES]              rewire a graph at random, default 1000000
                   java-peer serial|parallel map [ENTRIES]              insert into a hash map and delete, default 1000000
                   java-peer serial|parallel treap [KEYS]               insert into an index that is copied, default 500000
                   java-peer serial|parallel weak [REFERENCES]          make, clear and read weak references, default 10000000
                   java-peer serial|parallel finalize [OBJECTS]         close the handles of dead objects, default 5000000
                   java-peer serial|parallel weakmap [KEYS]             weak maps and interned names, default 2000000
                   java-peer serial|parallel WORKLOAD --version         the version of Java
                   java-peer zgc|shenandoah latency [MIB]               replace entries of a cache, default 256""";

    private Peer() {}

    public static void main(String[] args) {
        // So that figures have a decimal point everywhere.
        Locale.setDefault(Locale.ROOT);
        int status;
        try {
            status = run(args);
        } catch (OutOfMemoryError error) {
            System.err.println("java-peer: out of memory: " + error.getMessage());
            status = 1;
        }
        System.exit(status);
    }

    private static int run(String[] args) {
        String workload = args.length > 0 ? args[0] : "";
        long n;
        long limit;
        switch (workload) {
            case "trees" -> { n = 21; limit = 40; }
            case "churn" -> { n = 20_000_000; limit = 1L << 48; }
            case "mixed" -> { n = 4_000_000; limit = 1L << 48; }
            case "mark" -> { n = 8_000_000; limit = 1L << 31; }
            case "gcbench" -> { n = 16; limit = 30; }
            case "graph", "map" -> { n = 1_000_000; limit = 1L << 31; }
            case "treap" -> { n = 500_000; limit = 1L << 31; }
            case "weak" -> { n = 10_000_000; limit = 1L << 31; }
            case "finalize" -> { n = 5_000_000; limit = 1L << 31; }
            case "weakmap" -> { n = 2_000_000; limit = 1L << 31; }
            case "latency" -> { n = 256; limit = 1L << 23; }
            default -> { return usage(); }
        }
        if (args.length == 2 && args[1].equals("--version")) {
            System.out.println(System.getProperty("java.version"));
            return 0;
        }
        boolean count = false;
        boolean seenNumber = false;
        for (int i = 1; i < args.length; i++) {
            if (args[i].equals("--count") && workload.equals("mark")) {
                count = true;
                continue;
            }
            if (seenNumber || !args[i].matches("[0-9]{1,18}")) {
                return usage();
            }
            n = Long.parseLong(args[i]);
            if (n == 0 || n > limit) {
                return usage();
            }
            seenNumber = true;
        }

        switch (workload) {
            case "trees" -> Trees.run((int) n);
            case "churn" -> Churn.run(n);
            case "mixed" -> Mixed.run(n);
            case "mark" -> { return Mark.run(n, count) ? 0 : 1; }
            case "graph" -> Graph.run(n);
            case "map" -> ChainedMap.run(n);
            case "treap" -> Treap.run(n);
            case "weak" -> WeakReferences.run(n);
            case "finalize" -> Finalize.run(n);
            case "weakmap" -> WeakTables.run(n);
            case "latency" -> Latency.run(n);
            default -> GcBench.run((int) n);
        }
        return 0;
    }

    private static int usage() {
        System.err.println(USAGE);
        return 2;
    }
}
