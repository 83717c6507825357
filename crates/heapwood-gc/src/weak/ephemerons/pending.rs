//! Ephemerons that wait for their keys, found by them: heads of chains by a hash of the key. When a key is marked, all that wait
//! for it are taken at once, so each waits and is taken once, and a fixed point takes linear time (V8's, and Whippet's, have such
//! a table). Memory for some heads is asked for with a heap's first ephemeron; more as they are needed, and if the kernel
//! refuses, chains are longer. Invariants: heads in use are a power of two; between two fixed points all are empty. One
//! thread uses it at a time, when there is an ephemeron.

use super::cell::Ephemeron;
use core::ops::Range;
use core::sync::atomic::{AtomicUsize, Ordering};
use heapwood_heap::{ObjectRef, prefetch};
use heapwood_os::{KernelRef, Mapped, MappedArray, OsError};

/// Heads that are there at first, and that stay between two collections.
const FEWEST: usize = 1 << 10;
/// The most, and one for so many bytes of the reservation at most.
const MOST: usize = 1 << 26;
const RESERVATION_BYTES_A_HEAD: usize = 1 << 8;
/// Who looks at all prefetches so many chains ahead.
const AHEAD: usize = 128;

/// The index.
pub(crate) struct PendingIndex {
    heads: MappedArray<AtomicUsize>,
    /// Heads in use.
    used: AtomicUsize,
    committed: AtomicUsize,
    len: AtomicUsize,
}

impl PendingIndex {
    /// An empty index of a heap with this reservation, without memory.
    pub(super) fn new(kernel: KernelRef, reservation: usize) -> Result<Self, OsError> {
        let most = (reservation / RESERVATION_BYTES_A_HEAD).clamp(FEWEST, MOST);
        Ok(PendingIndex {
            heads: MappedArray::new(kernel, 1 << most.ilog2())?,
            used: AtomicUsize::new(FEWEST),
            committed: AtomicUsize::new(0),
            len: AtomicUsize::new(0),
        })
    }

    /// Asks for the memory that is there from the first ephemeron on. Several threads may.
    pub(super) fn begin(&self) -> Result<(), OsError> {
        if self.committed.load(Ordering::Acquire) == 0 {
            self.heads.commit(0..FEWEST)?;
            self.committed.fetch_max(FEWEST, Ordering::Release);
        }
        Ok(())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len.load(Ordering::Relaxed) == 0
    }

    /// Gives back what a large fixed point has needed, if none goes on.
    pub(super) fn trim(&self) {
        let committed = self.committed.load(Ordering::Relaxed);
        // SAFETY: they are committed, all are empty, and only this thread uses them.
        if committed > FEWEST && self.is_empty() && unsafe { self.heads.shrink(FEWEST, committed) }.is_ok() {
            self.committed.store(FEWEST, Ordering::Relaxed);
        }
    }

    #[inline(always)]
    fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    #[inline(always)]
    fn head(&self, index: usize) -> &AtomicUsize {
        debug_assert!(index < self.committed.load(Ordering::Relaxed));
        // SAFETY: heads in use are committed.
        unsafe { &*self.heads.at(index) }
    }

    /// The head for a key. The lowest bits decide, so that doubling splits each chain in two.
    #[inline(always)]
    fn index_of(&self, key: usize) -> usize {
        ObjectRef::new(key).block_hash() & (self.used() - 1)
    }

    fn put(&self, ephemeron: Ephemeron) {
        let head = self.head(self.index_of(ephemeron.key()));
        ephemeron.set_next(Ephemeron::listed(head.load(Ordering::Relaxed)));
        head.store(ephemeron.address(), Ordering::Relaxed);
    }

    /// Adds one.
    pub(crate) fn add(&self, ephemeron: Ephemeron) {
        let len = self.len.load(Ordering::Relaxed) + 1;
        self.len.store(len, Ordering::Relaxed);
        if len > self.used() {
            self.double();
        }
        self.put(ephemeron);
    }

    /// Doubles the heads, if there is memory.
    #[cold]
    fn double(&self) {
        let (used, committed) = (self.used(), self.committed.load(Ordering::Relaxed));
        if used == self.heads.len() {
            return;
        }
        if 2 * used > committed {
            if self.heads.commit(committed..2 * used).is_err() {
                return;
            }
            self.committed.store(2 * used, Ordering::Relaxed);
        }
        self.used.store(2 * used, Ordering::Relaxed);
        for index in 0..used {
            let mut at = Ephemeron::listed(self.head(index).swap(0, Ordering::Relaxed));
            while let Some(ephemeron) = at {
                at = ephemeron.next();
                self.put(ephemeron);
            }
        }
    }

    /// Whether some may wait for a key.
    #[inline(always)]
    pub(crate) fn may_have(&self, key: usize) -> bool {
        self.head(self.index_of(key)).load(Ordering::Relaxed) != 0
    }

