//! Bytes outside the heap: what the program adds and gives back, and what a collection learns of it. Invariant: adding takes
//! the central lock at most once for each step of what is left of the budget, and near a limit, where every byte is counted like every page.

use crate::alloc::allocator::Allocator;
use crate::error::{Refusal, SpaceError};
use crate::pages::external::ExternalChange;
use crate::reclaim::clock::Sweeping;

/// The bytes outside a heap.
#[derive(Clone, Copy)]
pub struct ExternalBytes<'s>(pub(super) &'s Allocator);

impl ExternalBytes<'_> {
    /// Takes bytes, as if they were allocated. Below seven eighths of a limit nobody waits for the central lock: then two threads
    /// that add and allocate at the same moment may exceed the limit by what one of them takes.
    ///
    /// # Errors
    /// The outer error as of an allocation: a collection is due, or the limit leaves no room. The inner one as
    /// [`Refusal`] says. Nothing was added.
    pub fn take(self, bytes: usize) -> Result<Result<(), Refusal>, SpaceError> {
        let (sweeper, heap) = (self.0.sweeper(), self.0.sweeper().heap());
        let external = heap.external();
        if let Err(refused) = external.check(bytes) {
            return Ok(Err(refused));
        }
        if external.is_to_look(bytes) {
            let mut central = sweeper.lock_for_large();
            central.note_external(external.change().rose);
            if central.collection_due(bytes) {
                return Err(SpaceError::CollectionDue);
            }
            external.looked(bytes, central.left_bytes().saturating_sub(bytes));
        }
        if !heap.is_limited() || heap.has_much_below_limit(bytes) {
            return Ok(external.add(bytes));
        }
        let try_to_add = || {
            let mut central = sweeper.lock_for_large();
            heap.check_limit(central.growth(), bytes).inspect_err(|_| central.want_pages())?;
            Ok(external.add(bytes))
        };
        // Pages of dead objects are in use until they are swept.
        let mut added = try_to_add();
        while added.is_err() && sweeper.sweep_some(Sweeping::Allocation) {
            added = try_to_add();
        }
        if added.is_err() {
            // By other threads, too.
            sweeper.finish();
            added = try_to_add();
        }
        added
    }

    /// Gives bytes back.
    ///
    /// # Errors
    /// More than there are. Nothing was given back.
    pub fn give_back(self, bytes: usize) -> Result<(), Refusal> {
        self.0.sweeper().heap().external().give_back(bytes)
    }

    /// Sets what the heap's entries of links and finalisers take: it counts as what the program tells, and collects nothing now.
    pub fn set_entries(self, bytes: usize) {
        self.0.sweeper().heap().external().set_entries(bytes);
    }

    /// The bytes that the program has told.
    pub fn told(self) -> usize {
        self.0.sweeper().heap().external().told()
    }

    /// The bytes now, with those of entries.
    pub fn level(self) -> usize {
        self.0.sweeper().heap().external().level()
    }

    /// How they have changed in this cycle.
    pub fn change(self) -> ExternalChange {
        self.0.sweeper().heap().external().change()
    }

    /// What they have risen by since they were fewest after the last full collection.
    pub fn rose_since_full(self) -> usize {
        self.0.sweeper().heap().external().rose_since_full()
    }
}
