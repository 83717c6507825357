//! Map: a hash map with chains, into which entries are inserted and from which they are deleted at random, half and
//! half. Every operation writes a pointer into an old object: a bucket, or an entry's link or value. Entries and values
//! die at random, between others that live on.

use crate::random::Random;
use crate::replacements::{Gaps, Outcome, SAMPLE, figures};
use crate::workload::{Figure, N, Threads, Workload};
use heapwood::{Gc, GcCell, Mutator, Slice, Trace};

/// This program, to those who run it.
pub const WORKLOAD: Workload = Workload {
    name: "map",
    about: "A hash map with chains under insertions and deletions, 10 times as many as it has entries",
    n: N { unit: "number of entries", usual: 1_000_000, most: 1 << 31 },
    threads: Threads::USUALLY_ONE,
    least_bytes,
    figures: FIGURES,
    shared: None,
    run: |m, n, report| report(run(m, n).line("map")),
};

const FIGURES: &[Figure] = &figures("million operations a second");

/// Operations for each entry.
const ROUNDS: u64 = 10;

/// The value of a key, without pointers.
#[derive(Trace)]
struct Value([u64; 2]);

#[derive(Trace)]
struct Entry {
    key: u64,
    value: GcCell<Gc<Value>>,
    next: Link,
}

type Link = GcCell<Option<Gc<Entry>>>;

const _: () = assert!(size_of::<Entry>() == 24);

/// The bytes of an entry with its value.
const ENTRY_BYTES: u64 = (size_of::<Entry>() + size_of::<Value>()) as u64;

/// The minimum of bytes alive at once: the filled map.
fn least_bytes(entries: u64) -> u128 {
    u128::from(ENTRY_BYTES) * u128::from(entries) + 8 * u128::from(buckets(entries))
}

/// The number of buckets: one for two entries.
fn buckets(entries: u64) -> u64 {
    (entries / 2).max(1)
}

fn value(m: &Mutator, r: u64) -> Gc<Value> {
    m.alloc(Value([r, r.wrapping_add(1)]))
}

fn add(sum: u64, Value([first, second]): &Value) -> u64 {
    sum.wrapping_mul(31).wrapping_add(*first).wrapping_add(*second)
}

/// The first entries of the chains.
struct Map(Gc<Slice<Link>>);

/// The place of a key, present or not.
struct Place<'a> {
    bucket: &'a Link,
    /// The entry before it, unless it is the first of its chain.
    before: Option<Gc<Entry>>,
    found: Option<Gc<Entry>>,
}

impl Map {
    fn find(&self, key: u64) -> Place<'_> {
        let hash = key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        let bucket = &self.0[hash as usize % self.0.len()];
        let (mut before, mut found) = (None, bucket.get());
        while let Some(entry) = found.filter(|entry| entry.key != key) {
            (before, found) = (found, entry.next.get());
        }
        Place { bucket, before, found }
    }

    /// All entries, bucket by bucket, each chain from its beginning.
    fn entries(&self) -> impl Iterator<Item = Gc<Entry>> + '_ {
        self.0.iter().flat_map(|bucket| std::iter::successors(bucket.get(), |entry| entry.next.get()))
    }
}

impl Place<'_> {
    /// Inserts an entry at the front of its chain.
    fn insert(&self, m: &Mutator, key: u64, value: Gc<Value>) {
        let next = GcCell::new(self.bucket.get());
        self.bucket.set(m, Some(m.alloc(Entry { key, value: GcCell::new(value), next })));
    }

    /// Removes the entry from its chain.
    fn delete(&self, m: &Mutator, entry: Gc<Entry>) {
        let link = self.before.as_ref().map_or(self.bucket, |before| &before.next);
        link.set(m, entry.next.get());
    }
}

/// Inserts and deletes in a map of about `entries` entries.
pub fn run(m: &Mutator, entries: u64) -> Outcome {
    let (mut random, ops) = (Random::new(), entries * ROUNDS);
    let map = Map(m.alloc_slice(buckets(entries) as usize, |_| GcCell::new(None)));
    for entry in 0..entries {
        map.find(2 * entry).insert(m, 2 * entry, value(m, random.next_u64()));
    }
    let (mut checksum, mut gaps) = (0u64, Gaps::start());
    for op in 0..ops {
        let r = random.next_u64();
        let key = (r & 0xffff_ffff) % (2 * entries);
        let place = map.find(key);
        if let Some(entry) = place.found {
            checksum = add(checksum, &entry.value.get());
        }
        match ((r >> 32) % 2 == 0, place.found) {
            (true, Some(entry)) => entry.value.set(m, value(m, r)),
            (true, None) => place.insert(m, key, value(m, r)),
            (false, Some(entry)) => place.delete(m, entry),
            (false, None) => {}
        }
        if op % SAMPLE == SAMPLE - 1 {
            gaps.sample();
        }
    }
    let (longest_gap_ns, mops) = gaps.end(ops);
    let mut live = 0;
    for entry in map.entries() {
        checksum = add(checksum, &entry.value.get()).wrapping_add(entry.key);
        live += 1;
    }
    let requested_live_bytes = Some(live * ENTRY_BYTES);
    Outcome { ops, checksum, longest_gap_ns, mops, live: Some(("entries", live)), requested_live_bytes }
}
