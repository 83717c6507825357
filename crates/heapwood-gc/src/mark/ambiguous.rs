//! Words that may or may not be pointers: on stacks, in registered ranges, in objects without a layout. A range test
//! drops most words; the rest are candidates, whose mark words are prefetched while others are gathered. Most candidates
//! on a deep stack are the bases of objects that are marked already: one load tells. The others become edges, which the marking loop
//! looks up when their bits are in the cache; those of a snapshot's roots are looked up at once. Invariant: what a look-up finds is an
//! object that exists, whatever the word was.

use super::bits::MarkBits;
use super::candidates::{Candidates, HeapRange};
use super::edge::{ambiguous, code_of, is_ambiguous, is_any, is_first_byte, with_code, word_of};
use super::mode::{Mode, Scope};
use super::queue::Marker;
use crate::state::MOST_BEFORE;
use heapwood_heap::{Address, GRANULE, MarkingView, ObjectRef, PageEntry, ScanKind};
use heapwood_layout::WORD;
use heapwood_pages::{PAGE_SIZE, PageIndex};

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

    /// Scans the aligned words of `start..end`, in which a word may lead to the inside of an object unless the heap is exact.
    pub(super) fn scan_ambiguous(&mut self, start: usize, end: usize) {
        self.scan_words(start, end, self.is_exact());
    }

    /// Scans the aligned words of `start..end` on a stack, where they may always lead to the inside; and, if the heap wants that,
    /// those that a small object ends at.
    pub(super) fn scan_stack(&mut self, start: usize, end: usize) {
        self.scan_words(start, end, false);
        if !self.words_that_count().has_ends() {
            return;
        }
        for at in (start.next_multiple_of(WORD)..end & !(WORD - 1)).step_by(WORD) {
            // The granule before lies in the object that ends at the word, if there is one.
            let before = Self::word(at).wrapping_sub(GRANULE);
            if before.is_multiple_of(GRANULE)
                && before.wrapping_sub(self.base) < self.committed_end
                && let entry = self.entry(before)
                && entry.kind().is_some()
                && self.shape(entry).has_cells_up_to(MOST_BEFORE)
            {
                self.push_any(before);
            }
        }
    }

    /// Scans words that may have tags, or be anything.
    #[cold]
    pub(super) fn scan_tagged_words(&mut self, start: usize, end: usize) {
        for at in (start.next_multiple_of(WORD)..end & !(WORD - 1)).step_by(WORD) {
            self.push_word(self.untagged(Self::word(at)));
        }
    }

    fn scan_words(&mut self, start: usize, end: usize, is_exact: bool) {
        if self.has_tagged_words() {
            return self.scan_tagged_words(start, end);
        }
        let heap = HeapRange::new(self.base..self.base + self.committed_end, self.marks, self.space.cpu());
        let (mut at, end) = (start.next_multiple_of(WORD), end & !(WORD - 1));
        let mut candidates = Candidates::new();
        while at < end {
            let part = at..end.min(at + Candidates::MOST * WORD);
            at = part.end;
            // SAFETY: the range is memory that its owner registered, an object, or a stopped thread's stack.
            for &word in unsafe { candidates.gather(heap, part) } {
                match is_exact {
                    true => self.push_exact(word),
                    false => self.push_any(word),
                }
            }
        }
    }

    /// Follows a word that may be a pointer, under a tag if such words may have tags.
    #[inline]
    pub(super) fn push_ambiguous_word(&mut self, word: usize) {
        self.push_word(if self.has_tagged_words() { self.untagged(word) } else { word });
    }

    /// Follows a word that may point to or into an object.
    #[inline]
    pub(super) fn push_word(&mut self, word: usize) {
        match self.is_exact() {
            _ if word.wrapping_sub(self.base) >= self.committed_end => {}
            true => self.push_exact(word),
            false => self.push_any(word),
        }
    }

    /// The same for a word in the heap's range, which may lead to the inside.
    #[inline(always)]
    fn push_any(&mut self, word: usize) {
        if self.is_marked_base(word) {
            return;
        }
        // The roots of a snapshot are looked up in its stop.
        match M::Scope::SNAPSHOT {
            true => self.resolve(word).into_iter().for_each(|object| self.push(object)),
            false => self.push(ambiguous(word)),
        }
    }

    /// The same for one that counts only with a registered displacement.
    #[inline]
    fn push_exact(&mut self, word: usize) {
        let code = self.words_that_count().code(word);
        if code == 0 || self.is_marked_base(word) {
            return;
        }
        match M::Scope::SNAPSHOT {
            true => {
                if let Some(object) = self.resolve(word)
                    && self.words_that_count().counts_for(word, object)
                {
                    self.push(object);
                }
            }
            false => self.push(with_code(word, code)),
        }
    }

    /// Whether an ambiguous edge counts for the object that it leads to or into.
    #[inline(always)]
    fn counts(&self, edge: usize, object: usize) -> bool {
        if self.is_tagged() {
            // A number seldom is the address of an object. In an arena any word counts.
            return is_any(edge)
                || is_first_byte(edge) && word_of(edge) == object
                || self.entry(object).is(ScanKind::Arena);
        }
        is_any(edge) || self.words_that_count().counts(code_of(edge), word_of(edge).wrapping_sub(object))
    }

    /// The object of an ambiguous edge that does not count for the base it leads to, or leads to no base that is known.
    #[inline(never)]
    pub(super) fn object_inside(&self, edge: usize, entry: PageEntry) -> Option<usize> {
        let word = word_of(edge);
        let object = match self.is_base(word - self.base, entry, self.view()) {
            true => Some(word),
            false => self.look_inside(word, entry),
        };
        object.filter(|&object| self.counts(edge, object))
    }

    /// The object of an edge, unless it is ambiguous and that object is marked, or there is none. In a snapshot the caller asks
    /// whether the object is of it.
    pub(super) fn object_of(&self, edge: usize) -> Option<usize> {
        match is_ambiguous(edge) {
            true => self.object_inside(edge, self.entry(edge)),
            false => Some(edge),
        }
    }

    /// Whether a word so many bytes from the heap's base is the base of an object that has survived a collection, or may have; the
    /// entry is that of its page.
    #[inline(always)]
    pub(super) fn is_base(&self, offset: usize, entry: PageEntry, view: MarkingView<'_>) -> bool {
        // Only objects have allocation bits, at their first granules. The processor goes on with the word before it knows.
        // SAFETY: edges lie below the committed end, whose bits are committed.
        let is_allocated = unsafe { view.is_allocated_at(offset) };
        is_allocated && entry.has_objects() && !self.is_freed(self.base + offset)
    }

    /// The object that another word leads to or into, unless that is marked: perhaps one that was made since the last collection.
    /// The page's entry has the start of the span and the shape, so that the span's descriptor is read for such an object only.
    #[inline(always)]
    fn look_inside(&self, word: usize, entry: PageEntry) -> Option<usize> {
        if self.is_tagged() && entry.is(ScanKind::Arena) {
            // Any word into an arena counts, and which value it leads to does not matter.
            return Some(word);
        }
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
        // One that was made since the last collection.
        let span = self.space.span(PageIndex((word - self.base) / PAGE_SIZE - entry.back().0));
        (self.space.is_in_fresh_range(span, object) && !self.is_freed(object)).then_some(object)
    }

    /// Whether a word in the heap's range is the base of a marked object, which would be found marked later. Only bases
    /// have marks, except in arenas, where an address inside a chunk tells more than its mark does.
    #[inline(always)]
    pub(super) fn is_marked_base(&self, word: usize) -> bool {
        // SAFETY: the word lies below the committed end, whose bits are committed.
        let is_set = word.is_multiple_of(GRANULE) && unsafe { M::Bits::is_set(self.marks, word) };
        is_set && self.entry(word).has_objects()
    }
}
