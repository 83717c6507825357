// Treap in Java: an index of byte strings that is never changed, only replaced: each
// insert copies the path it goes down, and shares the rest. It compares the time of
// inserts, of whose nodes nearly all die at once, and of lookups.

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.lang.ref.Reference;
import java.nio.ByteOrder;
import java.util.Arrays;

final class Treap {
    private static final int BATCH = 100;
    private static final int RENEWAL = 10;
    private static final int SHORTEST = 8;
    private static final int LONGEST = 24;
    private static final VarHandle WORD =
            MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

    private Treap() {}

    // A key, its value, and where the smaller and the larger ones are: 32 bytes, 12 of
    // them the header. Of it and those below its priority, which has no sign, is the
    // highest.
    private record Node(byte[] key, Node left, Node right, int priority, int value) {
        // The entry of this node between other subtrees, with a priority.
        Node placed(int priority, Node left, Node right) {
            return new Node(key, left, right, priority, value);
        }
    }

    // What a treap is in two, around a key.
    private record Parts(Node smaller, Node equal, Node larger) {}

    // What is in either of two treaps; of two entries with one key the newer one's.
    private static Node unite(Node older, Node newer) {
        if (older == null) {
            return newer;
        }
        if (newer == null) {
            return older;
        }
        if (Integer.compareUnsigned(older.priority, newer.priority) > 0) {
            Parts parts = split(newer, older.key);
            Node left = unite(older.left, parts.smaller);
            Node right = unite(older.right, parts.larger);
            return (parts.equal != null ? parts.equal : older).placed(older.priority, left, right);
        }
        Parts parts = split(older, newer.key);
        Node left = unite(parts.smaller, newer.left);
        Node right = unite(parts.larger, newer.right);
        return newer.placed(newer.priority, left, right);
    }

    // Takes a treap apart: a copy of the path to the key, in two.
    private static Parts split(Node tree, byte[] key) {
        if (tree == null) {
            return new Parts(null, null, null);
        }
        int order = Arrays.compareUnsigned(key, tree.key);
        if (order == 0) {
            return new Parts(tree.left, tree, tree.right);
        }
        if (order < 0) {
            Parts parts = split(tree.left, key);
            Node larger = tree.placed(tree.priority, parts.larger, tree.right);
            return new Parts(parts.smaller, parts.equal, larger);
        }
        Parts parts = split(tree.right, key);
        Node smaller = tree.placed(tree.priority, tree.left, parts.smaller);
        return new Parts(smaller, parts.equal, parts.larger);
    }

    // The length of the key that a random number stands for.
    private static int length(long r) {
        return SHORTEST + (int) ((r >>> 32) % (LONGEST - SHORTEST + 1));
    }

    // Spells that key.
    private static void spell(long r, byte[] room) {
        for (int k = 0; k < LONGEST / 8; k++) {
            WORD.set(room, 8 * k, r + k);
        }
    }

    // Lookups, and what they found.
    private static final class Found {
        private final byte[] room = new byte[LONGEST];
        private long keys;
        private long sum;

        void lookUp(Node tree, long r) {
            spell(r, room);
            int length = length(r);
            Node node = tree;
            while (node != null) {
                int order = Arrays.compareUnsigned(room, 0, length, node.key, 0, node.key.length);
                if (order == 0) {
                    keys++;
                    sum = sum * 31 + Integer.toUnsignedLong(node.value);
                    return;
                }
                node = order < 0 ? node.left : node.right;
            }
        }
    }

    // What is seen on the way through an index in the order of its keys.
    private static final class Walk {
        private long nodes;
        private int depth;
        private long checksum;

        void walk(Node tree, int above) {
            if (tree == null) {
                depth = Math.max(depth, above);
                return;
            }
            walk(tree.left, above + 1);
            nodes++;
            checksum = checksum * 31 + Integer.toUnsignedLong(tree.value);
            walk(tree.right, above + 1);
        }
    }

    // Inserts the keys in batches, while a reader holds older snapshots.
    private static Node insertAll(long keys, Xorshift random, Found snapshots) {
        Node published = null;
        Node snapshot = null;
        // The first keys of the last batches.
        long[] firsts = new long[2 * RENEWAL];
        int batches = 0;
        byte[] room = new byte[LONGEST];
        for (long first = 0; first < keys; first += BATCH) {
            Node index = published;
            for (long key = first; key < Math.min(keys, first + BATCH); key++) {
                long r = random.next();
                if (key == first) {
                    firsts[batches++ % firsts.length] = r;
                }
                spell(r, room);
                long drawn = random.next();
                byte[] bytes = Arrays.copyOf(room, length(r));
                index = unite(index, new Node(bytes, null, null, (int) (drawn >>> 32), (int) drawn));
            }
            // Until the new one is published, the index of before is.
            Reference.reachabilityFence(published);
            published = index;
            if (batches % RENEWAL == 0) {
                for (int k = Math.max(0, batches - firsts.length); k < batches; k++) {
                    snapshots.lookUp(snapshot, firsts[k % firsts.length]);
                }
                snapshot = index;
            }
        }
        Reference.reachabilityFence(snapshot);
        return published;
    }

    static void run(long keys) {
        Found snapshots = new Found();
        Found present = new Found();
        Found absent = new Found();
        Xorshift random = new Xorshift();
        Xorshift again = new Xorshift();

        long start = System.nanoTime();
        Node index = insertAll(keys, random, snapshots);
        long middle = System.nanoTime();
        for (long k = 0; k < keys; k++) {
            present.lookUp(index, again.next());
            again.next();
        }
        for (long k = 0; k < keys; k++) {
            absent.lookUp(index, random.next());
        }
        long end = System.nanoTime();

        Walk walk = new Walk();
        walk.walk(index, 0);
        System.out.printf(
                "treap keys %d nodes %d depth %d checksum 0x%016x snapshots %d sum 0x%016x"
                        + " found %d sum 0x%016x absent %d\n",
                keys, walk.nodes, walk.depth, walk.checksum, snapshots.keys, snapshots.sum,
                present.keys, present.sum, absent.keys);
        System.out.printf("figure insert_s %.9f\n", (middle - start) / 1e9);
        System.out.printf("figure lookup_s %.9f\n", (end - middle) / 1e9);
    }
}
