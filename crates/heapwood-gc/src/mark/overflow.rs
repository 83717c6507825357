//! Overflow of a mark stack. The marker marks the object at once and adds its span to the rescan set: some marked
//! object of the span may have edges that were not followed. When the stacks are empty, the marker scans the marked
//! objects of these spans again. Each overflow marks an object that was unmarked, or defers one range, so marking ends.
//! The idea is as old as Knuth's marking algorithms; libgc does it by block. Invariant: each marked object whose edges
//! were not followed lies in a span of the rescan set.

use super::bits::MarkBits;
use super::edge::is_ambiguous;
use super::mode::{Limit, Mode, Scope, Team};
use super::queue::Marker;
use super::stack::Range;
use crate::state::rescan_set::WORD_PAGES;
use heapwood_heap::{Address, GRANULE, ScanKind};
use heapwood_layout::WORD;
use heapwood_pages::{PAGE_SIZE, PageIndex};

impl<M: Mode> Marker<'_, M> {
    /// An edge did not fit: marks its object now and defers the object's own edges.
    #[cold]
    pub(super) fn edge_overflow(&mut self, edge: usize) {
        let Some(addr) = self.object_of(edge) else { return };
        if !is_ambiguous(edge) && self.is_dangling(edge) {
            return;
        }
        let addr = match M::Scope::SNAPSHOT {
            false => addr,
            true => match self.in_snapshot(addr) {
                Some(object) => object,
                None => return,
            },
        };
        // SAFETY: edges are bases of objects, and all markers set bits in compatible ways.
        if !self.mode.scope().has(addr) || !unsafe { M::Bits::set_at_once(self.marks, addr) } {
            return;
        }
        self.mode.scope().marked(addr);
        let entry = self.entry(addr);
        if entry.kind().is_none() {
            self.no_object(addr);
        }
        if entry.is(ScanKind::Arena) {
            return self.chunk_overflow(addr);
        }
        self.live_objects += 1;
        let cell = self.shape(entry).cell_size as usize;
        self.live_bytes += if cell != 0 { cell } else { self.large_bytes(addr) };
        self.object_overflow(addr);
    }

    /// The same for an edge into an arena: marks its chunk and defers the chunk's edges.
    #[cold]
    fn chunk_overflow(&mut self, addr: usize) {
        let Some(chunk) = self.space.arenas().find_chunk(Address::new(addr)) else { return };
        if !chunk.is_in_use() {
            return chunk.note_inside();
        }
        let start = chunk.start();
        if addr - start >= GRANULE {
            chunk.note_inside();
            // SAFETY: as above.
            if !unsafe { M::Bits::set_at_once(self.marks, start) } {
                return;
            }
            self.mode.scope().marked(start);
        }
        self.object_overflow(start);
    }

    /// Defers the edges of a marked object.
    #[cold]
    pub(super) fn object_overflow(&mut self, addr: usize) {
        let entry = self.entry(addr);
        if matches!(entry.kind(), Some(ScanKind::NoPointers)) {
            return;
        }
        // The object's bit may still be batched, and the thread that scans its span again must see it. The flush will
        // count the bit as another marker's, so the object is counted once more here. SAFETY: as above; an object that
        // could not be scanned is a base.
        if M::Team::SEVERAL && unsafe { M::Bits::set_at_once(self.marks, addr) } && !entry.is(ScanKind::Arena)
        {
            self.count(addr, self.shape(entry));
        }
        let page = (addr - self.base) / PAGE_SIZE - entry.back().0;
        self.rescan.flag(page);
        self.overflows += 1;
    }

    /// Scans the marked objects of the rescan set. Beside the program too: a span with a marked object of the snapshot
    /// stays until the marking ends. Spans without a bit wait for a stop.
    #[cold]
    pub(super) fn rescan_overflowed(&mut self) {
        self.rescan.begin();
        for index in 0..self.rescan.words() {
            let mut bits = self.rescan.take(index);
            while bits != 0 {
                let page = index * WORD_PAGES + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                self.rescan_span(PageIndex(page));
                if M::Limit::GOES_ON && self.mode.limit_mut().is_late() {
                    // This span's edges are on the stacks.
                    return self.rescan.leave(index, bits);
                }
            }
        }
        if let Some(world) = self.world
            && self.rescan.take_beyond()
        {
            world.for_each_span(|page, _| {
                if page.0 / WORD_PAGES >= self.rescan.words() {
                    self.rescan_span(page);
                }
            });
        }
    }

    fn rescan_span(&mut self, page: PageIndex) {
        let span = self.space.span(page);
        for cell in span.iter() {
            let cell = cell.get();
            // SAFETY: the cell lies in a span.
            if unsafe { M::Bits::is_set(self.marks, cell) } {
                let entry = self.entry(cell);
                if self.space.layouts().shape(span.shape()).cell_size == 0 {
                    self.scan_large_now(cell);
                } else {
                    self.scan(cell, entry);
                }
                self.follow_all();
            }
        }
    }

    /// Scans a large object slice by slice without the range stack, which may be full again.
    fn scan_large_now(&mut self, addr: usize) {
        let entry = self.entry(addr);
        let span = self.span_of(addr);
        let end = addr + span.object_bytes() / WORD * WORD;
        let shape = self.space.layouts().shape(span.shape());
        let (header, number) = match shape.kind() {
            ScanKind::Slice | ScanKind::Program => {
                (shape.header as usize * WORD, span.shape().index() as u32)
            }
            ScanKind::Conservative | ScanKind::AmbiguousPrefix => (0, 0),
            _ => return self.scan(addr, entry),
        };
        let end = match shape.kind() {
            ScanKind::AmbiguousPrefix => {
                end.min(addr.saturating_add(shape.prefix_words().saturating_mul(WORD)))
            }
            _ => end,
        };
        let mut left = Some(Range { next: addr + header, end, shape: number, dense: false });
        while let Some(range) = left.take() {
            let Some((mut written, rest)) = self.written_part(range) else { break };
            while written.next < written.end {
                let slice = self.slice_of(&mut written);
                self.scan_slice(slice);
                self.follow_all();
            }
            left = rest;
        }
    }
}
