// GCBench in Java, afresh after the program by John Ellis and Pete Kovac that
// Hans Boehm modified: short-lived trees of many depths, made from the root and
// from the leaves, beside a long-lived tree and a large array. It compares
// allocation, the write barrier (top down stores into older objects) and
// collecting.

final class GcBench {
    private static final int MIN_DEPTH = 4;
    private static final int ARRAY_SIZE = 500_000;

    private GcBench() {}

    // A node has 32 bytes, 12 of them the header. i and j are there for their size.
    private static final class Node {
        Node left;
        Node right;
        int i;
        int j;

        Node() {}

        Node(Node left, Node right) {
            this.left = left;
            this.right = right;
        }

        long count() {
            return left == null ? 1 : 1 + left.count() + right.count();
        }
    }

    private static long treeSize(int depth) {
        return (1L << (depth + 1)) - 1;
    }

    private static Node bottomUp(int depth) {
        if (depth <= 0) {
            return new Node();
        }
        Node left = bottomUp(depth - 1);
        Node right = bottomUp(depth - 1);
        return new Node(left, right);
    }

    private static Node topDown(int depth) {
        Node node = new Node();
        populate(node, depth);
        return node;
    }

    private static void populate(Node node, int depth) {
        if (depth <= 0) {
            return;
        }
        node.left = new Node();
        node.right = new Node();
        populate(node.left, depth - 1);
        populate(node.right, depth - 1);
    }

    static void run(int n) {
        int maxDepth = Math.max(n, MIN_DEPTH);

        int stretchDepth = maxDepth + 2;
        System.out.printf("stretch tree of depth %d nodes %d\n",
                stretchDepth, bottomUp(stretchDepth).count());

        Node longLived = topDown(maxDepth);
        double[] array = new double[ARRAY_SIZE];
        for (int i = 1; i < ARRAY_SIZE / 2; i++) {
            array[i] = 1.0 / i;
        }

        for (int depth = MIN_DEPTH; depth <= maxDepth; depth += 2) {
            long iterations = 2 * treeSize(stretchDepth) / treeSize(depth);
            long nodes = 0;
            for (long i = 1; i <= iterations; i++) {
                Node tree = topDown(depth);
                if (i == iterations) {
                    nodes = tree.count();
                }
            }
            System.out.printf("top down %d trees of depth %d nodes %d\n", iterations, depth, nodes);
            for (long i = 1; i <= iterations; i++) {
                Node tree = bottomUp(depth);
                if (i == iterations) {
                    nodes = tree.count();
                }
            }
            System.out.printf("bottom up %d trees of depth %d nodes %d\n", iterations, depth, nodes);
        }

        double sum = 0;
        for (int i = 1; i < ARRAY_SIZE / 2; i++) {
            sum += array[i];
        }
        System.out.printf("long lived tree of depth %d nodes %d array sum 0x%016x\n",
                maxDepth, longLived.count(), Double.doubleToLongBits(sum));
    }
}
