//! How a program learns that a queue of finalisers has something: it waits, its loop of events has an eventfd, or a function is
//! called where its threads allocate. Invariant: the library calls the function on a thread that allocates, between two objects, where
//! a collection might come as well.

use super::finalize::FinalizerQueue;
use crate::error::{FinalizeError, MisuseError};
use crate::heap::Heap;
use crate::mutator::Mutator;
use crate::process::record;
use crate::state::{FinalizerCall, wait_until_queued};
use core::time::Duration;
use heapwood_os::process::clock::monotonic_ns;
use heapwood_os::threads::sync::{Futex, wait, wait_for};

impl Heap {
    /// Waits until something is on the queue, or so long; whether something is. Any thread may wait; an attached one does so in a
    /// blocking region. Another may take it first.
    ///
    /// # Errors
    /// There is no such queue, or it has ended meanwhile; or the thread is a hook or a trace function, or its mutator cannot enter a
    /// blocking region.
    pub fn wait_finalized(
        &self,
        queue: FinalizerQueue,
        at_most: Option<Duration>,
    ) -> Result<bool, FinalizeError> {
        let mutator = Mutator::here(self);
        if let Some(mutator) = mutator {
            // SAFETY: it is this thread's, and stays attached during the call.
            match unsafe { mutator.as_ref() }.check() {
                Ok(()) | Err(MisuseError::InNative) => {}
                Err(misuse) => return Err(FinalizeError::Misuse(misuse)),
            }
        } else if record().is_in_hook() {
            return Err(FinalizeError::Misuse(MisuseError::Hook));
        } else {
            self.check_no_trace().map_err(FinalizeError::Misuse)?;
        }
        let end = at_most.map(|at_most| monotonic_ns().saturating_add(at_most.as_nanos() as u64));
        let look = || {
            let _no_preempt = record().no_preempt();
            let looked = self.state().finalizers().look(self.memory_of_finalizers(), queue.to_bits());
            looked.map_err(|e| FinalizeError::of_queue(e, queue))
        };
        let sleep = |word: &Futex, seen| {
            let left = end.map(|end| end.saturating_sub(monotonic_ns()));
            if left == Some(0) {
                return Ok(false);
            }
            let sleep = || match left {
                Some(ns) => wait_for(word, seen, Duration::from_nanos(ns)),
                None => wait(word, seen),
            };
            // SAFETY: as above.
            match mutator.map(|mutator| unsafe { mutator.as_ref() }) {
                Some(mutator) => mutator.blocking(sleep).map_err(FinalizeError::Misuse)?,
                None => sleep(),
            }
            Ok(true)
        };
        wait_until_queued(look, sleep)
    }

    /// The queue's eventfd, which can be read when something was queued: for `poll` and its like. It is the queue's, does not block,
    /// and is closed with it. Read it before the queue is emptied, or something may be missed.
    ///
    /// # Errors
    /// There is no such queue, or the kernel gives no descriptor.
    pub fn finalizer_fd(&self, queue: FinalizerQueue) -> Result<i32, FinalizeError> {
        self.check_no_trace().map_err(FinalizeError::Misuse)?;
        let _no_preempt = record().no_preempt();
        let fd = self.state().finalizers().fd(self.memory_of_finalizers(), queue.to_bits());
        fd.map_err(|e| FinalizeError::of_queue(e, queue))
    }

    /// Has a function called when something was queued, by the next thread that allocates on its slow path, before its object is
    /// made: once for all that one collection has queued, on one thread at a time. `None` removes it.
    ///
    /// # Errors
    /// There is no such queue, or its function is being called.
    ///
    /// # Safety
    /// 1. Until it is removed, or the queue has ended, any attached thread may call the function with its argument.
    /// 2. The function returns, and its thread is attached then as it was before.
    pub unsafe fn call_when_finalized(
        &self,
        queue: FinalizerQueue,
        call: Option<FinalizerCall>,
    ) -> Result<(), FinalizeError> {
        self.check_no_trace().map_err(FinalizeError::Misuse)?;
        let _no_preempt = record().no_preempt();
        let set = self.state().finalizers().set_call(self.memory_of_finalizers(), queue.to_bits(), call);
        set.map_err(|e| FinalizeError::of_queue(e, queue))
    }
}

impl Mutator {
    /// Calls the function of a queue to which something has come. If there are more, or it has brought more, the next slow path does.
    #[cold]
    #[inline(never)]
    pub(crate) fn call_finalizers(&self) {
        let finalizers = self.shared().finalizers();
        let taken = {
            let _no_preempt = self.record().no_preempt();
            finalizers.take_call()
        };
        if let Some((at, FinalizerCall { function, argument })) = taken {
            // SAFETY: as `Heap::call_when_finalized` was promised.
            unsafe { function(argument) };
            let _no_preempt = self.record().no_preempt();
            finalizers.end_call(at);
        }
    }
}
