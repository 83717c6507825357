//! Registered roots: slots that hold an object's address or null, ranges of ambiguous words, and libraries; and the set of
//! intervals. Invariant:
//! every entry below `used` is a root or on the free list, so registering and removing take constant time. Entries are
//! committed as they are needed.

use super::intervals::Intervals;
use crate::error::Refusal;
use core::ops::Range;
use heapwood_layout::WORD;
use heapwood_os::memory::region::Zeroed;
use heapwood_os::{KernelRef, Mapped, MappedArray, OsError};

/// The most roots of a heap.
const MAX_ROOTS: usize = 1 << 16;
/// Entries are committed in steps of this size.
const STEP: usize = 1 << 9;
/// The end of the free list.
const NONE: usize = usize::MAX;

/// Names a registered root until it is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RootToken(u64);

impl RootToken {
    /// The token as a number, for clients that cannot keep the type. Never 0.
    pub fn to_bits(self) -> u64 {
        self.0
    }

    /// The token with this number, which `to_bits` gave.
    pub fn from_bits(bits: u64) -> Self {
        RootToken(bits)
    }
}

/// The kind of a root's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum RootKind {
    /// Each word is the address of an object, or null, or outside the heap.
    Slots = 1,
    /// Any word may or may not be a pointer.
    Range = 2,
    /// The data of a library. `start` is the library's number, `words` the number of libraries that had been loaded
    /// when it was named.
    Library = 3,
}

#[derive(Clone, Copy)]
#[repr(C)]
struct RootEntry {
    /// The first word; in a free entry, the next free one.
    start: usize,
    words: usize,
    /// 0 if free, otherwise a [`RootKind`].
    kind: u32,
    /// Counts the uses of this entry, so that an old token is rejected.
    generation: u32,
}

// SAFETY: all-zero bytes are a free entry; it holds plain numbers.
unsafe impl Zeroed for RootEntry {}

/// The registered roots of one heap.
pub(crate) struct RootTable {
    entries: MappedArray<RootEntry>,
    committed: usize,
    used: usize,
    free: usize,
    /// Libraries were named or removed since the last [`RootTable::take_libraries_changed`].
    libraries_changed: bool,
    /// The libraries that are named.
    libraries: usize,
    intervals: Intervals,
}

impl RootTable {
    pub(crate) fn new(kernel: KernelRef) -> Result<Self, OsError> {
        let entries = MappedArray::new(kernel, MAX_ROOTS)?;
        let intervals = Intervals::new(kernel);
        Ok(RootTable {
            entries,
            committed: 0,
            used: 0,
            free: NONE,
            libraries_changed: false,
            libraries: 0,
            intervals,
        })
    }

    /// The ranges that are added and removed by their addresses.
    pub(crate) fn intervals(&mut self) -> &mut Intervals {
        &mut self.intervals
    }

    fn entry(&mut self, index: usize) -> &mut RootEntry {
        debug_assert!(index < self.committed);
        // SAFETY: the entry is committed, and the borrow is exclusive.
        unsafe { &mut *self.entries.at(index) }
    }

    /// An entry that is not in use.
    fn take(&mut self) -> Result<usize, Refusal> {
        if self.free != NONE {
            let index = self.free;
            self.free = self.entry(index).start;
            return Ok(index);
        }
        if self.used == self.committed {
            let end = (self.committed + STEP).min(MAX_ROOTS);
            if end == self.committed {
                return Err(Refusal::ManyRoots { most: MAX_ROOTS });
            }
            self.entries.commit(self.committed..end)?;
            self.committed = end;
        }
        self.used += 1;
        Ok(self.used - 1)
    }

    /// Registers `words` words from `start`.
    pub(crate) fn add(&mut self, kind: RootKind, start: usize, words: usize) -> Result<RootToken, Refusal> {
        let index = self.take()?;
        let e = self.entry(index);
        let generation = e.generation.wrapping_add(1).max(1);
        *e = RootEntry { start, words, kind: kind as u32, generation };
        self.libraries_changed |= kind == RootKind::Library;
        self.libraries += usize::from(kind == RootKind::Library);
        Ok(RootToken((generation as u64) << 32 | index as u64))
    }

