//! Attaching a thread to a heap, and detaching it; one place knows whether a thread is attached already.
//!
//! A mutator is a spare one that an earlier thread has left, or is made in mapped memory of its own. A thread's record
//! links its mutators, one for each heap to which it is attached (`process/mod.rs`). A thread that forgets to detach is
//! detached when it exits. Invariant: a mutator is in its thread's record from its attachment until it is detached, and
//! the thread's end is noticed meanwhile.

use crate::error::{HeapError, Misuse};
use crate::heap::Heap;
use crate::mutator::Mutator;
use crate::mutator::registry::Registry;
use crate::process::{forget_end, notice_end, record};
use crate::roots::{StackGiven, ThreadStack};
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::ops::Deref;
use core::ptr::NonNull;
use heapwood_heap::Address;
use heapwood_os::threads::signal;

/// The calling thread's attachment to a heap: its mutator, until this is dropped, which detaches the thread.
pub struct Attached<'h> {
    mutator: NonNull<Mutator>,
    heap: PhantomData<&'h Heap>,
}

impl Mutator {
    /// Attaches the calling thread to `heap`. `stack_end` is one past the highest word of its stack that may hold
    /// pointers; `None` asks the system. A thread that exits is detached, if it was not before. If signals stop threads, the thread
    /// takes that signal from now on, also if it had blocked it.
    ///
    /// # Errors
    /// The thread is attached to this heap already, the system does not say where its stack ends, or there is no memory
    /// for the mutator.
    pub fn attach(heap: &Heap, stack_end: Option<usize>) -> Result<Attached<'_>, HeapError> {
        Self::attach_on(heap, stack_end.map_or(StackGiven::Own, StackGiven::End))
    }

    /// The mutator with which the calling thread is attached to `heap`.
    pub fn here(heap: &Heap) -> Option<NonNull<Mutator>> {
        record().iter().find(|mutator| core::ptr::eq(mutator.heap(), heap)).map(NonNull::from)
    }

    /// The mutator of the calling thread in whose heap an address lies.
    pub fn here_at(address: usize) -> Option<NonNull<Mutator>> {
        let contains = |mutator: &&Mutator| mutator.heap().space().contains(Address::new(address));
        record().iter().find(contains).map(NonNull::from)
    }

    /// Calls `f` with each mutator of the calling thread.
    pub fn for_each_here(f: impl FnMut(&Mutator)) {
        record().iter().for_each(f);
    }

    /// [`Mutator::attach`], with the known bounds of the stack.
    ///
    /// # Errors
    /// As for [`Mutator::attach`]; or only the end is known of a stack that is not the thread's own, and signals stop
    /// threads.
    pub fn attach_on(heap: &Heap, stack: StackGiven) -> Result<Attached<'_>, HeapError> {
        let record = record();
        if Self::here(heap).is_some() {
            return Err(HeapError::AttachedAlready);
        }
        let (stack, beside) = (ThreadStack::here(stack)?, ThreadStack::here(stack)?);
        let stop_signal = heap.state().stop_signal();
        if stop_signal.is_some() && !stack.has_bounds() {
            return Err(HeapError::StackBounds);
        }
        notice_end(thread_ends)?;
        if let Some(stop_signal) = stop_signal {
            // The program may have blocked all signals before it made the heap, and new threads inherit that.
            signal::unblock(stop_signal);
        }
        // A collection holds the registry's lock: while the thread waits for that, collections of its other heaps go
        // on.
        record.elsewhere(Some(&beside), |left| {
            // In verify mode no mutator is used again.
            let spare = if heap.state().verifies() { None } else { heap.collector().registry().take_spare() };
            let mutator = match spare {
                Some(mutator) => mutator,
                // SAFETY: the state is the heap's first field, and a heap outlives its mutators.
                None => unsafe { Mutator::map(heap.kernel(), NonNull::from(heap).cast())? },
            };
            // SAFETY: only this thread uses the mutator and the record; the mutator stays until it is detached.
            unsafe {
                Mutator::assign(mutator, stack, record);
                record.attach(heap.collector().registry(), mutator.as_ref(), left);
            }
            if heap.collector().registry().attached_now() > 1 {
                heap.state().alone().end(|| {
                    let members = heap.collector().registry().lock();
                    members.iter().any(|m| !m.is_mine() && m.is_in_no_preempt())
                });
            }
            Ok(Attached { mutator, heap: PhantomData })
        })
    }
}

