//! The index of finalisers by object: `free` asks whether an object has any, and a marking whether the object that it has met
//! waits. It is split a bucket at a time (linear hashing: Litwin, VLDB 1980), so that no registration pays for all.
//! Invariant: it has the entries of objects that are registered, and no others.

use super::entries::{Entries, NONE, STEP};
use core::cell::Cell;
use core::ops::Range;
use heapwood_heap::ObjectRef;
use heapwood_os::{KernelRef, Mapped, MappedArray, OsError};

/// The index of one table.
pub(super) struct Index {
    /// Heads of buckets, and how many are in use: 0 before the first entry.
    heads: MappedArray<u32>,
    buckets: Cell<usize>,
    committed: Cell<usize>,
    /// Entries in it.
    count: Cell<usize>,
}

impl Index {
    /// An index of at most so many entries. Nothing is committed.
    pub(super) fn new(kernel: KernelRef, most: usize) -> Result<Self, OsError> {
        let heads = MappedArray::new(kernel, most)?;
        Ok(Index { heads, buckets: Cell::new(0), committed: Cell::new(0), count: Cell::new(0) })
    }

    fn count(&self) -> usize {
        self.count.get()
    }

    /// Commits what one more bucket needs.
    pub(super) fn make_room(&self) -> Result<(), OsError> {
        let committed = self.committed.get();
        if self.buckets.get() == committed {
            let end = (committed + STEP).min(self.heads.len());
            self.heads.commit(committed..end)?;
            self.committed.set(end);
        }
        if self.buckets.get() == 0 {
            self.buckets.set(STEP);
        }
        Ok(())
    }

    /// Commits what so many entries need.
    pub(super) fn make_room_for(&self, entries: usize) -> Result<(), OsError> {
        let (committed, end) = (self.committed.get(), entries.next_multiple_of(STEP).min(self.heads.len()));
        if committed < end {
            self.heads.commit(committed..end)?;
            self.committed.set(end);
        }
        self.make_room()
    }

    fn head(&self, bucket: usize) -> &Cell<u32> {
        debug_assert!(bucket < self.buckets.get());
        // SAFETY: buckets in use are committed, and the index is one thread's at a time.
        unsafe { Cell::from_mut(&mut *self.heads.at(bucket)) }
    }

    /// The bucket of an object: by as many bits of its hash as there are buckets, or by one less where that one has not been split.
    fn bucket(&self, object: usize) -> usize {
        let hash = ObjectRef::new(object).block_hash();
        let half = 1 << self.buckets.get().ilog2();
        let bucket = hash % (2 * half);
        if bucket < self.buckets.get() { bucket } else { bucket % half }
    }

    /// Adds an entry; splits one bucket if there are more entries than buckets.
    pub(super) fn add(&self, entries: &Entries, number: u32) {
        self.put(entries, number);
        self.count.set(self.count() + 1);
        let buckets = self.buckets.get();
        if self.count() <= buckets || buckets == self.committed.get() {
            return;
        }
        let half = 1 << buckets.ilog2();
        let mut moved = self.head(buckets - half).take();
        self.buckets.set(buckets + 1);
        while moved != NONE {
            let next = entries.get(moved).chain.get();
            self.put(entries, moved);
            moved = next;
        }
    }

    fn put(&self, entries: &Entries, number: u32) {
        let entry = entries.get(number);
        entry.chain.set(self.head(self.bucket(entry.object.get())).replace(number));
    }

    /// Takes an entry out.
    pub(super) fn remove(&self, entries: &Entries, number: u32) {
        let entry = entries.get(number);
        let mut link = self.head(self.bucket(entry.object.get()));
        while link.get() != number {
            link = &entries.get(link.get()).chain;
        }
        link.set(entry.chain.get());
        self.count.set(self.count() - 1);
    }

    /// The first entry of an object that `is_it`.
    pub(super) fn find(&self, entries: &Entries, object: usize, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        if self.buckets.get() == 0 {
            return None;
        }
        let mut at = self.head(self.bucket(object)).get();
        while at != NONE && !(entries.get(at).object.get() == object && is_it(at)) {
            at = entries.get(at).chain.get();
        }
        (at != NONE).then_some(at)
    }
}

impl Mapped for Index {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        self.heads.for_each_mapping(f);
    }
}
