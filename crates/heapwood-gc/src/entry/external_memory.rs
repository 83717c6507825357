//! Memory outside the heap that its objects own: a program tells how much comes and goes, so that collections come in time. An
//! addition is an allocation without cells: it may collect, and near a limit it is refused after a full collection that could
//! have helped. Invariant: a call that fails changes nothing.

use crate::error::AllocError;
use crate::mutator::Mutator;

impl Mutator {
    /// Counts `change` more bytes outside the heap that its objects own, or fewer if it is negative. Adding may collect.
    ///
    /// Add before the memory is allocated; then a refusal leaves nothing to undo. Give back as much as was added, on any
    /// attached thread, when the memory has been freed. What comes and goes between two collections makes none due.
    ///
    /// # Errors
    /// Adding: as an allocation of so many bytes, and if they are more than memory can hold. Giving back: if more is given
    /// back than was added, or the mutator cannot be used now ([`Mutator::check`]).
    pub fn external(&self, change: isize) -> Result<(), AllocError> {
        let (external, bytes) = (self.shared().space().external(), change.unsigned_abs());
        if change > 0 {
            return Ok(self.retry(bytes, || external.take(bytes))??);
        }
        self.check()?;
        Ok(external.give_back(bytes)?)
    }
}
