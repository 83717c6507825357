//! Bytes outside the heap: what the program adds and gives back, and what a collection learns of it. Invariant: adding takes
//! the central lock at most once for each step of what is left of the budget, and near a limit, where every byte is counted like every page.

use crate::error::{Refusal, SpaceError};
use crate::reclaim::clock::Sweeping;
use crate::space::Space;

impl Space {
    /// Takes bytes, as if they were allocated. Below seven eighths of a limit nobody waits for the central lock: then two threads
    /// that add and allocate at the same moment may exceed the limit by what one of them takes.
    ///
    /// # Errors
    /// The outer error as of an allocation: a collection is due, or the limit leaves no room. The inner one as
    /// [`Refusal`] says. Nothing was added.
    pub fn take_external(&self, bytes: usize) -> Result<Result<(), Refusal>, SpaceError> {
        let (sweeper, heap) = (&self.sweeper, &self.sweeper.heap);
        let external = &heap.external;
        if let Err(refused) = external.check(bytes) {
            return Ok(Err(refused));
        }
        if external.is_to_look(bytes) {
            let mut central = sweeper.lock_for_large();
            central.budget.note_external(external.change().rose);
            central.budget.check(bytes)?;
            external.looked(bytes, central.budget.left_bytes().saturating_sub(bytes));
        }
        if !heap.is_limited() || heap.has_much_below_limit(bytes) {
            return Ok(external.add(bytes));
        }
        let try_to_add = || {
            let mut central = sweeper.lock_for_large();
            let growth = central.growth();
            heap.check_limit(growth, bytes).inspect_err(|_| growth.pages_wanted = true)?;
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
}