impl Heap {
    /// Collects now, on any thread; a thread that is not attached to this heap has no roots in it. A collection that
    /// begins after the call has ended when this returns.
    ///
    /// # Errors
    /// The thread is attached, and its mutator cannot be used now ([`Mutator::collect`]); or collections are off.
    pub fn collect(&self) -> Result<(), Misuse> {
        match Mutator::here(self) {
            // SAFETY: it is this thread's, and stays attached during the call.
            Some(mutator) => unsafe { mutator.as_ref() }.collect(),
            None => {
                let (collected, _turn) = record().elsewhere(None, |_| self.collect_here());
                if collected { Ok(()) } else { Err(self.refusal()) }
            }
        }
    }
}

impl Attached<'_> {
    /// The mutator, which stays attached until [`Attached::from_raw`] takes it back or the thread ends.
    pub fn into_raw(self) -> NonNull<Mutator> {
        ManuallyDrop::new(self).mutator
    }

    /// Takes back the mutator that [`Attached::into_raw`] gave.
    ///
    /// # Safety
    /// 1. It was given to this thread, has not been taken back, and its heap exists as long as the result.
    pub unsafe fn from_raw(mutator: NonNull<Mutator>) -> Self {
        Attached { mutator, heap: PhantomData }
    }
}

impl Deref for Attached<'_> {
    type Target = Mutator;
    #[inline(always)]
    fn deref(&self) -> &Mutator {
        // SAFETY: it is attached until this is dropped.
        unsafe { self.mutator.as_ref() }
    }
}

impl Drop for Attached<'_> {
    fn drop(&mut self) {
        // A guard in a thread-local value may outlive its thread's mutators; then it has nothing to do.
        if record().iter().any(|mutator| core::ptr::eq(mutator, self.mutator.as_ptr())) {
            // SAFETY: it is attached, and this thread's (the pointer is not Send); it is not used afterwards.
            unsafe { detach(self.mutator) };
        }
    }
}

/// Detaches the calling thread: returns its unused cells to the heap; it is no longer stopped or scanned.
///
/// # Safety
/// 1. The mutator is attached, it is this thread's, and it is not used afterwards.
unsafe fn detach(this: NonNull<Mutator>) {
    // SAFETY: contract 1.
    unsafe {
        this.as_ref().leave_finalizer_calls();
        this.as_ref().give_up();
        leave_registry(this);
    }
}

/// The second half of detaching, for a mutator that was given up: a collector may read its parts.
///
/// # Safety
/// 1. As for [`detach`].
unsafe fn leave_registry(this: NonNull<Mutator>) {
    // SAFETY: contract 1.
    let mutator = unsafe { this.as_ref() };
    let (record, registry): (_, &Registry<Mutator>) = (record(), mutator.heap().collector().registry());
    // A collector that waits for the registry's lock sees a mutator that is as good as stopped. One that holds it ends
    // first, and meanwhile collections of the thread's other heaps go on. SAFETY: contract 1; it has given up.
    record.elsewhere(None, |_| unsafe { record.detach(registry, this) });
    if record.iter().next().is_none() {
        forget_end();
    }
}

/// Detaches a thread that exits: no collection waits for it any more.
fn thread_ends() {
    let record = record();
    // First gives up in all heaps: while it waits in one for a collection to end, no collection of another waits for
    // it.
    record.iter().for_each(Mutator::leave_finalizer_calls);
    record.iter().for_each(Mutator::give_up);
    while let Some(mutator) = record.iter().next().map(NonNull::from) {
        // SAFETY: it is attached to the thread that is ending, which does not use the heap any more.
        unsafe { leave_registry(mutator) };
    }
}
