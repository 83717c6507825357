// Weak references in Java: WeakReference. N objects of two words, all alive until
// every second one is dropped; then a collection, and each reference is read.

import java.lang.ref.Reference;
import java.lang.ref.WeakReference;

final class WeakReferences {
    private WeakReferences() {}

    // Room for a reference, here none, and a number.
    private static final class Node {
        Node pointer;
        final long number;

        Node(long number) {
            this.number = number;
        }
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static WeakReference<Node>[] references(int n) {
        return new WeakReference[n];
    }

    static void run(long n) {
        if (n > Integer.MAX_VALUE - 8) {
            throw new OutOfMemoryError("more references than a Java array can hold");
        }
        Node[] kept = new Node[(int) n];
        WeakReference<Node>[] weak = references((int) n);
        Gaps gaps = new Gaps();
        for (int i = 0; i < weak.length; i++) {
            Node node = new Node(i);
            kept[i] = node;
            weak[i] = new WeakReference<>(node);
            gaps.step(i);
        }
        String figures = gaps.figures(n);

        for (int i = 1; i < kept.length; i += 2) {
            kept[i] = null;
        }
        long start = System.nanoTime();
        System.gc();
        long collect = System.nanoTime() - start;

        long alive = 0;
        long stray = 0;
        long checksum = 0;
        for (int i = 0; i < weak.length; i++) {
            Node node = weak[i].get();
            if (node == null) {
                continue;
            }
            if (i % 2 == 0) {
                alive++;
                checksum = checksum * 31 + node.number;
            } else {
                stray++;
            }
        }
        Reference.reachabilityFence(kept);
        Gaps.requireFewStray(stray, n, "weak references of dropped objects were not cleared");
        System.out.printf("weak alive %d checksum 0x%016x\n", alive, checksum);
        System.out.print(figures);
        System.out.printf("figure collect_s %.9f\n", collect / 1e9);
    }
}
