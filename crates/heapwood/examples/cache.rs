//! An LRU cache: a table of chains, and a ring of entries in the order of their use, all in the heap. Entries are on
//! cycles, which reference counts would never free. An evicted entry is unlinked on both sides, so that a stale word on
//! the stack keeps only that entry alive, and not those evicted after it. `cargo run -p heapwood --example cache`

use heapwood::{ById, Config, Gc, GcCell, GcStr, Heap, Mutator, Slice, Trace};
use std::cell::Cell;

#[derive(Trace)]
struct Entry {
    key: u64,
    value: Gc<GcStr>,
    /// The next entry of the same chain.
    chain: GcCell<Option<Gc<Entry>>>,
    /// Neighbours in the ring: `newer` of the newest is the oldest.
    newer: GcCell<Option<Gc<Entry>>>,
    older: GcCell<Option<Gc<Entry>>>,
}

type Link = GcCell<Option<Gc<Entry>>>;

#[derive(Trace)]
struct Cache {
    table: Gc<Slice<Link>>,
    newest: Link,
    entries: Cell<usize>,
    capacity: usize,
}

impl Cache {
    fn new(m: &Mutator, capacity: usize) -> Gc<Cache> {
        let table = m.alloc_slice(capacity.next_power_of_two(), |_| GcCell::new(None));
        m.alloc(Cache { table, newest: GcCell::new(None), entries: Cell::new(0), capacity })
    }

    fn place(&self, key: u64) -> &Link {
        let hash = key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        &self.table[hash as usize % self.table.len()]
    }

    fn find(&self, key: u64) -> Option<Gc<Entry>> {
        chain(self.place(key)).find(|entry| entry.key == key)
    }

    /// The value of a key, which becomes the newest entry. Made if it is missing.
    fn get(&self, m: &Mutator, key: u64, make: impl FnOnce(&Mutator) -> Gc<GcStr>) -> Gc<GcStr> {
        if let Some(entry) = self.find(key) {
            self.leave_ring(m, entry);
            self.enter_ring(m, entry);
            return entry.value;
        }
        if self.entries.get() == self.capacity {
            self.evict(m);
        }
        let place = self.place(key);
        let link = || GcCell::new(None);
        let value = make(m);
        let entry =
            m.alloc(Entry { key, value, chain: GcCell::new(place.get()), newer: link(), older: link() });
        place.set(m, Some(entry));
        self.enter_ring(m, entry);
        self.entries.set(self.entries.get() + 1);
        value
    }

    fn enter_ring(&self, m: &Mutator, entry: Gc<Entry>) {
        let newest = self.newest.get().unwrap_or(entry);
        let oldest = newest.newer.get().unwrap_or(entry);
        entry.older.set(m, Some(newest));
        entry.newer.set(m, Some(oldest));
        newest.newer.set(m, Some(entry));
        oldest.older.set(m, Some(entry));
        self.newest.set(m, Some(entry));
    }

    fn leave_ring(&self, m: &Mutator, entry: Gc<Entry>) {
        let (Some(newer), Some(older)) = (entry.newer.replace(m, None), entry.older.replace(m, None)) else {
            return;
        };
        newer.older.set(m, Some(older));
        older.newer.set(m, Some(newer));
        if ById(self.newest.get()) == ById(Some(entry)) {
            self.newest.set(m, (ById(older) != ById(entry)).then_some(older));
        }
    }

    /// Unlinks the oldest entry from the ring and from its chain. The collector frees it. Its links are cleared, since
    /// they would keep later evicted entries alive as long as this one.
    fn evict(&self, m: &Mutator) {
        let Some(oldest) = self.newest.get().and_then(|newest| newest.newer.get()) else { return };
        self.leave_ring(m, oldest);
        let place = self.place(oldest.key);
        let before = chain(place).find(|entry| ById(entry.chain.get()) == ById(Some(oldest)));
        let link = before.as_ref().map_or(place, |entry| &entry.chain);
        link.set(m, oldest.chain.replace(m, None));
        self.entries.set(self.entries.get() - 1);
    }
}

/// The entries from a link on.
fn chain(link: &Link) -> impl Iterator<Item = Gc<Entry>> {
    std::iter::successors(link.get(), |entry| entry.chain.get())
}

/// A text of the size of a rendered page.
fn page(m: &Mutator, key: u64) -> Gc<GcStr> {
    m.alloc_str(&format!("page {key}: {}", "text ".repeat(200)))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The cache has at most 4000 pages of 1 KiB; evicted ones must make room.
    let config = Config::default().limit(16 << 20).min_heap(4 << 20);
    // SAFETY: this program keeps `Gc`s on the stacks of attached threads, in objects and in roots only.
    let heap = unsafe { Heap::new(config) }?;
    let m = heap.attach()?;

    let cache = Cache::new(&m, 4000);
    let made = Cell::new(0u64);
    let mut state = 1u64;
    for _ in 0..300_000 {
        // Most requests are for few pages: the smaller of two random numbers.
        let mut random = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % 8000
        };
        let key = random().min(random());
        let text = cache.get(&m, key, |m| {
            made.set(made.get() + 1);
            page(m, key)
        });
        assert!(text.starts_with(&format!("page {key}:")));
    }
    println!("{} entries", cache.entries.get());
    println!("{} of 300000 requests were made anew", made.get());
    println!("evicted pages were collected: {}", heap.stats().collections > 0);
    Ok(())
}
