//! Threads that the program suspends and lets go on, on any thread. Invariant: whoever suspends or resumes counts as stopped while it
//! waits for a collection that is under way.

use crate::error::MisuseError;
use crate::heap::Heap;
use crate::mutator::{Client, Mutator};

impl Heap {
    /// Suspends the attached thread for whose words `is_it` says so: when this returns it has stopped, as for a collection, and
    /// stays stopped until [`unsuspend`](Heap::unsuspend). Returns whether there is one. A thread in a blocking region may go on
    /// to its end; one that suspends itself returns when another lets it go on. Suspensions are not counted. What the thread holds
    /// of others' locks, others wait for.
    ///
    /// # Errors
    /// The calling thread's mutator cannot be used now; or the call comes from a hook or a trace function.
    pub fn suspend(&self, is_it: impl Fn(&Client) -> bool) -> Result<bool, MisuseError> {
        self.aside(|| self.collector().suspend(self.state(), is_it))
    }

    /// Lets the thread go on, if it is suspended; returns whether there is one.
    ///
    /// # Errors
    /// As for [`suspend`](Heap::suspend).
    pub fn unsuspend(&self, is_it: impl Fn(&Client) -> bool) -> Result<bool, MisuseError> {
        self.aside(|| {
            let members = self.registry().lock();
            let found = members.iter().find(|m| is_it(m.client()));
            found.inspect(|m| m.unsuspend()).is_some()
        })
    }

    /// Whether the thread is suspended.
    ///
    /// # Errors
    /// As for [`suspend`](Heap::suspend).
    pub fn is_suspended(&self, is_it: impl Fn(&Client) -> bool) -> Result<bool, MisuseError> {
        self.aside(|| self.registry().lock().iter().any(|m| is_it(m.client()) && m.is_suspended()))
    }

    /// Calls `f` on a thread without a running mutator.
    pub(super) fn aside<R>(&self, f: impl FnOnce() -> R) -> Result<R, MisuseError> {
        match Mutator::here(self) {
            // SAFETY: it is this thread's, and stays attached during the call.
            Some(mutator) => unsafe { mutator.as_ref() }.blocking(f),
            None => self.between_collections(f),
        }
    }
}
