//! Where arenas get pieces, and what becomes of those that they give up: a piece that no arena has, or pages of the heap's; back into
//! the stacks, or to rest. Memory of what is idle goes back, and after a full marking that has met no pointer into it, its pages,
//! too. Invariant: pages of pieces go back from here alone, and as long as they have not, their kind is a piece's.

use super::piece::{CHUNK, Piece, PieceState, QUARTER, SIZES, pages_of, size_of_pages};
use super::pieces::Stack;
use crate::config::CLOBBER;
use crate::error::SpaceError;
use crate::layout::shape::ScanKind;
use crate::layout::shape_id::ShapeId;
use crate::pages::page_blocks::Aside;
use crate::reclaim::clock::Sweeping;
use crate::reclaim::sweeper::Sweeper;
use crate::spans::page_ages::{IN_ARENA, age_in};
use crate::spans::span::Span;
use core::sync::atomic::Ordering;
use heapwood_pages::{PageCount, PageIndex, PageRun};

impl Sweeper {
    /// A piece of a size for an arena, in its ring alone.
    pub(super) fn take_piece(&self, size: usize, arena: u64) -> Result<PageIndex, SpaceError> {
        let (heap, spans) = (self.heap(), self.heap().spans());
        let reused = loop {
            match self.pieces().lock().free[size].pop(spans) {
                None if size != QUARTER => break None,
                None => {}
                found => break found,
            }
            self.split_chunk()?;
        };
        let (page, count, fresh) = match reused {
            Some(page) => (page, pages_of(size), spans.at(page).is_fresh()),
            None => {
                let run = self.take_piece_pages(size)?;
                heap.stay_within_limit(run.count);
                (run.first, run.count, run.scavenged == run.count)
            }
        };
        if fresh && size == CHUNK {
            heap.memory().prepare_chunk(page, count);
        }
        let cycle = heap.marks().cycle();
        let span = Span::of_piece(spans.address_of(page), count, ShapeId::ARENA, (cycle, fresh), arena);
        // SAFETY: the pages were taken for this, by nobody else, and the kind is the shape's.
        unsafe {
            match reused {
                Some(_) => spans.renew(page, span),
                None => spans.add(page, span, ScanKind::Arena),
            }
        }
        let piece = Piece::of(spans.at(page));
        piece.set_state(PieceState::InUse);
        piece.set_next(page.0 as u32);
        spans.ages().set(page, count, age_in(cycle) | IN_ARENA);
        spans.large().add_new(page);
        let mut pieces = self.pieces().lock();
        pieces.in_use += count.0;
        pieces.all += if reused.is_some() { 0 } else { count.0 };
        Ok(page)
    }

    /// Makes free pieces of a new chunk, with a huge page behind the four.
    fn split_chunk(&self) -> Result<(), SpaceError> {
        let (heap, spans, count) = (self.heap(), self.heap().spans(), pages_of(QUARTER));
        let run = self.take_piece_pages(CHUNK)?;
        heap.stay_within_limit(run.count);
        let fresh = run.scavenged == run.count;
        if fresh {
            heap.memory().prepare_chunk(run.first, run.count);
        }
        let mut pieces = self.pieces().lock();
        pieces.all += run.count.0;
        for part in (0..4).rev() {
            let page = PageIndex(run.first.0 + part * count.0);
            let span = Span::of_piece(spans.address_of(page), count, ShapeId::ARENA, (0, fresh), 0);
            // SAFETY: the pages were taken for this, by nobody else, and the kind is the shape's.
            unsafe { spans.add(page, span, ScanKind::Arena) };
            let piece = Piece::of(spans.at(page));
            spans.at(page).end_piece(heap.marks().full_cycle());
            if fresh {
                spans.at(page).set_fresh();
            }
            piece.set_state(PieceState::Free);
            spans.ages().set(page, count, IN_ARENA);
            pieces.free[QUARTER].push(spans, page);
        }
        Ok(())
    }

    /// Pages for a piece; those of a chunk fill a huge page, if there are such.
    fn take_piece_pages(&self, size: usize) -> Result<PageRun, SpaceError> {
        let (heap, count) = (self.heap(), pages_of(size));
        if size != CHUNK {
            return self.take_pages(Aside::Nothing, count);
        }
        let aligned = || heap.pages().allocate_aligned(count).ok();
        loop {
            {
                let mut central = self.lock();
                if heap.check_limit(central.growth(), count).is_ok() {
                    if let Some(run) = aligned() {
                        return Ok(run);
                    }
                    if heap.grow(central.growth(), count).is_ok()
                        && let Some(run) = aligned()
                    {
                        return Ok(run);
                    }
                }
            }
            // Under a limit what is dead makes room; where the heap may not grow any pages will do.
            if !self.sweep_some(Sweeping::Allocation) {
                return self.take_pages(Aside::Nothing, count);
            }
        }
    }