    /// Takes all that wait for a key.
    #[cold]
    pub(crate) fn take(&self, key: usize, mut f: impl FnMut(Ephemeron)) {
        let index = self.index_of(key);
        let mut before: Option<Ephemeron> = None;
        let mut at = self.first(index);
        while let Some(ephemeron) = at {
            at = ephemeron.next();
            if ephemeron.key() != key {
                before = Some(ephemeron);
                continue;
            }
            self.unlink(index, before, at);
            self.len.store(self.len.load(Ordering::Relaxed) - 1, Ordering::Relaxed);
            f(ephemeron);
        }
    }

    /// Takes all; then few heads are in use.
    pub(crate) fn take_all(&self, mut f: impl FnMut(Ephemeron)) {
        self.take_unless(|ephemeron| {
            f(ephemeron);
            false
        });
        self.used.store(FEWEST, Ordering::Relaxed);
    }

    /// Takes those for which `stays` is false, which may then be put on a list.
    pub(crate) fn take_unless(&self, mut stays: impl FnMut(Ephemeron) -> bool) {
        let (len, used) = (self.len.load(Ordering::Relaxed), self.used());
        let mut left = len;
        for index in 0..if len == 0 { 0 } else { used } {
            if let Some(soon) = self.first((index + AHEAD).min(used - 1)) {
                prefetch::for_read(soon.address() as *const u8);
            }
            let (mut before, mut at) = (None::<Ephemeron>, self.first(index));
            while let Some(ephemeron) = at {
                at = ephemeron.next();
                if stays(ephemeron) {
                    before = Some(ephemeron);
                } else {
                    left -= 1;
                    self.unlink(index, before, at);
                }
            }
        }
        self.len.store(left, Ordering::Relaxed);
    }

    /// The first of a head's chain.
    #[inline(always)]
    fn first(&self, index: usize) -> Option<Ephemeron> {
        Ephemeron::listed(self.head(index).load(Ordering::Relaxed))
    }

    /// Links the one `before`, or the head, to the `next`.
    #[inline(always)]
    fn unlink(&self, index: usize, before: Option<Ephemeron>, next: Option<Ephemeron>) {
        match before {
            Some(before) => before.set_next(next),
            None => self.head(index).store(next.map_or(0, Ephemeron::address), Ordering::Relaxed),
        }
    }

    /// Forgets all, in whatever state it was left.
    pub(super) fn forget(&self) {
        (0..self.committed.load(Ordering::Relaxed)).for_each(|i| self.head(i).store(0, Ordering::Relaxed));
        self.len.store(0, Ordering::Relaxed);
        self.used.store(FEWEST, Ordering::Relaxed);
    }
}

impl Mapped for PendingIndex {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        self.heads.for_each_mapping(f);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heapwood_os_testing::faulty::Faulty;
    use std::collections::{HashMap, HashSet};

    /// Ephemerons in memory of the test's.
    fn ephemerons(count: usize, key: impl Fn(usize) -> usize) -> (Vec<[usize; 4]>, Vec<Ephemeron>) {
        let mut memory = vec![[0usize; 4]; count];
        let start = memory.as_mut_ptr() as usize;
        // SAFETY: four words each.
        let all: Vec<_> = (0..count).map(|i| unsafe { Ephemeron::at(start + 32 * i) }).collect();
        all.iter().enumerate().for_each(|(i, ephemeron)| ephemeron.init(key(i), 0));
        (memory, all)
    }

    fn check(index: &PendingIndex, count: usize) {
        let keys = count / 3;
        let key = |i: usize| 0x7000_0000 + 16 * (i % keys);
        let (_memory, all) = ephemerons(count, key);
        let mut model: HashMap<usize, HashSet<usize>> = HashMap::new();
        let mut random = 1u64;
        for (i, &ephemeron) in all.iter().enumerate() {
            index.add(ephemeron);
            model.entry(key(i)).or_default().insert(ephemeron.address());
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            if random >> 62 == 0 {
                let key = key((random >> 33) as usize);
                let expected = model.remove(&key).unwrap_or_default();
                assert!(expected.is_empty() || index.may_have(key));
                let mut found = HashSet::new();
                index.take(key, |taken| assert!(found.insert(taken.address())));
                assert_eq!(found, expected);
            }
        }
        let expected: HashSet<usize> = model.into_values().flatten().collect();
        let mut left = HashSet::new();
        index.take_all(|taken| assert!(left.insert(taken.address())));
        assert_eq!(left, expected);
        assert!(!(0..keys).any(|i| index.may_have(key(i))) && index.used() == FEWEST);
    }

    #[test]
    fn chains_are_longer_without_memory_for_heads() {
        static KERNEL: Faulty = Faulty::new();
        let index = PendingIndex::new(&KERNEL, 1 << 30).unwrap();
        KERNEL.refuse(0);
        assert!(index.begin().is_err());
        index.begin().unwrap();
        KERNEL.refuse_from(0);
        check(&index, 20_000);
        assert_eq!(index.committed.load(Ordering::Relaxed), FEWEST);
    }
}
