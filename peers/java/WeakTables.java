// Weak tables in Java: a WeakHashMap under churn, whose keys are equal by identity,
// and a table of interned names, a WeakHashMap from each name to a weak reference to
// itself, since a strong one would keep it.

import java.lang.ref.WeakReference;
import java.util.WeakHashMap;

final class WeakTables {
    private static final int ROUNDS = 20;
    private static final int ABSENT = 4;
    private static final int LOOKUPS = 2;

    private record Value(long first, long second) {}

    // By identity, as Object has it.
    private static final class Key {
        final long number;
        long spare;

        Key(long number) {
            this.number = number;
        }
    }

    private static final class Name {
        final long first;
        final long second;

        Name(long number) {
            first = number;
            second = number * 0x9E3779B97F4A7C15L;
        }

        @Override
        public int hashCode() {
            return (int) (second >>> 32);
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Name name && name.first == first && name.second == second;
        }
    }

    private final Xorshift random = new Xorshift();
    private final Gaps gaps = new Gaps();
    private final int alive;
    private long found;
    private long checksum;

    private WeakTables(int alive) {
        this.alive = alive;
    }

    private void add(long first, long second) {
        found++;
        checksum = checksum * 31 + first + second;
    }

    private void churn(long n) {
        WeakHashMap<Key, Value> map = new WeakHashMap<>();
        Key[] keys = new Key[alive];
        int at = 0;
        for (long i = 0; i < n; i++) {
            Key key = new Key(i);
            if (i % ABSENT != ABSENT - 1) {
                map.put(key, new Value(i, i + 1));
            }
            keys[at] = key;
            if (++at == keys.length) {
                at = 0;
            }
            long made = Math.min(i + 1, alive);
            for (int k = 0; k < LOOKUPS; k++) {
                Value value = map.get(keys[(int) ((random.next() & 0xffffffffL) % made)]);
                if (value != null) {
                    add(value.first(), value.second());
                }
            }
            gaps.step(i);
        }
    }

    private static Name interned(WeakHashMap<Name, WeakReference<Name>> table, Name name) {
        WeakReference<Name> reference = table.get(name);
        Name known = reference == null ? null : reference.get();
        if (known != null) {
            return known;
        }
        table.put(name, new WeakReference<>(name));
        return name;
    }

    private void intern(long n) {
        WeakHashMap<Name, WeakReference<Name>> table = new WeakHashMap<>();
        Name[] names = new Name[alive];
        for (long i = 0; i < n; i++) {
            long r = random.next();
            int place = (int) ((r & 0xffffffffL) % alive);
            Name name = names[place];
            if (name != null && i % 2 == 0) {
                if (interned(table, new Name(name.first)) != name) {
                    throw new IllegalStateException("a name has two objects");
                }
                add(name.first, name.second);
            } else {
                names[place] = interned(table, new Name((r >>> 32) % n));
            }
            gaps.step(i);
        }
        for (Name name : names) {
            if (name != null) {
                add(name.first, name.second);
            }
        }
    }

    static void run(long n) {
        WeakTables run = new WeakTables((int) Math.max(n / ROUNDS, 1));
        run.churn(n);
        run.intern(n);
        String figures = run.gaps.figures(n * (LOOKUPS + 1));
        System.out.printf("weakmap found %d checksum 0x%016x\n", run.found, run.checksum);
        System.out.print(figures);
    }
}
