//! Sweeping of large objects, and those that the program frees. A bit a page says where one starts, and who takes that bit away
//! frees it: a sweep, a word of bits at a time, or the program, perhaps at the same moment. Invariant: a large object is freed
//! once, and one that is made in its pages meanwhile is not freed with it.

use crate::arenas::chunk::ArenaChunk;
use crate::config::CLOBBER;
use crate::layout::shape::ScanKind;
use crate::layout::shape_id::ShapeId;
use crate::prefetch;
use crate::reclaim::empty_spans::EmptySpans;
use crate::reclaim::sweeper::Sweeper;
use crate::spans::span::Span;
use core::ops::Range;
use heapwood_os::sync::yield_now;
use heapwood_pages::{PageCount, PageIndex};

/// How many words of starts of large objects ahead their lines are fetched: some thirty objects of 80 KiB.
const AHEAD: usize = 4;

impl Sweeper {
    /// Sweeps the large objects that start in the pages of some words; returns how many there were. After a young collection
    /// those alone are looked at that no sweep has seen.
    pub(super) fn sweep_large(&self, words: Range<usize>, empty: &mut EmptySpans<'_>) -> u32 {
        let (large, mut swept) = (self.heap().spans().large(), 0);
        if self.heap().marks().is_after_young() {
            for word in words {
                let dead = self.look_at_large(large.unseen_in(word), &mut swept);
                self.free_dead_large(word, dead, empty);
            }
            return swept;
        }
        self.prefetch_large(words.start..words.end.min(words.start + AHEAD));
        for word in words.clone() {
            if word + AHEAD < words.end {
                self.prefetch_large(word + AHEAD..word + AHEAD + 1);
            }
            let dead = self.look_at_large(large.starts_in(word), &mut swept);
            self.free_dead_large(word, dead, empty);
        }
        swept
    }

    /// Looks at large objects of a word that were not made in this cycle, and counts them; returns those that are dead.
    fn look_at_large(&self, objects: impl Iterator<Item = (PageIndex, u64)>, swept: &mut u32) -> u64 {
        let (spans, marks) = (self.heap().spans(), self.heap().marks());
        let (cycle, mut dead) = (marks.cycle(), 0);
        for (page, bit) in objects {
            let is_new = spans.large().see(page);
            let (span, start) = (spans.at(page), spans.address_of(page));
            spans.witness().look(page);
            if span.is_swept_in(cycle) {
                if is_new {
                    spans.large().unsee(page);
                }
                continue;
            }
            *swept += 1;
            spans.witness().look(page);
            if !marks.is_allocated(start) {
                dead |= bit;
                continue;
            }
            // One that is freed meanwhile has no mark either, nor has what is made of its pages in this cycle.
            self.clear_old_mark(span, start);
            span.set_survived();
            span.set_swept_in(cycle);
            spans.ages().clear(page, span.pages());
        }
        dead
    }

    /// Frees dead large objects of a word: who takes them does, perhaps the program just now.
    fn free_dead_large(&self, word: usize, dead: u64, empty: &mut EmptySpans<'_>) {
        let (spans, cycle) = (self.heap().spans(), self.heap().marks().cycle());
        for (page, _) in spans.large().take_all(word, dead) {
            if spans.own(page).is_swept_in(cycle) {
                // Another was made in the pages of one that was freed meanwhile.
                spans.large().add(page);
            } else {
                if spans.entry(page).is(ScanKind::Arena) {
                    if let Some(count) = self.free_dead_piece(page) {
                        empty.push(page, count);
                    }
                    continue;
                }
                let count = self.unmake_large(page);
                empty.push(page, count);
            }
        }
    }

    /// Clears the mark that the marking before the last may have left of a large object. One that no sweep has found alive
    /// has none, and the line is not touched.
    #[inline]
    fn clear_old_mark(&self, span: &Span, start: usize) {
        // A young collection may have marked what is new for a full active marking.
        if !span.has_survived() {
            return;
        }
        // SAFETY: no marking is under way that has marked what survived before, and others do at most the same.
        unsafe {
            match span.shape() == ShapeId::ARENA && ArenaChunk::of(span).has_marks_inside() {
                true => self.heap().marks().clear_marks(start, span.cells_end()),
                false => self.heap().marks().clear_mark(start),
            }
        }
    }

    /// Fetches what sweeping the large objects of some words looks at.
    fn prefetch_large(&self, words: Range<usize>) {
        let spans = self.heap().spans();
        for (page, _) in words.flat_map(|word| spans.large().starts_in(word)) {
            prefetch::for_write(core::ptr::from_ref(spans.at(page)).cast());
            self.heap().marks().prefetch_allocated(spans.address_of(page));
        }
    }

    /// Makes pages of a large object that this thread has taken: returns how many, which are no span any more.
    fn unmake_large(&self, page: PageIndex) -> PageCount {
        let spans = self.heap().spans();
        let (start, span) = (spans.address_of(page), spans.own(page));
        self.clear_old_mark(span, start);
        if self.clobbers() {
            // SAFETY: the object's memory is nobody's.
            unsafe { (start as *mut u8).write_bytes(CLOBBER, span.object_bytes()) };
        }
        let pages = span.pages();
        spans.ages().clear(page, pages);
        spans.remove(page);
        self.heap().end_sparse(page, pages);
        pages
    }

    /// Frees a large object that starts at a page; nothing if there is none any more. It returns its pages.
    pub(crate) fn free_large(&self, page: PageIndex) -> Option<PageCount> {
        if !self.heap().spans().large().take(page) && !self.take_when_put_back(page, || true) {
            return None;
        }
        // SAFETY: the object was taken just now.
        unsafe { self.heap().marks().clear_allocated(self.heap().spans().address_of(page)) };
        let pages = self.unmake_large(page);
        let mut empty = EmptySpans::new(self.heap());
        empty.push(page, pages);
        empty.give();
        Some(pages)
    }

    /// Takes a large object that was not to be taken: a sweep that saw another in these pages before puts it back in a moment.
    /// False if there is none: who frees it, too, ends its span, or it no longer `exists`.
    #[cold]
    pub(crate) fn take_when_put_back(&self, page: PageIndex, exists: impl Fn() -> bool) -> bool {
        let spans = self.heap().spans();
        while spans.starts_large(page) && exists() {
            yield_now();
            if spans.large().take(page) {
                return true;
            }
        }
        false
    }
}
