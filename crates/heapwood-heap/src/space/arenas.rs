//! The arenas of a space, as those above see them. Invariant: what an address answers here holds until the next arena is closed.

use crate::address::Address;
use crate::alloc::allocator::Allocator;
use crate::arenas::chunk_pool::ArenaBytes;
use crate::arenas::find::{ArenaPlace, MarkedArenaChunk};

/// The arenas of a space.
#[derive(Clone, Copy)]
pub struct Arenas<'s>(pub(super) &'s Allocator);

impl<'s> Arenas<'s> {
    /// The arena that an address lies in, or lay in.
    pub fn find(self, address: Address) -> Option<ArenaPlace> {
        self.0.sweeper().heap().find_arena(address)
    }

    /// The chunk of an arena that an address of the heap lies in, in use or not, for a marker to go on from.
    #[inline]
    pub fn find_chunk(self, address: Address) -> Option<MarkedArenaChunk<'s>> {
        self.0
            .sweeper()
            .heap()
            .find_arena_chunk(address)
            .map(|chunk| MarkedArenaChunk::new(chunk, self.0.sweeper().dangling_marks()))
    }

    /// By which object what lies at an address is known to a marking: a value of an arena by its chunk, all else by itself. `None`
    /// where an arena was that is no more.
    #[inline]
    pub fn marked_as(self, address: Address) -> Option<Address> {
        match self.find_chunk(address) {
            None => Some(address),
            Some(chunk) => chunk.is_in_use().then(|| Address::new(chunk.start())),
        }
    }

    /// Whether an arena was ever closed or emptied with the promise that nothing refers to it.
    pub fn were_promised(self) -> bool {
        self.0.sweeper().chunks().lock().were_promised()
    }

    /// How much memory arenas have.
    pub fn bytes(self) -> ArenaBytes {
        self.0.sweeper().chunks().lock().bytes(self.0.sweeper().heap().spans())
    }

    /// How many arenas there have been.
    pub fn count(self) -> u64 {
        self.0.sweeper().chunks().lock().arenas()
    }

    /// After a full collection, once mutators run again: addresses of arenas that it has met no pointer into rest no longer, and
    /// what arenas have not needed goes back; all that they do not need now if pages are `wanted`.
    pub fn trim(self, wanted: bool) {
        self.0.sweeper().release_chunks(wanted || self.0.sweeper().heap().is_limited());
    }

    /// Gives memory back that arenas have not needed since the last call; returns how many bytes of it.
    ///
    /// With false it only begins to look.
    pub fn release_idle(self, releases: bool) -> usize {
        self.0.sweeper().release_idle_chunks(releases)
    }

    /// Whether there is memory that no arena needs now.
    pub fn has_free(self) -> bool {
        self.0.sweeper().has_free_chunks()
    }

    /// Bytes that a full collection which begins now may take from arenas: they have been given up since the last one began, or
    /// it left them to the next arenas. Looks at each chunk that no arena has.
    pub fn reclaimable_bytes(self) -> usize {
        self.0.sweeper().reclaimable_chunk_bytes()
    }

    /// After which full marking quarantined chunks were last released.
    pub fn trimmed_in(self) -> u32 {
        self.0.sweeper().chunks().lock().trimmed_in
    }

    /// Whether a thread faults that touches what arenas have given up. Then all of it is quarantined, whatever was promised.
    pub fn are_protected(self) -> bool {
        self.0.sweeper().protects()
    }
}
