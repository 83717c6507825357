//! Runs of cells for programs that keep free lists of their own (libgc's GC_malloc_many): a chain through the first words.
//! Invariant: all cells of a chain are objects when it is given out, and count as allocated.

use crate::error::AllocError;
use crate::heap::object_type::ObjectType;
use crate::mutator::Mutator;
use core::ptr::NonNull;

/// Objects of one size, linked through their first words; the last of them holds 0 there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chain {
    /// The first.
    pub first: NonNull<u8>,
    /// How many there are.
    pub objects: usize,
}

impl Mutator {
    /// Allocates adjacent objects of a type, as many as are at hand, at least one and at most `bytes` bytes of them. All words
    /// but the first of each are zero where they may hold pointers. May collect.
    ///
    /// The objects are like any others from now on: a collection keeps those that it finds. It finds the rest of a chain through
    /// the first words only if it reads these as pointers, so a chain of objects without pointers is the caller's to keep. A
    /// trace function must accept such objects.
    ///
    /// # Errors
    /// As for [`Mutator::allocate`].
    ///
    /// # Panics
    /// As there.
    pub fn allocate_chain(&self, ty: ObjectType, bytes: usize) -> Result<Chain, AllocError> {
        let Some(cell) = ty.cell_size() else {
            let first = self.allocate_large(ty.shape(), ty.size(), false)?;
            // SAFETY: the object is new, and has at least a word.
            unsafe { first.cast::<usize>().write(0) };
            return Ok(Chain { first, objects: 1 });
        };
        let (shape, buffer) = (ty.shape(), self.buffer(ty.shape()));
        let mut is_linked = false;
        if buffer.peek(cell).is_none() {
            let keeps = self.stops_by_signals();
            self.retry(cell, || self.owned().keeping_runs(keeps).refill_chain(shape, bytes))?;
            is_linked = buffer.has_span();
        }
        assert!(buffer.cell_size() == cell, "the type is another heap's: register it with this one");
        let first = buffer.peek(cell).expect("a refilled buffer has a cell");
        self.remember_reused(shape, cell);
        let at_hand = buffer.room() / cell;
        let objects = if is_linked { at_hand } else { at_hand.min((bytes / cell).max(1)) };
        if !is_linked {
            buffer.chain(objects, cell);
        }
        // SAFETY: the cells are those of the run from its cursor on; their first words hold addresses of others, and the rest is
        // zero where it may hold pointers.
        unsafe { buffer.commit(first, objects * cell) };
        Ok(Chain { first, objects })
    }
}