    /// Removes a root; false if the token names none.
    pub(crate) fn remove(&mut self, token: RootToken) -> bool {
        let index = (token.0 & 0xffff_ffff) as usize;
        if index >= self.used {
            return false;
        }
        let e = self.entry(index);
        let known = e.kind != 0 && e.generation as u64 == token.0 >> 32;
        if known {
            let was_library = e.kind == RootKind::Library as u32;
            self.libraries_changed |= was_library;
            self.free(index);
        }
        known
    }

    fn free(&mut self, index: usize) {
        let next = self.free;
        let e = self.entry(index);
        let was_library = e.kind == RootKind::Library as u32;
        e.kind = 0;
        e.start = next;
        self.free = index;
        self.libraries -= usize::from(was_library);
    }

    /// Whether a library is named.
    pub(super) fn has_libraries(&self) -> bool {
        self.libraries != 0
    }

    /// Removes all libraries.
    pub(crate) fn forget_libraries(&mut self) {
        self.retain_libraries(|_, _| false);
        self.libraries_changed = true;
    }

    /// Whether libraries were named or removed since the last call.
    pub(super) fn take_libraries_changed(&mut self) -> bool {
        core::mem::take(&mut self.libraries_changed)
    }

    /// Removes the libraries for which `keep` is false. `keep` gets a library's number, and how many had been loaded
    /// when it was named.
    pub(super) fn retain_libraries(&mut self, mut keep: impl FnMut(usize, u64) -> bool) {
        for index in 0..self.used {
            let RootEntry { start, words, kind, .. } = *self.entry(index);
            if kind == RootKind::Library as u32 && !keep(start, words as u64) {
                self.free(index);
            }
        }
    }

    /// Calls `f` with each root except libraries.
    pub(crate) fn for_each(&self, mut f: impl FnMut(RootKind, usize, usize)) {
        for index in 0..self.used {
            // SAFETY: entries in use are committed; shared access only reads.
            let e = unsafe { &*self.entries.at(index) };
            match e.kind {
                1 => f(RootKind::Slots, e.start, e.words),
                2 => f(RootKind::Range, e.start, e.words),
                _ => {}
            }
        }
        self.intervals.for_each(&mut |range| {
            let start = range.start.next_multiple_of(WORD);
            let words = range.end.saturating_sub(start) / WORD;
            if words != 0 {
                f(RootKind::Range, start, words);
            }
        });
    }
}

impl Mapped for RootTable {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        self.entries.for_each_mapping(f);
        self.intervals.for_each_mapping(f);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_table_says_so_and_has_room_again_for_each_that_is_removed() {
        let mut roots = RootTable::new(&heapwood_os::SYSTEM).unwrap();
        let add = |roots: &mut RootTable, i: usize| roots.add(RootKind::Slots, i * 8, 1);
        let mut tokens: Vec<_> = (0..MAX_ROOTS).map(|i| add(&mut roots, i).unwrap()).collect();
        assert_eq!(add(&mut roots, 7), Err(Refusal::ManyRoots { most: MAX_ROOTS }));
        assert!(Refusal::ManyRoots { most: MAX_ROOTS }.to_string().contains("65536 roots"));
        // Every third root is removed and added again.
        for round in 0..3 {
            for i in (round..MAX_ROOTS).step_by(3) {
                assert!(roots.remove(tokens[i]) && !roots.remove(tokens[i]));
            }
            for i in (round..MAX_ROOTS).step_by(3) {
                tokens[i] = add(&mut roots, i).unwrap();
            }
            assert!(add(&mut roots, 7).is_err());
        }
        let mut sum = 0;
        roots.for_each(|_, start, _| sum += start);
        assert_eq!(sum, (0..MAX_ROOTS).map(|i| i * 8).sum::<usize>());
    }
}
