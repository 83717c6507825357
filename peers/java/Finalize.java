// Finalisers in Java: phantom references and a queue, which is what a Cleaner is
// made of, without its thread and its lock. N objects that own a handle outside the
// heap, 10,000 alive. The program empties the queue once for each thousand objects.

import java.lang.ref.PhantomReference;
import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;

final class Finalize {
    private static final int ALIVE = 10_000;
    private static final int EMPTIED_EVERY = 1000;

    private static final class Port {
        final long number;
        long position;

        Port(long number) {
            this.number = number;
        }
    }

    // The handle of an object, kept on a list until that is dead.
    private static final class Handle extends PhantomReference<Port> {
        final long number;
        Handle before;
        Handle next;

        Handle(Port port, ReferenceQueue<Port> queue, long number) {
            super(port, queue);
            this.number = number;
        }

        // The end of a circular list.
        Handle() {
            super(null, null);
            this.number = -1;
            before = this;
            next = this;
        }

        void insert(Handle handle) {
            handle.before = this;
            handle.next = next;
            next.before = handle;
            next = handle;
        }

        void remove() {
            before.next = next;
            next.before = before;
        }
    }

    private final ReferenceQueue<Port> queue = new ReferenceQueue<>();
    private final Handle handles = new Handle();
    private final boolean[] isClosed;
    private long closed;
    private long checksum;

    private Finalize(int n) {
        isClosed = new boolean[n];
    }

    private void close(long number) {
        if (isClosed[(int) number]) {
            throw new IllegalStateException("a handle was closed twice");
        }
        isClosed[(int) number] = true;
        closed++;
        checksum += number * 0x9E3779B97F4A7C15L >>> 7;
    }

    private void closeAll() {
        for (Reference<?> taken; (taken = queue.poll()) != null;) {
            Handle handle = (Handle) taken;
            handle.remove();
            close(handle.number);
        }
    }

    private String make(int n) {
        Port[] table = new Port[Math.min(ALIVE, n)];
        Gaps gaps = new Gaps();
        for (int i = 0, at = 0; i < n; i++) {
            Port port = new Port(i);
            handles.insert(new Handle(port, queue, i));
            table[at] = port;
            if (++at == table.length) {
                at = 0;
            }
            if (i % EMPTIED_EVERY == EMPTIED_EVERY - 1) {
                closeAll();
            }
            gaps.step(i);
        }
        return gaps.figures(n);
    }

    // What is dead comes to the queue by a thread of the JVM, after the collection.
    private void closeTheRest(int n) throws InterruptedException {
        System.gc();
        for (int waits = 0; closed < n && waits < 1000;) {
            Reference<?> taken = queue.remove(10);
            if (taken == null) {
                waits++;
                continue;
            }
            Handle handle = (Handle) taken;
            handle.remove();
            close(handle.number);
            closeAll();
        }
        long stray = n - closed;
        Gaps.requireFewStray(stray, n, "handles were not closed");
        for (int i = 0; i < n; i++) {
            if (!isClosed[i]) {
                close(i);
            }
        }
    }

    static void run(long n) {
        if (n > Integer.MAX_VALUE - 8) {
            throw new OutOfMemoryError("more handles than a Java array can hold");
        }
        Finalize run = new Finalize((int) n);
        String figures = run.make((int) n);
        try {
            run.closeTheRest((int) n);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
        System.out.printf("finalize closed %d checksum 0x%016x\n", run.closed, run.checksum);
        System.out.print(figures);
    }
}
