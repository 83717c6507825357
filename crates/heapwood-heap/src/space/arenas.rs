//! The arenas of a space, for the crates above. Invariant: an answer about an address holds until the next arena is
//! closed.

use crate::address::Address;
use crate::arenas::chunk_pool::ArenaBytes;
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
pub struct Arenas<'s>(pub(crate) &'s Space);

impl Arenas<'_> {
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

    /// The full cycle in which chunks were last trimmed.
    pub fn trimmed_in(self) -> u32 {
        self.0.sweeper.chunks.lock().trimmed_in
    }

    /// Whether freed chunks are protected against access. Then all of them are quarantined, whatever was promised.
    pub fn are_protected(self) -> bool {
        self.0.sweeper.protect
    }
}