    /// A sweep has found a piece dead. After a full marking, which has met no pointer into it, it is the next arena's, or free pages,
    /// so many, that whoever sweeps gives back. A young one has not looked at what is old, nor one beside the program for what leads to a
    /// piece that was made and given up meanwhile: then its addresses rest.
    pub(crate) fn free_dead_piece(&self, page: PageIndex) -> Option<PageCount> {
        let spans = self.heap().spans();
        let rests = self.heap().marks().is_after_young() || Piece::of(spans.at(page)).is_given_up();
        self.unmake_piece(page);
        if rests || !self.pieces().lock().wanted {
            self.rest_piece(page, rests);
            return None;
        }
        let count = spans.at(page).pages();
        spans.remove_piece(page);
        let mut pieces = self.pieces().lock();
        pieces.in_use -= count.0;
        pieces.all -= count.0;
        Some(count)
    }

    /// An arena gives up a piece, which no sweep will find any more; if its addresses are to `rest` its memory goes back at once.
    /// No marking is under way. It may be `promised` that nothing refers to it.
    pub(super) fn free_piece(&self, page: PageIndex, rests: bool, promised: bool) {
        if !self.take_large(page) {
            return;
        }
        self.unmake_piece(page);
        if promised {
            Piece::of(self.heap().spans().at(page)).note_promised();
        }
        self.rest_piece(page, rests);
    }

    /// What is no object any more is for the next arena, or `rests`.
    fn rest_piece(&self, page: PageIndex, rests: bool) {
        let (heap, span) = (self.heap(), self.heap().spans().at(page));
        if rests && heap.memory().rest(page, span.pages(), self.protects()) {
            span.set_fresh();
            if span.pages() == pages_of(CHUNK) {
                // SAFETY: the piece is nobody's, and in no stack yet; no marking is under way that writes there.
                unsafe { heap.give_tables_back(page, span.pages()) };
            }
        }
        self.put_piece(page, rests);
    }

    /// A marking is over, and the space still stands still: what it marked at pointers into pieces that no arena has is forgotten.
    pub(crate) fn forget_stray_marks(&self) {
        if !self.stray_marks().swap(false, Ordering::Relaxed) {
            return;
        }
        let (spans, marks) = (self.heap().spans(), self.heap().marks());
        self.pieces().lock().for_each(spans, |page, _| {
            let piece = Piece::of(spans.at(page));
            if piece.was_met() {
                // SAFETY: the piece is nobody's, and no marking is under way.
                unsafe { marks.clear_both(piece.start(), piece.end()) };
            }
        });
    }

    /// It is no object any more, and has no bits.
    fn unmake_piece(&self, page: PageIndex) {
        let (spans, marks) = (self.heap().spans(), self.heap().marks());
        let piece = Piece::of(spans.at(page));
        let (start, end) = (piece.start(), piece.end());
        // One that was made since the last collection has no bit anywhere.
        let is_new = spans.at(page).is_swept_in(marks.cycle()) && !spans.at(page).has_survived();
        // SAFETY: the piece was taken by this thread, and no marking is under way that looks at it. The memory is nobody's.
        unsafe {
            if piece.has_marks_inside() {
                marks.clear_both(start, end);
            } else if !is_new {
                marks.clear_allocated(start);
                if spans.at(page).has_survived() {
                    marks.clear_mark(start);
                }
            }
            if self.clobbers() {
                (start as *mut u8).write_bytes(CLOBBER, end - start);
            }
        }
        spans.ages().clear(page, piece.pages());
        spans.at(page).end_piece(marks.full_cycle());
    }

    fn put_piece(&self, page: PageIndex, rests: bool) {
        let spans = self.heap().spans();
        let (piece, mut pieces) = (Piece::of(spans.at(page)), self.pieces().lock());
        pieces.in_use -= piece.pages().0;
        pieces.promised |= piece.is_promised();
        piece.set_state(if rests { PieceState::Resting } else { PieceState::Free });
        match rests {
            true => pieces.resting.push(spans, page),
            false => pieces.free[size_of_pages(piece.pages())].push(spans, page),
        }
    }

