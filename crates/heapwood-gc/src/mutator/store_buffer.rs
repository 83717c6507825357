//! A mutator's part of the remembered set: the table of young pages, by which most stores pass; the chunk that it fills;
//! and a cache of recent entries, so that a slot that is stored into again and again is remembered once. Invariant: it
//! belongs to its thread, or to a collector that has stopped that; a cached entry is in a chunk of this cycle.

use crate::state::remembered::{OBJECT, RANGE, RememberedChunk, RememberedSet, SHADED, SLOT};
use core::cell::Cell;
use core::ptr::null_mut;
use heapwood_heap::{ObjectRef, Space, YoungPagesView};

/// Entries of the cache.
const PLACES: usize = 64;
/// A store into a page that is not young counts as N, because its path reads more words that may miss the cache.
const LONG: u64 = 4;

/// The part of a mutator for the stores that its barrier records. The counters of the buffer and the table share cache
/// lines.
#[repr(C)]
pub(super) struct RecordedStores {
    buffer: StoreBuffer,
    /// The table of young pages in this cycle.
    young_pages: Cell<YoungPagesView>,
}

impl RecordedStores {
    pub(super) const fn new(young_pages: YoungPagesView) -> Self {
        RecordedStores { buffer: StoreBuffer::new(), young_pages: Cell::new(young_pages) }
    }

    /// A cycle begins, with this table and this limit of stores.
    pub(super) fn begin_cycle(&self, young_pages: YoungPagesView, most: u64) {
        self.young_pages.set(young_pages);
        self.buffer.allow(most);
    }

    /// The entries.
    #[inline(always)]
    pub(super) fn buffer(&self) -> &StoreBuffer {
        &self.buffer
    }

    /// Whether stores into a slot may have to be remembered: it lies in the heap, on a page that is not wholly young.
    #[inline(always)]
    pub(super) fn is_remembered(&self, space: &Space, slot: usize) -> bool {
        let (young_pages, committed_end) = (self.young_pages.get(), space.committed_end());
        let offset = young_pages.offset(slot);
        // SAFETY: the slot lies below the committed_end, and the view is of this cycle.
        offset < committed_end && !unsafe { young_pages.is_young_page(offset) }
    }

    /// Whether a store of `value` into a slot may have to be remembered; most stores need only this test.
    #[inline(always)]
    pub(super) fn may_be_remembered(
        &self,
        space: &Space,
        object: Option<ObjectRef>,
        slot: usize,
        value: usize,
    ) -> bool {
        let young_pages = self.young_pages.get();
        let committed_end = space.committed_end();
        let (at, target) = (young_pages.offset(slot), young_pages.offset(value));
        // SAFETY: the offsets are below the committed_end where they are used, an object's by the contract of the callers; the
        // view is of this cycle.
        unsafe {
            if at >= committed_end || young_pages.is_young_page(at) {
                return false;
            }
            self.buffer.count_long();
            // To a trace function a word outside the heap may mean an object. Young collections scan new arenas, and
            // those with new objects, in any case.
            let is_known = || {
                (target >= committed_end || young_pages.is_old(target) || young_pages.is_in_arena(target))
                    && !space.layouts().has_trace_functions()
            };
            let is_new = || {
                let is_new = |object: ObjectRef| !young_pages.is_old(young_pages.offset(object.get()));
                !young_pages.is_in_arena(at) && object.is_some_and(is_new)
            };
            !(value == 0 || is_known() || is_new() || self.buffer.has_slot(slot))
        }
    }
}

/// The store buffer of a mutator.
pub(super) struct StoreBuffer {
    /// The next word of the chunk, and the chunk's end; both null without a chunk.
    at: Cell<*mut usize>,
    end: Cell<*mut usize>,
    /// The end word of the last range, if no other entry follows it.
    range: Cell<*mut usize>,
    recent: [Cell<usize>; PLACES],
    /// Stores that may still take the slow path of the barrier in this cycle.
    left: Cell<u64>,
    most: Cell<u64>,
}

impl StoreBuffer {
    pub(super) const fn new() -> Self {
        StoreBuffer {
            at: Cell::new(null_mut()),
            end: Cell::new(null_mut()),
            range: Cell::new(null_mut()),
            recent: [const { Cell::new(0) }; PLACES],
            left: Cell::new(0),
            most: Cell::new(0),
        }
    }

    /// Counts a store that takes the slow path of the barrier; false if there were too many.
    #[inline(always)]
    pub(super) fn count(&self) -> bool {
        let left = self.left.get();
        self.left.set(left.wrapping_sub(1));
        left != 0
    }

    /// Counts the extra cost of a store into a page that is not young.
    #[inline(always)]
    pub(super) fn count_long(&self) {
        self.left.set(self.left.get().saturating_sub(LONG - 1));
    }

