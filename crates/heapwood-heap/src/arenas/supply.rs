//! The supply of arena chunks. A new chunk comes from the pool, or from free pages of the heap; a chunk of an ended
//! arena goes to the pool, or to quarantine. Idle chunks lose their memory, and their pages after a full marking that
//! has met no pointer into them. Invariant: only this file returns the pages of chunks, and until then the pages keep
//! the arena kind.

use super::chunk::{ArenaChunk, HUGE_CHUNK, QUARTER, SIZES, pages_of, size_of_pages};
use super::chunk_pool::{ArenaChunkPool, ChunkStack};
use super::state::ArenaState;
use crate::config::CLOBBER;
use crate::error::SpaceError;
use crate::layout::shape::ScanKind;
use crate::layout::shape_id::ShapeId;
use crate::lock_order::ARENA_CHUNKS;
use crate::marks::PAGE_WORDS;
use crate::pages::page_blocks::CacheTarget;
use crate::pages::page_heap::PageHeap;
use crate::reclaim::clock::Sweeping;
use crate::reclaim::sweeper::Sweeper;
use crate::space::arenas::Arenas;
use crate::spans::span::Span;
use crate::spans::young_pages::{IN_ARENA, epoch_of};
use core::sync::atomic::Ordering;
use heapwood_os::Lock;
use heapwood_pages::{PageCount, PageIndex, PageRun};

impl Sweeper {
    /// Takes a chunk of a size for an arena; its ring has only itself.
    pub(super) fn take_chunk(&self, size: usize, arena: u64) -> Result<PageIndex, SpaceError> {
        let (heap, spans) = (&self.heap, &self.heap.spans);
        let reused = loop {
            match self.chunks.lock().free[size].pop(spans) {
                None if size != QUARTER => break None,
                None => {}
                found => break found,
            }
            self.split_chunk()?;
        };
        let (page, count, fresh) = match reused {
            Some(page) => (page, pages_of(size), spans.at(page).is_fresh()),
            None => {
                let run = self.take_chunk_pages(size)?;
                heap.stay_within_limit(run.count);
                (run.first, run.count, run.scavenged == run.count)
            }
        };
        if fresh && size == HUGE_CHUNK {
            heap.memory.prepare_chunk(page, count);
        }
        let cycle = heap.marks.cycle();
        let span = Span::of_chunk(spans.address_of(page), count, ShapeId::ARENA, (cycle, fresh), arena);
        debug_assert!(reused.is_none_or(|page| ArenaChunk::of(spans.at(page)).state() == ArenaState::Free));
        // SAFETY: the pages were taken for this, by no other thread, and the kind is the shape's.
        unsafe {
            match reused {
                Some(_) => spans.renew(page, span),
                None => spans.add(page, span, ScanKind::Arena),
            }
        }
        let chunk = ArenaChunk::of(spans.at(page));
        chunk.set_state(ArenaState::Open);
        chunk.set_next(page.0 as u32);
        spans.young_pages().set(page, count, epoch_of(cycle) | IN_ARENA);
        spans.large().add_new(page);
        let mut chunks = self.chunks.lock();
        chunks.in_use += count.0;
        chunks.all += if reused.is_some() { 0 } else { count.0 };
        Ok(page)
    }

    /// Splits a new huge chunk, with a huge page behind it, into four free ones.
    fn split_chunk(&self) -> Result<(), SpaceError> {
        let (heap, spans, count) = (&self.heap, &self.heap.spans, pages_of(QUARTER));
        let run = self.take_chunk_pages(HUGE_CHUNK)?;
        heap.stay_within_limit(run.count);
        let fresh = run.scavenged == run.count;
        if fresh {
            heap.memory.prepare_chunk(run.first, run.count);
        }
        let mut chunks = self.chunks.lock();
        chunks.all += run.count.0;
        for part in (0..4).rev() {
            let page = PageIndex(run.first.0 + part * count.0);
            let span = Span::of_chunk(spans.address_of(page), count, ShapeId::ARENA, (0, fresh), 0);
            // SAFETY: the pages were taken for this, by no other thread, and the kind is the shape's.
            unsafe { spans.add(page, span, ScanKind::Arena) };
            let chunk = ArenaChunk::of(spans.at(page));
            spans.at(page).end_chunk(heap.marks.full_cycle());
            if fresh {
                spans.at(page).set_fresh();
            }
            chunk.set_state(ArenaState::Free);
            spans.young_pages().set(page, count, IN_ARENA);
            chunks.free[QUARTER].push(spans, page);
        }
        Ok(())
    }