    /// After a full marking: pieces into which it has met no pointer rest no longer, and go back as pages if they are idle, or in
    /// any case where pages are `wanted`.
    pub(crate) fn settle_pieces(&self, wanted: bool) {
        let (heap, spans) = (self.heap(), self.heap().spans());
        let now = heap.marks().full_cycle();
        let mut pieces = self.pieces().lock();
        (pieces.wanted, pieces.settled_in) = (wanted, now);
        let mut kept = Stack::EMPTY;
        while let Some(page) = pieces.resting.pop(spans) {
            let piece = Piece::of(spans.at(page));
            match piece.take_met() || piece.freed_in() == now {
                true => kept.push(spans, page),
                // If the kernel refuses it rests on.
                false if !heap.memory().wake(page, piece.pages(), self.protects()) => kept.push(spans, page),
                false => {
                    piece.set_state(PieceState::Free);
                    pieces.free[size_of_pages(piece.pages())].push(spans, page);
                }
            }
        }
        pieces.resting = kept;
        for size in 0..SIZES {
            let pieces = &mut *pieces;
            let stack = &mut pieces.free[size];
            let goes = if wanted { stack.len } else { stack.idle.min(stack.len) };
            let mut all = stack.take_all();
            // The last that are left, which were not used for longest, go.
            let mut stays = Stack::EMPTY;
            let mut keep = all.len - goes;
            while let Some(page) = all.pop(spans) {
                let piece = Piece::of(spans.at(page));
                let was_met = piece.take_met() || piece.freed_in() == now;
                if keep > 0 || was_met {
                    keep = keep.saturating_sub(1);
                    stays.push(spans, page);
                    continue;
                }
                spans.remove_piece(page);
                pieces.all -= pages_of(size).0;
                let freed = heap.pages().free(page, pages_of(size));
                debug_assert!(freed.is_ok());
            }
            // As they were.
            let stack = &mut pieces.free[size];
            while let Some(page) = stays.pop(spans) {
                stack.push(spans, page);
            }
            stack.idle = stack.len;
        }
    }

    /// Gives the memory of free pieces back that were not needed since the last call; returns how many bytes may have been resident.
    pub(crate) fn release_idle_pieces(&self, releases: bool) -> usize {
        let (heap, spans) = (self.heap(), self.heap().spans());
        let (mut pieces, mut released) = (self.pieces().lock(), 0);
        for size in 0..SIZES {
            let stack = &mut pieces.free[size];
            let skip = if releases { stack.len - stack.idle.min(stack.len) } else { stack.len };
            stack.idle = stack.len;
            for page in stack.pages(spans).skip(skip as usize) {
                // SAFETY: the piece is nobody's, as long as the lock is held.
                if !spans.at(page).is_fresh() && unsafe { heap.memory().give_back(page, pages_of(size)) } {
                    spans.at(page).set_fresh();
                    stack.without_memory += pages_of(size).0;
                    released += pages_of(size).bytes();
                }
            }
        }
        released
    }

    /// Bytes of pieces that `settle_pieces` may make pages when it is called next: it could not yet, was not asked to, or is about to be
    /// called, as mutators run before it is.
    pub(crate) fn reclaimable_piece_bytes(&self) -> usize {
        let (spans, now, mut bytes) = (self.heap().spans(), self.heap().marks().full_cycle(), 0);
        let pieces = self.pieces().lock();
        pieces.for_each(spans, |page, state| {
            let piece = Piece::of(spans.at(page));
            let is_new = piece.freed_in() == now || pieces.settled_in != now;
            if is_new || state == PieceState::Free && !pieces.wanted {
                bytes += piece.pages().bytes();
            }
        });
        bytes
    }

    /// Whether free pieces have memory.
    pub(crate) fn has_free_pieces(&self) -> bool {
        let (spans, pieces) = (self.heap().spans(), self.pieces().lock());
        pieces.free.iter().flat_map(|stack| stack.pages(spans)).any(|page| !spans.at(page).is_fresh())
    }

    /// Takes what starts at a page, a piece in use, so that no sweep does.
    fn take_large(&self, page: PageIndex) -> bool {
        // The span of a piece that rests is there still: where a collection has freed one that an arena has, which must not be, nobody
        // would put it back.
        let spans = self.heap().spans();
        spans.large().take(page)
            || self.take_when_put_back(page, || Piece::of(spans.at(page)).state() == PieceState::InUse)
    }
}
