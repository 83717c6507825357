// Mark in Java: the time of a full collection of a static graph: a tree in two
// orders in memory, a random graph, and lists. It compares how fast the collectors
// trace. What is timed is System.gc(), which with both collectors of the launcher
// compacts the heap, too.

import java.lang.ref.Reference;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.function.IntFunction;

final class Mark {
    private static final int COLLECTIONS = 3;
    private static final int ROOT_STRIDE = 64;
    private static final int NONE = -1;

    private Mark() {}

    // A node of the graph: 40 bytes, 12 of them the header.
    private static final class Node {
        Node first;
        Node second;
        final long id;
        long seen; // set by walk

        Node(long id) {
            this.id = id;
        }
    }

    // A stack of indices without an object for each of them.
    private static final class IntStack {
        private int[] items = new int[1024];
        private int size;

        boolean isEmpty() {
            return size == 0;
        }

        void push(int item) {
            if (size == items.length) {
                // 1.5 times, as ArrayList grows: twice the size could overflow.
                items = Arrays.copyOf(items, size + Math.min(size / 2, Integer.MAX_VALUE - 8 - size));
            }
            items[size++] = item;
        }

        int pop() {
            return items[--size];
        }
    }

    // A graph over indices, from which the objects are built.
    private record Plan(int[] first, int[] second, int[] roots) {
        // Counts the indices that can be reached from the roots.
        int reached() {
            boolean[] seen = new boolean[first.length];
            IntStack stack = new IntStack();
            int count = 0;
            for (int root : roots) {
                count += visit(root, seen, stack);
                while (!stack.isEmpty()) {
                    int i = stack.pop();
                    count += visit(first[i], seen, stack);
                    count += visit(second[i], seen, stack);
                }
            }
            return count;
        }

        private static int visit(int i, boolean[] seen, IntStack stack) {
            if (i == NONE || seen[i]) {
                return 0;
            }
            seen[i] = true;
            stack.push(i);
            return 1;
        }

        // Allocates the objects in index order and links them. Only the roots are
        // returned: the array of all objects is garbage when this returns.
        Node[] build() {
            Node[] nodes = new Node[first.length];
            for (int i = 0; i < nodes.length; i++) {
                nodes[i] = new Node(i);
            }
            for (int i = 0; i < nodes.length; i++) {
                if (first[i] != NONE) {
                    nodes[i].first = nodes[first[i]];
                }
                if (second[i] != NONE) {
                    nodes[i].second = nodes[second[i]];
                }
            }
            Node[] rootNodes = new Node[roots.length];
            for (int i = 0; i < rootNodes.length; i++) {
                rootNodes[i] = nodes[roots[i]];
            }
            return rootNodes;
        }
    }

    // A balanced binary tree of the indices: order is its preorder. So in order,
    // objects lie as a program that builds a tree from the root allocates them.
    private static Plan treePlan(int[] order) {
        int[] first = new int[order.length];
        int[] second = new int[order.length];
        planTree(order, 0, order.length, first, second);
        return new Plan(first, second, new int[] {order[0]});
    }

    // Plans the subtree of size objects that starts at position start of order.
    private static void planTree(int[] order, int start, int size, int[] first, int[] second) {
        int leftSize = size / 2;
        int rightSize = size - 1 - leftSize;
        int right = start + 1 + leftSize;
        int root = order[start];
        first[root] = leftSize > 0 ? order[start + 1] : NONE;
        second[root] = rightSize > 0 ? order[right] : NONE;
        if (leftSize > 0) {
            planTree(order, start + 1, leftSize, first, second);
        }
        if (rightSize > 0) {
            planTree(order, right, rightSize, first, second);
        }
    }

    static int[] inOrder(int n) {
        int[] order = new int[n];
        for (int i = 0; i < n; i++) {
            order[i] = i;
        }
        return order;
    }