    /// The stores that took the slow path in this cycle.
    pub(super) fn counted(&self) -> u64 {
        self.most.get().wrapping_sub(self.left.get())
    }

    /// Sets the limit of stores for the cycle that begins.
    pub(super) fn allow(&self, most: u64) {
        self.left.set(most);
        self.most.set(most);
    }

    /// Remembers a slot.
    #[inline]
    pub(super) fn slot(&self, set: &RememberedSet, slot: usize) {
        self.once(set, slot | SLOT);
    }

    /// Whether the cache has this slot; false does not mean that it is not remembered.
    #[inline(always)]
    pub(super) fn has_slot(&self, slot: usize) -> bool {
        self.recent(slot | SLOT).get() == slot | SLOT
    }

    /// Remembers all slots of an object.
    pub(super) fn object(&self, set: &RememberedSet, object: usize) {
        self.once(set, object | OBJECT);
    }

    /// Whether this is the first call for the object since the last collection; another object may have replaced its
    /// cache entry.
    pub(super) fn is_first(&self, object: usize) -> bool {
        let recent = self.recent(object | SHADED);
        recent.replace(object | SHADED) != object | SHADED
    }

    #[inline(always)]
    fn recent(&self, entry: usize) -> &Cell<usize> {
        &self.recent[entry.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (usize::BITS - 6)]
    }

    #[inline]
    fn once(&self, set: &RememberedSet, entry: usize) {
        let recent = self.recent(entry);
        if recent.get() != entry && self.push(set, &[entry]) {
            recent.set(entry);
            self.range.set(null_mut());
        }
    }

    /// Remembers words of an object; often they follow the last range.
    pub(super) fn words(&self, set: &RememberedSet, start: usize, end: usize) {
        let range = self.range.get();
        // SAFETY: the word lies in this mutator's chunk, which it has written.
        if !range.is_null() && unsafe { range.read() } == start {
            // SAFETY: as above.
            unsafe { range.write(end) };
        } else if self.push(set, &[start | RANGE, end]) {
            self.range.set(self.at.get().wrapping_sub(1));
        }
    }

    /// Adds the words of an entry; false if there is no room.
    fn push(&self, set: &RememberedSet, words: &[usize]) -> bool {
        if (self.end.get() as usize - self.at.get() as usize) / size_of::<usize>() < words.len() {
            self.close();
            let Some(chunk) = set.take_chunk() else { return false };
            let words = RememberedChunk::words(chunk);
            self.at.set(words.start);
            self.end.set(words.end);
        }
        for &word in words {
            // SAFETY: there is room before the end of this mutator's chunk.
            unsafe { self.at.get().write(word) };
            self.at.set(self.at.get().wrapping_add(1));
        }
        true
    }

    /// Ends the chunk, if there is one: a collector is about to read it, or another chunk follows.
    pub(super) fn close(&self) {
        if self.at.get() < self.end.get() {
            // SAFETY: as in `push`.
            unsafe { self.at.get().write(0) };
        }
        self.at.set(null_mut());
        self.end.set(null_mut());
        self.range.set(null_mut());
    }

    /// A planted error: empties the chunk.
    pub(super) fn lose(&self) {
        if !self.at.get().is_null() {
            let first =
                (self.at.get() as usize - 1) / size_of::<RememberedChunk>() * size_of::<RememberedChunk>();
            // SAFETY: the first word of this mutator's chunk; `at` is at most the chunk's end, and chunks are aligned.
            unsafe { self.at.get().with_addr(first).write(0) };
        }
    }

    /// Forgets all entries.
    pub(super) fn forget(&self) {
        self.close();
        self.recent.iter().for_each(|recent| recent.set(0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::remembered::RememberedEntry;
    use heapwood_os::SYSTEM;

    fn entries(set: &RememberedSet) -> Vec<RememberedEntry> {
        let mut all = Vec::new();
        set.for_each(|entry| {
            all.extend(entry);
            true
        });
        all
    }

    #[test]
    fn a_full_set_says_so() {
        let set = RememberedSet::new(&SYSTEM, 1 << 30).unwrap();
        let buffer = StoreBuffer::new();
        set.clear(64 * 4096);
        (1..=64 * 512).for_each(|i| buffer.slot(&set, i * 8));
        assert!(!set.has_overflowed());
        buffer.slot(&set, 8);
        assert!(set.has_overflowed());
        buffer.forget();
        set.clear(1 << 20);
        buffer.slot(&set, 8);
        buffer.close();
        assert!(!set.has_overflowed() && entries(&set) == [RememberedEntry::Slot(8)]);
    }
}
