//! The table of objects that take plain stores, found by their addresses: chains of entries that do not move, since a program
//! stores tops into them. Invariant: an entry in use is in the chain of its object's hash, once.

use core::ops::Range;
use core::sync::atomic::{AtomicUsize, Ordering};
use heapwood_os::memory::region::Zeroed;
use heapwood_os::{KernelRef, Mapped, MappedArray, OsError, for_each_mapping_of};

/// The most objects at once.
pub(crate) const MOST_PLAIN: usize = 4096;
/// Entries are committed in steps of so many.
const STEP: usize = 512;
/// Chains begin here, by hash.
const HEADS: usize = 4096;

/// An object that takes plain stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PlainObject {
    pub(crate) object: usize,
    /// Its words.
    pub(crate) words: usize,
    /// Words that count; more than it has: all.
    pub(crate) top: usize,
}

/// Why an object was not added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AddPlainError {
    Full,
    Begun,
    Kernel(OsError),
}

/// Why a top was not set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TopError {
    NotBegun,
    /// The object has so many words.
    Beyond(usize),
}

#[repr(C)]
struct Entry {
    /// 0 if it is free.
    object: usize,
    words: usize,
    /// The program may store into it.
    top: AtomicUsize,
    /// The next in its chain, or the next free one; 0 is none.
    next: u32,
    unused: u32,
}

// SAFETY: all-zero bytes are a free entry of plain numbers.
unsafe impl Zeroed for Entry {}

/// The table of one heap.
pub(super) struct Table {
    /// The first stands for none.
    entries: MappedArray<Entry>,
    heads: MappedArray<u32>,
    committed: usize,
    used: usize,
    free: u32,
    count: usize,
}

impl Table {
    pub(super) fn new(kernel: KernelRef) -> Result<Self, OsError> {
        let heads = MappedArray::new(kernel, HEADS)?;
        heads.commit(0..HEADS)?;
        let entries = MappedArray::new(kernel, MOST_PLAIN + 1)?;
        Ok(Table { entries, heads, committed: 0, used: 1, free: 0, count: 0 })
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Entries that were ever used.
    pub(super) fn used(&self) -> usize {
        self.used
    }

    fn entry(&self, number: u32) -> *mut Entry {
        debug_assert!((number as usize) < self.used);
        self.entries.at(number as usize)
    }

    fn head(&self, object: usize) -> *mut u32 {
        let hash = (object as u64 >> 4).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 52;
        self.heads.at(hash as usize % HEADS)
    }

    fn find(&self, object: usize) -> Option<u32> {
        // SAFETY: heads and entries in use are committed, and the table's lock is held. A program writes tops alone.
        unsafe {
            let mut at = self.head(object).read();
            while at != 0 && (*self.entry(at)).object != object {
                at = (*self.entry(at)).next;
            }
            Some(at).filter(|&at| at != 0)
        }
    }

    pub(super) fn has(&self, object: usize) -> bool {
        self.find(object).is_some()
    }

    pub(super) fn get(&self, number: usize) -> Option<PlainObject> {
        if number == 0 || number >= self.used {
            return None;
        }
        // SAFETY: as in `find`.
        let entry = unsafe { &*self.entry(number as u32) };
        (entry.object != 0).then(|| PlainObject {
            object: entry.object,
            words: entry.words,
            top: entry.top.load(Ordering::Relaxed),
        })
    }

    pub(super) fn add(&mut self, added: PlainObject) -> Result<*const AtomicUsize, AddPlainError> {
        if self.has(added.object) {
            return Err(AddPlainError::Begun);
        }
        let number = match self.free {
            0 if self.used > MOST_PLAIN => return Err(AddPlainError::Full),
            0 => {
                if self.used >= self.committed {
                    let end = (self.committed + STEP).min(MOST_PLAIN + 1);
                    self.entries.commit(self.committed..end).map_err(AddPlainError::Kernel)?;
                    self.committed = end;
                }
                self.used += 1;
                (self.used - 1) as u32
            }
            free => {
                // SAFETY: as in `find`.
                self.free = unsafe { (*self.entry(free)).next };
                free
            }
        };
        self.count += 1;
        // SAFETY: as in `find`; the entry is free.
        unsafe {
            let (entry, head) = (self.entry(number), self.head(added.object));
            (*entry).object = added.object;
            (*entry).words = added.words;
            (*entry).top.store(added.top, Ordering::Relaxed);
            (*entry).next = head.replace(number);
            Ok(&raw const (*entry).top)
        }
    }

    pub(super) fn set_top(&mut self, object: usize, top: usize) -> Result<(), TopError> {
        let number = self.find(object).ok_or(TopError::NotBegun)?;
        // SAFETY: as in `find`.
        let entry = unsafe { &*self.entry(number) };
        if top > entry.words && top != usize::MAX {
            return Err(TopError::Beyond(entry.words));
        }
        entry.top.store(top, Ordering::Relaxed);
        Ok(())
    }

    pub(super) fn remove(&mut self, object: usize) -> Option<PlainObject> {
        let number = self.find(object)?;
        let removed = self.get(number as usize);
        // SAFETY: as in `find`; the links are those of the entry's chain.
        unsafe {
            let mut link = self.head(object);
            while *link != number {
                link = &raw mut (*self.entry(*link)).next;
            }
            *link = (*self.entry(number)).next;
            (*self.entry(number)).object = 0;
            (*self.entry(number)).next = self.free;
        }
        self.free = number;
        self.count -= 1;
        removed
    }
}

impl Mapped for Table {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        for_each_mapping_of(&[&self.entries, &self.heads], f);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(object: usize) -> PlainObject {
        PlainObject { object, words: 8, top: 3 }
    }

    #[test]
    fn objects_are_found_until_they_are_removed() {
        let mut table = Table::new(&heapwood_os::SYSTEM).unwrap();
        for round in 0..3 {
            for i in 1..=MOST_PLAIN {
                let top = table.add(of(i * 16)).unwrap();
                // SAFETY: entries stay where they are.
                assert_eq!(unsafe { &*top }.load(Ordering::Relaxed), 3);
                assert_eq!(table.add(of(i * 16)), Err(AddPlainError::Begun));
            }
            assert_eq!(table.add(of(8)), Err(AddPlainError::Full));
            assert_eq!(table.count(), MOST_PLAIN);
            let step = 3 + round;
            for i in (step..=MOST_PLAIN).step_by(step) {
                assert_eq!(table.set_top(i * 16, 8), Ok(()));
                assert_eq!(table.remove(i * 16), Some(PlainObject { top: 8, ..of(i * 16) }));
                assert!(table.remove(i * 16).is_none() && !table.has(i * 16));
                assert_eq!(table.set_top(i * 16, 1), Err(TopError::NotBegun));
            }
            let left = (0..table.used()).filter_map(|number| table.get(number)).count();
            assert_eq!(left, MOST_PLAIN - MOST_PLAIN / step);
            assert!((1..=MOST_PLAIN).all(|i| table.has(i * 16) == (i % step != 0)));
            (1..=MOST_PLAIN).for_each(|i| _ = table.remove(i * 16));
            assert_eq!(table.count(), 0);
        }
        table.add(of(16)).unwrap();
        assert_eq!(table.set_top(16, 9), Err(TopError::Beyond(8)));
        assert_eq!(table.set_top(16, usize::MAX), Ok(()));
    }
}
