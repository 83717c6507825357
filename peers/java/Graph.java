// Graph in Java: nodes with four edges each, rewired at random. Nearly all it does
// is to write pointers into objects that have long been there. It compares
// throughput and the longest stall of the program.

final class Graph {
    private static final int ROUNDS = 10;

    // Four fields and not an array, which would be an object of its own.
    private static final class Node {
        Node first;
        Node second;
        Node third;
        Node fourth;
        final long id;

        Node(long id) {
            this.id = id;
        }

        Node(Node old, long id) {
            first = old.first;
            second = old.second;
            third = old.third;
            fourth = old.fourth;
            this.id = id;
        }

        Node edge(int k) {
            return switch (k) {
                case 0 -> first;
                case 1 -> second;
                case 2 -> third;
                default -> fourth;
            };
        }

        void rewire(int k, Node to) {
            switch (k) {
                case 0 -> first = to;
                case 1 -> second = to;
                case 2 -> third = to;
                default -> fourth = to;
            }
        }
    }

    private Graph() {}

    private static int pick(Node[] table, long r) {
        return (int) ((r & 0xffffffffL) % table.length);
    }

    static void run(long nodes) {
        if (nodes > Integer.MAX_VALUE - 8) {
            throw new OutOfMemoryError("more nodes than a Java array can hold");
        }
        Xorshift random = new Xorshift();

        Node[] table = new Node[(int) nodes];
        for (int i = 0; i < table.length; i++) {
            table[i] = new Node(i);
        }
        for (Node node : table) {
            for (int k = 0; k < 4; k++) {
                node.rewire(k, table[pick(table, random.next())]);
            }
        }

        long checksum = 0;
        long longest = 0;
        long ops = nodes * ROUNDS;
        long start = System.nanoTime();
        long last = start;
        for (long i = 0; i < ops; i++) {
            long r = random.next();
            long s = random.next();
            int slot = pick(table, r);
            Node from = table[slot];
            Node to = table[pick(table, s)];
            int edge = (int) (r >>> 32) & 3;
            checksum = checksum * 31 + from.edge(edge).id;
            if ((r >>> 34) % 8 == 0) {
                Node node = new Node(from, nodes + i);
                node.rewire(edge, to);
                table[slot] = node;
            } else {
                from.rewire(edge, to);
            }
            if (i % 16 == 15) {
                long now = System.nanoTime();
                longest = Math.max(longest, now - last);
                last = now;
            }
        }
        long elapsed = System.nanoTime() - start;

        for (Node node : table) {
            checksum = checksum * 31 + node.id;
            for (int k = 0; k < 4; k++) {
                checksum = checksum * 31 + node.edge(k).id;
            }
        }
        System.out.printf("graph ops %d checksum 0x%016x\n", ops, checksum);
        System.out.printf("figure longest_gap_us %.1f\n", longest / 1e3);
        System.out.printf("figure mops %.3f\n", ops * 1e3 / elapsed);
    }
}
