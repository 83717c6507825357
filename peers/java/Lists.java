// Mark's lists in Java: singly linked lists of small nodes, side by side, the graph
// with the fewest edges to follow at a time.

import java.lang.ref.Reference;
import java.util.function.IntFunction;

final class Lists {
    private Lists() {}

    // A node: 24 bytes, 12 of them the header.
    private static final class Node {
        Node next;
        final long index;

        Node(long index) {
            this.index = index;
        }
    }

    // Allocates nodes in index order and links them: list k has order[k],
    // order[k + lists] and so on. Only the heads are returned: the table of all nodes
    // is garbage when this returns.
    private static Node[] build(int[] order, int lists) {
        Node[] table = new Node[order.length];
        for (int i = 0; i < table.length; i++) {
            table[i] = new Node(i);
        }
        for (int i = 0; i + lists < order.length; i++) {
            table[order[i]].next = table[order[i + lists]];
        }
        Node[] heads = new Node[Math.min(lists, order.length)];
        for (int k = 0; k < heads.length; k++) {
            heads[k] = table[order[k]];
        }
        return heads;
    }

    static boolean measure(String name, int n, int lists, IntFunction<int[]> order) {
        Node[] heads = build(order.apply(n), lists);
        long best = Mark.collectInFull();

        // Counts the nodes and sums up their words, list by list.
        long walked = 0;
        long checksum = 0;
        for (Node head : heads) {
            for (Node node = head; node != null; node = node.next) {
                walked++;
                checksum = checksum * 31 + node.index;
            }
        }
        // Without this, nothing would keep the lists alive during System.gc().
        Reference.reachabilityFence(heads);
        System.out.printf("mark %s objects %d reached %d checksum 0x%016x\n", name, n, walked, checksum);
        System.out.printf("figure %s_ns %.3f\n", name.replace('-', '_'), (double) best / n);
        return walked == n;
    }
}
