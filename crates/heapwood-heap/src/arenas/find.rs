//! The lookup from an address to an arena. Invariant: the answer depends only on the page's entry and the chunk's
//! descriptor.

use super::chunk::ArenaChunk;
use crate::address::Address;
use crate::layout::shape::ScanKind;
use crate::space::arenas::Arenas;
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
pub struct MarkedArenaChunk<'s> {
    chunk: ArenaChunk<'s>,
    /// Is set when the marker meets a chunk without an arena, which may then have marks.
    dangling: &'s AtomicBool,
}

impl MarkedArenaChunk<'_> {
    /// Whether an arena has it. If none does, notes that a marking has met it.
    pub fn is_in_use(self) -> bool {
        let is_in_use = self.chunk.is_in_use();
        if !is_in_use {
            self.chunk.note_met();
            self.dangling.store(true, Ordering::Relaxed);
        }
        is_in_use
    }

    /// Its first byte, which stands for the chunk as an object.
    pub fn start(self) -> usize {
        self.chunk.start()
    }

    /// The end of its objects with pointers.
    pub fn frontier(self) -> usize {
        self.chunk.frontier()
    }

    /// The end of these when the last collection ended.
    pub fn seen(self) -> usize {
        self.chunk.seen()
    }

    /// The first page of the next chunk of the ring.
    pub fn next(self) -> PageIndex {
        PageIndex(self.chunk.next() as usize)
    }

    /// Whether its arena abandoned it during a marking that does not look for pointers into it, so that pointers may
    /// be left.
    pub fn is_abandoned(self) -> bool {
        self.chunk.is_abandoned()
    }

    /// Notes that an object inside it is being marked.
    pub fn note_inside(self) {
        self.chunk.note_inside();
    }
}

impl<'s> Arenas<'s> {
    /// The arena that is or was at an address.
    pub fn find(self, address: Address) -> Option<ArenaPlace> {
        let chunk = self.chunk_at(address)?;
        let is_there = chunk.is_in_use();
        let is_promised = chunk.is_promised();
        Some(ArenaPlace { arena: chunk.arena(), is_there, is_promised, chunk: (chunk.start(), chunk.end()) })
    }

    /// The arena chunk at an address, in use or not, for a marker.
    #[inline]
    pub fn find_chunk(self, address: Address) -> Option<MarkedArenaChunk<'s>> {
        let dangling = &self.0.sweeper.dangling_marks;
        self.chunk_at(address).map(|chunk| MarkedArenaChunk { chunk, dangling })
    }

    fn chunk_at(self, address: Address) -> Option<ArenaChunk<'s>> {
        let spans = &self.0.sweeper.heap.spans;
        if !spans.contains(address) {
            return None;
        }
        let page = spans.page_of(address.get());
        let entry = spans.entry(page);
        entry.is(ScanKind::Arena).then(|| ArenaChunk::of(spans.at(entry.first_page(page))))
    }
}
