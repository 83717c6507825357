//! A mutator that changes threads: a virtual machine that runs on whichever thread of its host holds a lock. The thread that has it gives
//! it away, and then any other may take it. Meanwhile collections go on as beside a blocking region; its frames and buffers stay, and
//! it has no stack. Invariant: a mutator that was given away is in its heap's list and in no thread's record.

use super::attach::{Attached, thread_ends};
use crate::error::{HeapError, MisuseError};
use crate::heap::Heap;
use crate::mutator::Mutator;
use crate::process::{forget_end, notice_end, record};
use crate::roots::{StackGiven, ThreadStack};
use core::ptr::NonNull;

impl Mutator {
    /// Gives the mutator away: from now on the calling thread is not attached to the heap. Its stack is looked at no more. The mutator's
    /// frames stay linked, and what they refer to is a root until it is taken. May wait for a collection.
    ///
    /// # Errors
    /// The mutator cannot be used now ([`Mutator::check`]), or is in a region without collections.
    ///
    /// # Safety
    /// 1. Nobody uses the mutator until a thread has [taken](Mutator::take) it, which knows that this call has returned.
    /// 2. The slots of linked frames stay readable.
    pub unsafe fn give(&self) -> Result<(), MisuseError> {
        self.check()?;
        self.check_outside()?;
        let (record, registry) = (self.record(), self.heap().registry());
        self.leave_behind();
        // A collection that is under way takes it for stopped. Its other heaps' go on meanwhile.
        record.elsewhere(None, |_| {
            let _members = registry.lock();
            self.mark_given();
        });
        if record.iter().next().is_none() {
            forget_end();
        }
        Ok(())
    }

    /// Takes a mutator that was given away: the calling thread is attached to its heap with it, on this stack.
    ///
    /// # Errors
    /// The thread is attached to the heap; the mutator was not given away, or was taken already; or as for [`Mutator::attach_on`].
    ///
    /// # Safety
    /// 1. It is a mutator of this heap, which was not detached since.
    pub unsafe fn take(
        heap: &Heap,
        mutator: NonNull<Mutator>,
        stack: StackGiven,
    ) -> Result<Attached<'_>, HeapError> {
        let record = record();
        if Self::here(heap).is_some() {
            return Err(HeapError::AttachedAlready);
        }
        let (stack, beside) = (ThreadStack::here(stack)?, ThreadStack::here(stack)?);
        if heap.state().stop_signal().is_some() && !stack.has_bounds() {
            return Err(HeapError::StackBounds);
        }
        notice_end(thread_ends)?;
        record.elsewhere(Some(&beside), |left| {
            let members = heap.registry().lock();
            let is_given = members.iter().any(|m| core::ptr::eq(m, mutator.as_ptr()) && m.is_given());
            if !is_given {
                return Err(HeapError::NotGiven);
            }
            // SAFETY: the lock is held, and it is given away; only this thread uses its record.
            unsafe { Mutator::adopt(mutator, stack, record, left) };
            drop(members);
            // SAFETY: this thread has it now.
            Ok(unsafe { Attached::from_raw(mutator) })
        })
    }
}