    /// Takes pages for a chunk; those of a huge chunk fill a huge page, if possible.
    fn take_chunk_pages(&self, size: usize) -> Result<PageRun, SpaceError> {
        let (heap, count) = (&self.heap, pages_of(size));
        if size != HUGE_CHUNK {
            return heap.take_pages(self, CacheTarget::Uncached, count);
        }
        let aligned = || heap.pages.allocate_aligned(count).ok();
        loop {
            {
                let mut central = self.lock();
                if heap.check_limit(central.growth(), count.bytes()).is_ok() {
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
            // Under a limit sweeping makes room; if the heap may not grow, any pages will do.
            if !self.sweep_some(Sweeping::Allocation) {
                return heap.take_pages(self, CacheTarget::Uncached, count);
            }
        }
    }

    /// Frees a chunk that a sweep has found dead. After a full marking, which has met no pointer into it, the chunk
    /// goes to the next arena, or its pages are returned for the sweeper to free. After a young collection, which does
    /// not visit old objects, the chunk is quarantined; so it is if a concurrent marking may have missed a pointer
    /// into it, because it was made and abandoned meanwhile.
    pub(crate) fn free_dead_chunk(&self, page: PageIndex) -> Option<PageCount> {
        let spans = &self.heap.spans;
        let quarantines = self.heap.marks.is_after_young() || ArenaChunk::of(spans.at(page)).is_abandoned();
        self.unmake_arena_chunk(page);
        if quarantines || !self.chunks.lock().wanted {
            self.quarantine_chunk(page, quarantines);
            return None;
        }
        let count = spans.at(page).pages();
        spans.remove_chunk(page);
        let mut chunks = self.chunks.lock();
        chunks.in_use -= count.0;
        chunks.all -= count.0;
        Some(count)
    }

    /// Frees a chunk of an ended arena, so that no sweep finds it. If it `quarantines`, the chunk's memory is released
    /// at once. No marking is under way. `promised` if the program promised that nothing refers to it.
    pub(super) fn free_chunk(&self, page: PageIndex, quarantines: bool, promised: bool) {
        if !self.take_large(page) {
            return;
        }
        self.heap.spans.large().see(page);
        self.unmake_arena_chunk(page);
        if promised {
            ArenaChunk::of(self.heap.spans.at(page)).note_promised();
        }
        self.quarantine_chunk(page, quarantines);
    }

    /// Puts a chunk that is no object any more into quarantine, or into the pool.
    fn quarantine_chunk(&self, page: PageIndex, quarantines: bool) {
        let (heap, span) = (&self.heap, self.heap.spans.at(page));
        if !quarantines {
            return self.put_chunk(page, false);
        }
        let protects = self.protect && self.chunks.lock().protected.add();
        let is = heap.memory.rest(page, span.pages(), protects);
        if is.protected {
            ArenaChunk::of(span).note_protected();
        } else if protects {
            self.chunks.lock().protected.remove();
        }
        if is.empty {
            span.set_fresh();
            if span.pages() == pages_of(HUGE_CHUNK) {
                // SAFETY: no arena and no stack has the chunk yet; no marking is under way that writes there.
                unsafe { heap.release_tables(page, span.pages()) };
            }
        }
        self.put_chunk(page, true);
    }

    /// Clears the marks that a marking made through pointers into chunks without an arena. The marking is over, and the
    /// heap still stopped. Returns the number of chunks and words of bits that it looks at.
    pub(crate) fn forget_dangling_marks(&self) -> usize {
        if !self.dangling_marks.swap(false, Ordering::Relaxed) {
            return 0;
        }
        let mut visited = 0;
        let (spans, marks) = (&self.heap.spans, &self.heap.marks);
        self.chunks.lock().for_each(spans, |page, _| {
            let chunk = ArenaChunk::of(spans.at(page));
            visited += 1;
            if chunk.was_met() {
                visited += 2 * chunk.pages().0 * PAGE_WORDS;
                // SAFETY: no arena has the chunk, and no marking is under way.
                unsafe { marks.clear_both(chunk.start(), chunk.end()) };
            }
        });
        visited
    }

    /// Ends a chunk as an object, and clears its bits.
    fn unmake_arena_chunk(&self, page: PageIndex) {
        let (spans, marks) = (&self.heap.spans, &self.heap.marks);
        let chunk = ArenaChunk::of(spans.at(page));
        let (start, end) = (chunk.start(), chunk.end());
        // A chunk made since the last collection has no bit.
        let is_new = spans.at(page).is_swept_in(marks.cycle()) && !spans.at(page).has_survived();
        // SAFETY: this thread has taken the chunk, no marking is under way that visits it, and nothing uses its memory.
        unsafe {
            if chunk.has_marks_inside() {
                marks.clear_both(start, end);
            } else if !is_new {
                marks.clear_allocated(start);
                if spans.at(page).has_survived() {
                    marks.clear_mark(start);
                }
            }
            if self.clobber {
                (start as *mut u8).write_bytes(CLOBBER, end - start);
            }
        }
        spans.young_pages().clear(page, chunk.pages());
        spans.at(page).end_chunk(marks.full_cycle());
    }

    fn put_chunk(&self, page: PageIndex, quarantines: bool) {
        let spans = &self.heap.spans;
        let (chunk, mut chunks) = (ArenaChunk::of(spans.at(page)), self.chunks.lock());
        chunks.in_use -= chunk.pages().0;
        chunks.promised |= chunk.is_promised();
        chunk.set_state(if quarantines { ArenaState::Quarantined } else { ArenaState::Free });
        match quarantines {
            true => chunks.quarantined.push(spans, page),
            false => chunks.free[size_of_pages(chunk.pages())].push(spans, page),
        }
    }

    /// Takes the chunk in use that starts at a page, so that no sweep does.
    fn take_large(&self, page: PageIndex) -> bool {
        // A quarantined chunk still has its span. If a collection has wrongly freed a chunk of an arena, no thread
        // would set its start bit again, so this checks the state.
        let spans = &self.heap.spans;
        spans.large().take(page)
            || self.take_when_put_back(page, || ArenaChunk::of(spans.at(page)).is_in_use())
    }
}

impl<'s> Arenas<'s> {
    fn parts(self) -> (&'s Lock<ArenaChunkPool, ARENA_CHUNKS>, &'s PageHeap) {
        (&self.0.sweeper.chunks, &self.0.sweeper.heap)
    }

    /// After a full collection, once mutators run again: ends the quarantine of chunks that it met no pointer into,
    /// and returns the pages of idle chunks; those of all free chunks if pages are `wanted`, or under a limit.
    pub fn trim(self, wanted: bool) {
        let (chunks, heap) = self.parts();
        let (spans, wanted) = (&heap.spans, wanted || heap.is_limited());
        let now = heap.marks.full_cycle();
        let mut chunks = chunks.lock();
        (chunks.wanted, chunks.trimmed_in) = (wanted, now);
        let mut kept = ChunkStack::EMPTY;
        while let Some(page) = chunks.quarantined.pop(spans) {
            let chunk = ArenaChunk::of(spans.at(page));
            match chunk.take_met() || chunk.freed_in() == now {
                true => kept.push(spans, page),
                // If the kernel declines, the chunk stays in quarantine, and a part of it may be written.
                false if !heap.memory.wake(page, chunk.pages(), chunk.quarantined()) => {
                    spans.at(page).clear_fresh();
                    kept.push(spans, page);
                }
                false => {
                    if chunk.take_protected() {
                        chunks.protected.remove();
                    }
                    chunk.set_state(ArenaState::Free);
                    chunks.free[size_of_pages(chunk.pages())].push(spans, page);
                }
            }
        }
        chunks.quarantined = kept;
        for size in 0..SIZES {
            let chunks = &mut *chunks;
            let stack = &mut chunks.free[size];
            let goes = if wanted { stack.len } else { stack.idle.min(stack.len) };
            let mut all = stack.take_all();
            // The last chunks of the stack, unused for longest, go.
            let mut stays = ChunkStack::EMPTY;
            let mut keep = all.len - goes;
            while let Some(page) = all.pop(spans) {
                let chunk = ArenaChunk::of(spans.at(page));
                let was_met = chunk.take_met() || chunk.freed_in() == now;
                if keep > 0 || was_met {
                    keep = keep.saturating_sub(1);
                    stays.push(spans, page);
                    continue;
                }
                spans.remove_chunk(page);
                chunks.all -= pages_of(size).0;
                let freed = heap.pages.free(page, pages_of(size));
                debug_assert!(freed.is_ok());
            }
            // Restores the order of the stack.
            let stack = &mut chunks.free[size];
            while let Some(page) = stays.pop(spans) {
                stack.push(spans, page);
            }
            stack.idle = stack.len;
        }
    }

    /// Releases the memory of free chunks that have been idle since the last call; returns the bytes that may have been resident.
    ///
    /// With false it only begins to observe.
    pub fn release_idle(self, releases: bool) -> usize {
        let (chunks, heap) = self.parts();
        let (spans, mut chunks, mut released) = (&heap.spans, chunks.lock(), 0);
        for size in 0..SIZES {
            let stack = &mut chunks.free[size];
            let skip = if releases { stack.len - stack.idle.min(stack.len) } else { stack.len };
            stack.idle = stack.len;
            for page in stack.pages(spans).skip(skip as usize) {
                // SAFETY: no arena has the chunk as long as the lock is held.
                if !spans.at(page).is_fresh() && unsafe { heap.memory.release(page, pages_of(size)) } {
                    spans.at(page).set_fresh();
                    stack.without_memory += pages_of(size).0;
                    released += pages_of(size).bytes();
                }
            }
        }
        released
    }

    /// Bytes that a full collection may take from arenas if it begins now: chunks that were freed since the last one
    /// began, or that it left in the pool, as it was not asked to trim, or is about to be. Visits each chunk that no arena has.
    pub fn reclaimable_bytes(self) -> usize {
        let (chunks, heap) = self.parts();
        let (spans, now, mut bytes) = (&heap.spans, heap.marks.full_cycle(), 0);
        let chunks = chunks.lock();
        chunks.for_each(spans, |page, state| {
            let chunk = ArenaChunk::of(spans.at(page));
            let is_new = chunk.freed_in() == now || chunks.trimmed_in != now;
            if is_new || state == ArenaState::Free && !chunks.wanted {
                bytes += chunk.pages().bytes();
            }
        });
        bytes
    }

    /// Whether a free chunk has memory.
    pub fn has_free(self) -> bool {
        let (chunks, heap) = self.parts();
        let (spans, chunks) = (&heap.spans, chunks.lock());
        chunks.free.iter().flat_map(|stack| stack.pages(spans)).any(|page| !spans.at(page).is_fresh())
    }
}
