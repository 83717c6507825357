//! Who may change a mutator's bumps: the thread that the mutator is of, or whoever has stopped it. A token says so, and
//! refills ask for it. Invariant: the spans in the bumps are those of the token's space.

use crate::address::Address;
use crate::bump::{Bump, Bumps};
use crate::error::SpaceError;
use crate::lookup::Object;
use crate::shape_id::ShapeId;
use crate::space::Space;

/// The right to allocate from a mutator's bumps and to take their spans away ([`Space::owner`]).
pub struct Owner<'m> {
    space: &'m Space,
    bumps: Bumps<'m>,
}

impl<'m> Owner<'m> {
    pub(crate) fn new(space: &'m Space, bumps: Bumps<'m>) -> Self {
        Owner { space, bumps }
    }

    /// The bump of `shape`.
    #[inline(always)]
    pub fn bump(&self, shape: ShapeId) -> &'m Bump {
        self.bumps.get(shape)
    }

    /// Gives the bump for a shape a run with at least one free cell. Its cells are zero where they may hold pointers, unless
    /// `whole` promises that each will be written as a whole before it is committed: then those of masks and programs
    /// are not, since only the words of the value itself will ever be read as pointers.
    ///
    /// # Errors
    /// A collection is due, or there is no memory.
    ///
    /// # Panics
    /// The shape is another space's, or has no size class.
    pub fn refill(&self, shape: ShapeId, whole: bool) -> Result<(), SpaceError> {
        self.space.refill(&self.bumps, shape, whole)
    }

    /// Gives the bump the next run of the span that it has, as a refill would; false if it has none, or no more of them.
    /// Most refills of a fragmented heap need no more than this.
    ///
    /// # Panics
    /// The shape is another space's.
    #[inline]
    pub fn continue_run(&self, shape: ShapeId, whole: bool) -> bool {
        self.space.continue_run(self.bumps.get(shape), shape, whole)
    }

    /// Takes all spans and pages away from the mutator. Cells that it has not used stay free, and whoever needs some of
    /// their shape next gets them; they are no longer charged.
    pub fn flush(&self) {
        self.space.flush(&self.bumps);
    }

    /// [`Space::find`] that also knows the objects this mutator has made since it was flushed.
    pub fn find(&self, address: Address) -> Option<Object> {
        self.space.find_own(&self.bumps, address)
    }
}
