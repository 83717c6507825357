// Binary trees in Java: many short-lived trees beside one long-lived one. It
// compares the cost of allocating small objects with pointers, and of
// collecting them.

final class Trees {
    private static final int MIN_DEPTH = 4;

    private Trees() {}

    // A node has 24 bytes, 12 of them the header.
    private static final class Node {
        final Node left;
        final Node right;

        Node(Node left, Node right) {
            this.left = left;
            this.right = right;
        }

        long count() {
            return left == null ? 1 : 1 + left.count() + right.count();
        }
    }

    // A full tree of the given depth, children first.
    private static Node bottomUp(int depth) {
        if (depth == 0) {
            return new Node(null, null);
        }
        Node left = bottomUp(depth - 1);
        Node right = bottomUp(depth - 1);
        return new Node(left, right);
    }

    static void run(int n) {
        int maxDepth = Math.max(n, MIN_DEPTH + 2);

        int stretchDepth = maxDepth + 1;
        System.out.printf("stretch tree of depth %d trees 1 nodes %d\n",
                stretchDepth, bottomUp(stretchDepth).count());

        Node longLived = bottomUp(maxDepth);

        for (int depth = MIN_DEPTH; depth <= maxDepth; depth += 2) {
            long iterations = 1L << (maxDepth - depth + MIN_DEPTH);
            long nodes = 0;
            for (long i = 0; i < iterations; i++) {
                nodes += bottomUp(depth).count();
            }
            System.out.printf("%d trees of depth %d nodes %d\n", iterations, depth, nodes);
        }

        System.out.printf("long lived tree of depth %d nodes %d\n", maxDepth, longLived.count());
    }
}