    // A random permutation (Fisher-Yates, from the end).
    static int[] shuffled(int n) {
        Xorshift random = new Xorshift();
        int[] order = inOrder(n);
        for (int i = n - 1; i > 0; i--) {
            int j = (int) Long.remainderUnsigned(random.next(), i + 1L);
            int swapped = order[i];
            order[i] = order[j];
            order[j] = swapped;
        }
        return order;
    }

    // Links every index to two random ones; every 64th is a root.
    private static Plan randomPlan(int n) {
        Xorshift random = new Xorshift();
        int[] first = new int[n];
        int[] second = new int[n];
        for (int i = 0; i < n; i++) {
            first[i] = (int) Long.remainderUnsigned(random.next(), n);
            second[i] = (int) Long.remainderUnsigned(random.next(), n);
        }
        int[] roots = new int[(n - 1) / ROOT_STRIDE + 1];
        for (int i = 0; i < roots.length; i++) {
            roots[i] = i * ROOT_STRIDE;
        }
        return new Plan(first, second, roots);
    }

    private record Walked(long count, long checksum) {}

    // Counts the objects that the program can reach and sums up their ids in the
    // order of the walk.
    private static Walked walk(Node[] roots) {
        ArrayDeque<Node> stack = new ArrayDeque<>();
        long count = 0;
        long checksum = 0;
        for (Node root : roots) {
            visit(root, stack);
            while (!stack.isEmpty()) {
                Node node = stack.pop();
                count++;
                checksum = checksum * 31 + node.id;
                visit(node.first, stack);
                visit(node.second, stack);
            }
        }
        return new Walked(count, checksum);
    }

    private static void visit(Node node, ArrayDeque<Node> stack) {
        if (node != null && node.seen == 0) {
            node.seen = 1;
            stack.push(node);
        }
    }

    private record Graph(int reached, Node[] roots) {}

    // The plan is made in here, so that it is dead before the measuring begins.
    private static Graph make(int n, IntFunction<Plan> planner) {
        Plan plan = planner.apply(n);
        return new Graph(plan.reached(), plan.build());
    }

    // The nanoseconds of the fastest of some collections.
    static long collectInFull() {
        long best = Long.MAX_VALUE;
        for (int i = 0; i < COLLECTIONS; i++) {
            long start = System.nanoTime();
            System.gc();
            best = Math.min(best, System.nanoTime() - start);
        }
        return best;
    }

    private static boolean measure(String name, int n, IntFunction<Plan> planner, boolean count) {
        Graph graph = make(n, planner);

        long best = collectInFull();
        System.out.printf("mark %s objects %d reached %d\n", name, n, graph.reached);
        System.out.printf("figure %s_ns %.3f\n", name.replace('-', '_'), (double) best / graph.reached);

        boolean ok = true;
        if (count) {
            Walked walked = walk(graph.roots);
            System.out.printf("mark %s walked %d checksum 0x%016x\n", name, walked.count, walked.checksum);
            ok = walked.count == graph.reached;
            if (!ok) {
                System.err.println("java-peer: walked and reached differ");
            }
        }
        // Without this, nothing would keep the graph alive during System.gc().
        Reference.reachabilityFence(graph);
        return ok;
    }

    static boolean run(long objects, boolean count) {
        if (objects > Integer.MAX_VALUE - 8) {
            throw new OutOfMemoryError("more objects than a Java array can hold");
        }
        int n = (int) objects;
        boolean ok = measure("in-order", n, size -> treePlan(inOrder(size)), count);
        ok &= measure("shuffled", n, size -> treePlan(shuffled(size)), count);
        ok &= measure("random", n, Mark::randomPlan, count);
        for (int lists = 1; lists <= 64; lists *= 2) {
            ok &= Lists.measure("lists-" + lists, n, lists, Mark::inOrder);
        }
        for (int lists = 1; lists <= 64; lists *= 8) {
            ok &= Lists.measure("shuffled-lists-" + lists, n, lists, Mark::shuffled);
        }
        return ok;
    }
}
