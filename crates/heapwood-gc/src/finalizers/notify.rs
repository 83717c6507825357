//! How a program learns that a queue of finalisers has something: it waits, its loop of events has an eventfd, or a function is
//! called where its threads allocate. Invariant: the library calls the function on a thread that allocates, between two objects, where
//! a collection might come as well.

use super::calls::Call;
use super::register::FinalizerQueue;
use super::telling::{FinalizerCall, MOST_NESTED, wait_until_queued};
use crate::error::{Misuse, Refusal};
use crate::heap::Heap;
use crate::mutator::Mutator;
use crate::process::record;
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
    pub fn wait_finalized(&self, queue: FinalizerQueue, at_most: Option<Duration>) -> Result<bool, Refusal> {
        let mutator = Mutator::here(self);
        if let Some(mutator) = mutator {
            // SAFETY: it is this thread's, and stays attached during the call.
            match unsafe { mutator.as_ref() }.check() {
                Ok(()) | Err(Misuse::InNative) => {}
                Err(misuse) => return Err(misuse.into()),
            }
        } else if record().is_in_hook() {
            return Err(Misuse::Hook.into());
        } else {
            self.check_no_trace()?;
        }
        let end = at_most.map(|at_most| monotonic_ns().saturating_add(at_most.as_nanos() as u64));
        let look = || {
            let _no_preempt = record().no_preempt();
            self.state().finalizers().look(self.memory_of_finalizers(), queue.to_bits())
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
                Some(mutator) => mutator.blocking(sleep)?,
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
    pub fn finalizer_fd(&self, queue: FinalizerQueue) -> Result<i32, Refusal> {
        self.check_no_trace()?;
        let _no_preempt = record().no_preempt();
        self.state().finalizers().fd(self.memory_of_finalizers(), queue.to_bits())
    }

    /// Has a function called when something was queued, by the next thread that allocates on its slow path, before its object is
    /// made: once for all that one collection has queued. Several threads may be inside it at a time, so that one that waits in it
    /// keeps no other from what is queued. `None` removes it.
    ///
    /// # Errors
    /// There is no such queue, or its function is being called.
    ///
    /// # Safety
    /// 1. Until it is removed, or the queue has ended, any attached thread may call the function with its argument.
    /// 2. The function returns, or is left by longjmp or an exception, with its thread attached as it was before.
    pub unsafe fn call_when_finalized(
        &self,
        queue: FinalizerQueue,
        call: Option<FinalizerCall>,
    ) -> Result<(), Refusal> {
        self.check_no_trace()?;
        let _no_preempt = record().no_preempt();
        self.state().finalizers().set_call(self.memory_of_finalizers(), queue.to_bits(), call)
    }
}

/// Ends a call, also if an exception leaves it.
struct CallEnd<'m> {
    mutator: &'m Mutator,
    frame: usize,
    has_returned: bool,
}

impl Drop for CallEnd<'_> {
    fn drop(&mut self) {
        self.mutator.end_calls(self.frame, |frame| self.has_returned && frame == self.frame);
    }
}

impl Mutator {
    /// Whether finalisers are to be called, or calls are under way, of which one may have been left.
    #[inline(always)]
    pub(crate) fn has_finalizers_to_call(&self) -> bool {
        self.shared().finalizers().calls() || self.finalizer_calls().depth() != 0
    }

    /// Calls the function of a queue to which something has come. If there are more, or it has brought more, the next slow path does.
    #[cold]
    #[inline(never)]
    pub(crate) fn call_finalizers(&self) {
        self.in_call(|depth| {
            let taken = {
                let _no_preempt = self.record().no_preempt();
                self.shared().finalizers().take_call(depth)
            };
            // SAFETY: as `Heap::call_when_finalized` was promised.
            taken.map(|(queue, call)| (Some(queue), move || unsafe { (call.function)(call.argument) }))
        });
    }

    /// Runs `f`, which calls finalisers, and counts as a call of a queue's function. Returns false, and does not run it, inside
    /// `most` such calls, or ten.
    #[inline(never)]
    pub fn nest_finalizers(&self, most: usize, f: impl FnOnce()) -> bool {
        let mut is_run = false;
        self.in_call(|depth| {
            is_run = depth < most.min(MOST_NESTED);
            is_run.then_some((None, f))
        });
        is_run
    }

    /// Runs what `take` returns for the number of calls under way.
    #[inline(always)]
    fn in_call<F: FnOnce()>(&self, take: impl FnOnce(usize) -> Option<(Option<usize>, F)>) {
        let here = 0u8;
        let frame = &raw const here as usize;
        self.end_calls(frame, |_| false);
        if let Some((queue, call)) = take(self.finalizer_calls().depth()) {
            self.finalizer_calls().begin(Call { frame, queue });
            let mut end = CallEnd { mutator: self, frame, has_returned: false };
            call();
            end.has_returned = true;
        }
    }

    /// Ends the calls whose frames lie at most so far up the stack. Those that have not returned were left: others go on with what is
    /// on their queues.
    fn end_calls(&self, most: usize, has_returned: impl Fn(usize) -> bool) {
        while let Some(Call { frame, queue }) = self.finalizer_calls().end_below(most) {
            if let Some(queue) = queue {
                let _no_preempt = self.record().no_preempt();
                self.shared().finalizers().end_call(queue, !has_returned(frame));
            }
        }
    }

    /// The thread leaves its heap.
    pub(crate) fn leave_finalizer_calls(&self) {
        self.end_calls(usize::MAX, |_| false);
    }
}
