//! The lookup from an address to an arena. Invariant: the answer depends only on the page's entry and the chunk's
//! descriptor.

use super::chunk::ArenaChunk;
use crate::address::Address;
use crate::layout::shape::ScanKind;
use crate::pages::page_heap::PageHeap;
use core::sync::atomic::{AtomicBool, Ordering};
use heapwood_pages::PageIndex;

/// The arena that is, or was, at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArenaPlace {
    /// The arena's number.
    pub arena: u64,
    /// Whether it is still there.
    pub is_there: bool,
    /// Whether its closing promised that nothing refers to it.
    pub is_promised: bool,
    /// The first byte of its chunk, and one past the last.
    pub chunk: (usize, usize),
}

/// The arena chunk of a page, for a marker.
#[derive(Clone, Copy)]
pub struct MarkedArenaChunk<'s>(ArenaChunk<'s>, &'s AtomicBool);

impl<'s> MarkedArenaChunk<'s> {
    /// `dangling` is set when the marker meets a chunk without an arena, which may then have marks.
    pub(crate) fn new(chunk: ArenaChunk<'s>, dangling: &'s AtomicBool) -> Self {
        MarkedArenaChunk(chunk, dangling)
    }

    /// Whether an arena has it. If none does, notes that a marking has met it.
    pub fn is_in_use(self) -> bool {
        let is_in_use = self.0.is_in_use();
        if !is_in_use {
            self.0.note_met();
            self.1.store(true, Ordering::Relaxed);
        }
        is_in_use
    }

    /// Its first byte, which stands for the chunk as an object.
    pub fn start(self) -> usize {
        self.0.start()
    }

    /// The end of its objects with pointers.
    pub fn frontier(self) -> usize {
        self.0.frontier()
    }

    /// The end of these when the last collection ended.
    pub fn seen(self) -> usize {
        self.0.seen()
    }

    /// The first page of the next chunk of the ring.
    pub fn next(self) -> PageIndex {
        PageIndex(self.0.next() as usize)
    }

    /// Whether its arena abandoned it during a marking that does not look for pointers into it, so that pointers may
    /// be left.
    pub fn is_abandoned(self) -> bool {
        self.0.is_abandoned()
    }

    /// Notes that an object inside it is being marked.
    pub fn note_inside(self) {
        self.0.note_inside();
    }
}

impl PageHeap {
    /// The arena chunk at an address.
    pub(crate) fn find_arena_chunk(&self, address: Address) -> Option<ArenaChunk<'_>> {
        let spans = &self.spans;
        if !spans.contains(address) {
            return None;
        }
        let page = spans.page_of(address.get());
        let entry = spans.entry(page);
        entry.is(ScanKind::Arena).then(|| ArenaChunk::of(spans.at(entry.first_page(page))))
    }

    /// The arena at an address.
    pub(crate) fn find_arena(&self, address: Address) -> Option<ArenaPlace> {
        let chunk = self.find_arena_chunk(address)?;
        let is_there = chunk.is_in_use();
        let is_promised = chunk.is_promised();
        Some(ArenaPlace { arena: chunk.arena(), is_there, is_promised, chunk: (chunk.start(), chunk.end()) })
    }
}
