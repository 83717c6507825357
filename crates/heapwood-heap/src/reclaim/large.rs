//! Sweeping and freeing of large objects. One bit a page says where a large object starts. The thread that clears this
//! bit frees the object: a sweep, one word of bits at a time, or the program, perhaps at the same moment. Invariant: a
//! large object is freed once, and an object made in its pages meanwhile is not freed with it.

use crate::arenas::chunk::ArenaChunk;
use crate::config::CLOBBER;
use crate::layout::shape::ScanKind;
use crate::layout::shape_id::ShapeId;
use crate::prefetch;
use crate::reclaim::empty_spans::EmptySpans;
use crate::reclaim::sweeper::Sweeper;
use crate::spans::span::Span;
use core::ops::Range;
use heapwood_os::threads::sync::yield_now;
use heapwood_pages::{PageCount, PageIndex};

/// Words of start bits to prefetch ahead: about thirty objects of 80 KiB.
const AHEAD: usize = 4;

impl Sweeper {
    /// Sweeps the large objects that start in the pages of `words`; returns their number. After a young collection it
    /// visits only objects that no sweep has seen.
    pub(super) fn sweep_large(&self, words: Range<usize>, empty: &mut EmptySpans<'_>) -> u32 {
        let (large, mut swept) = (self.heap.spans.large(), 0);
        if self.heap.marks.is_after_young() {
            for word in large.unseen_words(words) {
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

    /// Checks large objects of a word that are older than this cycle and adds their number to `swept`; returns the bits
    /// of dead ones.
    fn look_at_large(&self, objects: impl Iterator<Item = (PageIndex, u64)>, swept: &mut u32) -> u64 {
        let (spans, marks) = (&self.heap.spans, &self.heap.marks);
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
            // An object that the program frees meanwhile has no mark either, and neither has one made in its pages in
            // this cycle.
            self.clear_old_mark(span, start);
            span.set_survived();
            span.set_swept_in(cycle);
            spans.young_pages().clear(page, span.pages());
        }
        dead
    }

    /// Frees dead large objects of a word whose start bits this thread clears; the program may clear some first.
    fn free_dead_large(&self, word: usize, dead: u64, empty: &mut EmptySpans<'_>) {
        let (spans, cycle) = (&self.heap.spans, self.heap.marks.cycle());
        for (page, _) in spans.large().take_all(word, dead) {
            if spans.own(page).is_swept_in(cycle) {
                // The object was freed meanwhile and another was made in its pages.
                spans.large().add(page);
            } else {
                if spans.entry(page).is(ScanKind::Arena) {
                    if let Some(count) = self.free_dead_chunk(page) {
                        empty.push(page, count);
                    }
                    continue;
                }
                let count = self.unmake_large(page);
                empty.push(page, count);
            }
        }
    }

    /// Clears the mark that the marking before the last may have left. An object that no sweep has found alive has
    /// none, and its line stays untouched.
    #[inline]
    fn clear_old_mark(&self, span: &Span, start: usize) {
        // A young collection may have marked a new object for a full marking under way.
        if !span.has_survived() {
            return;
        }
        // SAFETY: no marking is under way that has marked objects which survived before. Concurrent threads at most
        // clear the same bits.
        unsafe {
            match span.shape() == ShapeId::ARENA && ArenaChunk::of(span).has_marks_inside() {
                true => self.heap.marks.clear_marks(start, span.cells_end()),
                false => self.heap.marks.clear_mark(start),
            }
        }
    }

    /// Prefetches the span records and allocation bits that sweeping these large objects reads.
    fn prefetch_large(&self, words: Range<usize>) {
        let spans = &self.heap.spans;
        for (page, _) in words.flat_map(|word| spans.large().starts_in(word)) {
            prefetch::for_write(core::ptr::from_ref(spans.at(page)).cast());
            self.heap.marks.prefetch_allocated(spans.address_of(page));
        }
    }

    /// Frees a large object whose start bit this thread has cleared; returns its pages, which are no longer a span.
    fn unmake_large(&self, page: PageIndex) -> PageCount {
        let spans = &self.heap.spans;
        let (start, span) = (spans.address_of(page), spans.own(page));
        self.clear_old_mark(span, start);
        // The program may have freed it during a concurrent marking that left its pages to a sweep.
        if self.heap.freed.is_freed(start) {
            self.heap.freed.take(start);
        }
        if self.clobber {
            // SAFETY: the object is dead and this thread has taken it, so nothing else uses its memory.
            unsafe { (start as *mut u8).write_bytes(CLOBBER, span.object_bytes()) };
        }
        let pages = span.pages();
        spans.young_pages().clear(page, pages);
        spans.remove(page);
        self.heap.memory.end_sparse(page, pages);
        pages
    }

    /// Frees the large object that starts at a page and returns its pages; `None` if none starts there.
    pub(crate) fn free_large(&self, page: PageIndex) -> Option<PageCount> {
        if !self.heap.spans.large().take(page) && !self.take_when_put_back(page, || true) {
            return None;
        }
        self.heap.spans.large().see(page);
        // SAFETY: this thread has just taken the object.
        unsafe { self.heap.marks.clear_allocated(self.heap.spans.address_of(page)) };
        let pages = self.unmake_large(page);
        let mut empty = EmptySpans::new(&self.heap);
        empty.push(page, pages);
        empty.free_pages();
        Some(pages)
    }

    /// Retries to take a large object whose start bit is clear. A sweep may hold the bit for a moment: one that meant
    /// to free the previous object in these pages, and puts the bit back. Returns false once the object is gone: its
    /// span has ended, or it no longer `exists`.
    #[cold]
    pub(crate) fn take_when_put_back(&self, page: PageIndex, exists: impl Fn() -> bool) -> bool {
        let spans = &self.heap.spans;
        while spans.starts_large(page) && exists() {
            yield_now();
            if spans.large().take(page) {
                return true;
            }
        }
        false
    }
}
