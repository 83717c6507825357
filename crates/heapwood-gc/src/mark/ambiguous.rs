//! Words that may or may not be pointers: on stacks, in registered ranges, in objects without a layout. A range test
//! drops most words; the rest are candidates, whose mark words are prefetched while others are gathered. Most candidates
//! on a deep stack are the bases of objects that are marked already: one load tells. The others become edges, which the marking loop
//! looks up when their bits are in the cache; those of a snapshot's roots are looked up at once. Invariant: what a look-up finds is an
//! object that exists, whatever the word was.

use super::bits::MarkBits;
use super::candidates::{Candidates, HeapRange};
use super::edge::{ambiguous, is_ambiguous, word_of};
use super::mode::{Mode, Scope};
use super::queue::Marker;
use heapwood_heap::{Address, GRANULE, MarkingView, ObjectRef, PageEntry, ScanKind};
use heapwood_layout::WORD;

impl<M: Mode> Marker<'_, M> {
    /// The object that `word` points to or into, if it exists.
    #[inline]
    pub(super) fn resolve(&self, word: usize) -> Option<usize> {
        if word.wrapping_sub(self.base) >= self.committed_end {
            return None;
        }
        let found = match M::Scope::SNAPSHOT {
            // Exact while mutators run: the spans that they allocate from change under a look-up of young objects.
            true => self.space.find_old(Address::new(word)).map(ObjectRef::get),
            false => self.space.find(Address::new(word)).map(|object| object.base.get()),
        };
        match found {
            Some(object) => Some(object),
            None => {
                // A word into a freed arena chunk keeps its addresses in quarantine: the look-up notes it.
                let _ =
                    self.space.arenas().find_chunk(Address::new(word)).is_some_and(|chunk| chunk.is_in_use());
                None
            }
        }
    }

    /// Scans the aligned words of `start..end`.
    pub(super) fn scan_ambiguous(&mut self, start: usize, end: usize) {
        let heap = HeapRange::new(self.base..self.base + self.committed_end, self.marks, self.space.cpu());
        let (mut at, end) = (start.next_multiple_of(WORD), end & !(WORD - 1));
        let mut candidates = Candidates::new();
        while at < end {
            let part = at..end.min(at + Candidates::MOST * WORD);
            at = part.end;
            // SAFETY: the range is memory that its owner registered, an object, or a stopped thread's stack.
            for &word in unsafe { candidates.gather(heap, part) } {
                if self.is_marked_base(word) {
                    continue;
                }
                // The roots of a snapshot are looked up in its stop.
                match M::Scope::SNAPSHOT {
                    true => self.resolve(word).into_iter().for_each(|object| self.push(object)),
                    false => self.push(ambiguous(word)),
                }
            }
        }
    }

    /// The object of an edge, unless it is ambiguous and that object is marked, or there is none. In a snapshot the caller asks
    /// whether the object is of it.
    pub(super) fn object_of(&self, edge: usize) -> Option<usize> {
        match is_ambiguous(edge) {
            true => {
                let (word, entry) = (word_of(edge), self.entry(edge));
                match self.is_base(word, entry, self.view()) {
                    true => Some(word),
                    false => self.look_inside(word, entry),
                }
            }
            false => Some(edge),
        }
    }

    /// Whether a word in the heap is the base of an object that has survived a collection, or may have; the entry is that of its page.
    #[inline(always)]
    pub(super) fn is_base(&self, word: usize, entry: PageEntry, view: MarkingView<'_>) -> bool {
        // Only objects have allocation bits, at their first granules. The processor goes on with the word before it knows.
        // SAFETY: edges lie below the committed end, whose bits are committed.
        let is_allocated = unsafe { view.is_allocated_in_heap(word) };
        is_allocated && entry.has_objects() && !self.is_freed(word)
    }

    /// The object that another word leads to or into, unless that is marked: perhaps one that was made since the last collection.
    /// The page's entry has the start of the span and the shape, so that nothing is read of the span's descriptor.
    #[inline(never)]
    pub(super) fn look_inside(&self, word: usize, entry: PageEntry) -> Option<usize> {
        let view = self.view();
        let Some(class) = entry.kind().and_then(|_| self.shape(entry).class()) else {
            return self.resolve(word);
        };
        let object = entry.cell_of(word, self.base, class);
        // SAFETY: the object lies in the span of the word's page, which lies below the committed end.
        unsafe {
            if M::Bits::is_set(self.marks, object) {
                return None;
            }
            if M::Scope::SNAPSHOT || view.is_allocated_in_heap(object) && !self.is_freed(object) {
                return Some(object);
            }
        }
        self.space.find(Address::new(word)).map(|object| object.base.get())
    }

    /// Whether a word in the heap's range is the base of a marked object, which would be found marked later. Only bases
    /// have marks, except in arenas, where an address inside a chunk tells more than its mark does.
    #[inline(always)]
    pub(super) fn is_marked_base(&self, word: usize) -> bool {
        let entry = self.entry(word);
        // SAFETY: the word lies below the committed end, whose bits are committed.
        let is_set = word.is_multiple_of(GRANULE) && unsafe { M::Bits::is_set(self.marks, word) };
        is_set && !entry.is(ScanKind::Arena) && entry.kind().is_some()
    }
}
