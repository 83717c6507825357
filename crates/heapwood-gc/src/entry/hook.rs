//! Setting what a heap's collections call, and the epoch. Invariant: what was replaced is not called any more when the call that
//! replaced it returns.

use crate::collect::CollectionHook;
use crate::error::Misuse;
use crate::heap::Heap;
use crate::mutator::{Mutator, ThreadState};
use crate::process::record;
use crate::roots::CollectionPhases;
use heapwood_os::threads::stack::thread_pointer;

impl Heap {
    /// Sets the function that is called in each pause of this heap, in place of the one set before; `None`: none. Waits for a
    /// collection or a slice of a marking that is under way; the next pause is the first of which the function is told, which
    /// may be the end of a marking that began before. Returns the function that was set before.
    ///
    /// The threads are stopped meanwhile, so the function is brief. It is called on the thread that collects, which is attached, or has
    /// called [`Heap::collect`]. While one is set, a marking beside the program starts and ends only when a thread
    /// allocates on its slow path, or waits for it; and an idle heap is not collected.
    ///
    /// # Errors
    /// The thread is attached, and its mutator cannot be used now ([`Mutator::check`]); or it is a trace function or a
    /// hook that calls.
    ///
    /// # Safety
    /// 1. Until it is replaced, any thread may call the function with its argument.
    /// 2. It does not unwind, fork, or wait for another thread; and it uses no heap but for statistics and epochs.
    pub unsafe fn on_collection(
        &self,
        hook: Option<CollectionHook>,
    ) -> Result<Option<CollectionHook>, Misuse> {
        self.between_collections(|| self.collector().set_hook(self.state(), hook))
    }

    /// Gives a client a part in each collection of this heap, in place of the one before; `None`: nobody. Its calls come on the
    /// thread that collects, as those of a hook do, by the same rules: a marking beside the program starts and ends only when a
    /// thread allocates on its slow path, or waits for it, and an idle heap is not collected.
    ///
    /// # Errors
    /// As for [`Heap::on_collection`].
    pub fn set_phases(&self, phases: Option<&'static dyn CollectionPhases>) -> Result<(), Misuse> {
        self.between_collections(|| self.collector().set_client(self.state(), phases))
    }

    /// Calls `set`, which takes the collector's turn.
    fn between_collections<R>(&self, set: impl FnOnce() -> R) -> Result<R, Misuse> {
        let before = match Mutator::here(self) {
            Some(mutator) => {
                // SAFETY: it is this thread's, and stays attached during the call.
                let mutator = unsafe { mutator.as_ref() };
                mutator.check()?;
                mutator.away(ThreadState::AtSafepoint, set)?
            }
            None if record().is_in_hook() => return Err(Misuse::Hook),
            None if self.state().marking_threads().is_helping(thread_pointer()) => {
                return Err(Misuse::Tracing);
            }
            None => record().elsewhere(None, |_| set()),
        };
        Ok(before)
    }

    /// How many full collections have ended: an epoch, by one load. What was dead when a number was read is gone when it has
    /// grown by one in a stop, or by two at most where markings go on beside the program.
    pub fn full_collections(&self) -> u64 {
        self.state().cycles().full_collections()
    }
}
