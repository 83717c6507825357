//! The arenas of a space, for the crates above. Invariant: an answer about an address holds until the next arena is
//! closed.

use crate::address::Address;
use crate::arenas::chunk_pool::ArenaBytes;
use crate::arenas::find::{ArenaPlace, MarkedArenaChunk};
use crate::space::Space;

impl Space {
    /// Its arenas.
    #[inline(always)]
    pub fn arenas(&self) -> Arenas<'_> {
        Arenas(self)
    }
}

/// The arenas of a space.
#[derive(Clone, Copy)]
pub struct Arenas<'s>(&'s Space);

impl<'s> Arenas<'s> {
    /// The arena that is or was at an address.
    pub fn find(self, address: Address) -> Option<ArenaPlace> {
        self.0.sweeper.heap.find_arena(address)
    }

    /// The arena chunk at an address, in use or not, for a marker.
    #[inline]
    pub fn find_chunk(self, address: Address) -> Option<MarkedArenaChunk<'s>> {
        self.0
            .sweeper
            .heap
            .find_arena_chunk(address)
            .map(|chunk| MarkedArenaChunk::new(chunk, &self.0.sweeper.dangling_marks))
    }

    /// The address by which a marking knows the object at an address: the chunk of an arena's value, or the object
    /// itself. `None` for a chunk that no arena has.
    #[inline]
    pub fn marked_as(self, address: Address) -> Option<Address> {
        match self.find_chunk(address) {
            None => Some(address),
            Some(chunk) => chunk.is_in_use().then(|| Address::new(chunk.start())),
        }
    }

    /// Whether an arena was ever closed or emptied with the promise that nothing refers to it.
    pub fn were_promised(self) -> bool {
        self.0.sweeper.chunks.lock().were_promised()
    }

    /// The memory of arenas.
    pub fn bytes(self) -> ArenaBytes {
        self.0.sweeper.chunks.lock().bytes(&self.0.sweeper.heap.spans)
    }

    /// The number of arenas so far.
    pub fn count(self) -> u64 {
        self.0.sweeper.chunks.lock().arenas()
    }

    /// After a full collection, once mutators run again: ends the quarantine of chunks that it met no pointer into,
    /// and returns the pages of idle chunks; those of all free chunks if pages are `wanted`.
    pub fn trim(self, wanted: bool) {
        self.0.sweeper.release_chunks(wanted || self.0.sweeper.heap.is_limited());
    }

    /// Releases the memory of chunks that have been idle since the last call; returns the bytes released.
    ///
    /// With false it only begins to observe.
    pub fn release_idle(self, releases: bool) -> usize {
        self.0.sweeper.release_idle_chunks(releases)
    }

    /// Whether a free chunk has memory.
    pub fn has_free(self) -> bool {
        self.0.sweeper.has_free_chunks()
    }

    /// Bytes that a full collection may take from arenas if it begins now: chunks that were freed since the last one
    /// began, or that it left in the pool. Visits each chunk that no arena has.
    pub fn reclaimable_bytes(self) -> usize {
        self.0.sweeper.reclaimable_chunk_bytes()
    }

    /// The full cycle in which chunks were last trimmed.
    pub fn trimmed_in(self) -> u32 {
        self.0.sweeper.chunks.lock().trimmed_in
    }

    /// Whether freed chunks are protected against access. Then all of them are quarantined, whatever was promised.
    pub fn are_protected(self) -> bool {
        self.0.sweeper.protect
    }
}
