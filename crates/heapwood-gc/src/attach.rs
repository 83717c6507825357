//! Attaching a thread to a heap, and detaching it; and, in one place, whether a thread is attached already.
//!
//! A mutator is taken from those that earlier threads have left, or made in mapped memory of its own. A thread's record links
//! its mutators, one for each heap it is attached to (`process.rs`). A thread that forgets to detach is detached as it
//! exits. Invariant: a mutator is in its thread's record from when it is attached until it is detached; meanwhile the thread's
//! end is noticed.

use crate::error::{HeapError, MisuseError};
use crate::heap::Heap;
use crate::mutator::Mutator;
use crate::mutator::registry::Registry;
use crate::process::{forget_end, notice_end, record};
use crate::roots::{StackGiven, ThreadStack};
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::ops::Deref;
use core::ptr::NonNull;

/// The calling thread's attachment to a heap: its mutator, until this is dropped, which detaches the thread.
pub struct Attached<'h> {
    mutator: NonNull<Mutator>,
    heap: PhantomData<&'h Heap>,
}

impl Mutator {
    /// Attaches the calling thread to `heap`. `stack_end` is one past the highest word of its stack that may hold
    /// pointers; `None` asks the system. A thread that exits is detached, if it was not before.
    ///
    /// # Errors
    /// It is attached to this heap already, the system does not say where its stack ends, or there is no memory for it.
    pub fn attach(heap: &Heap, stack_end: Option<usize>) -> Result<Attached<'_>, HeapError> {
        Self::attach_on(heap, stack_end.map_or(StackGiven::Own, StackGiven::End))
    }

    /// The mutator by which the calling thread is attached to `heap`.
    pub fn here(heap: &Heap) -> Option<NonNull<Mutator>> {
        record().iter().find(|mutator| core::ptr::eq(mutator.heap(), heap)).map(NonNull::from)
    }

    /// [`Mutator::attach`], with what is known of the stack.
    ///
    /// # Errors
    /// As [`Mutator::attach`]; or only the end is known of a stack that is not the thread's own, and signals stop threads.
    pub fn attach_on(heap: &Heap, stack: StackGiven) -> Result<Attached<'_>, HeapError> {
        let record = record();
        if Self::here(heap).is_some() {
            return Err(HeapError::AttachedAlready);
        }
        let (stack, beside) = (ThreadStack::here(stack)?, ThreadStack::here(stack)?);
        if heap.state().stop_signal().is_some() && !stack.has_bounds() {
            return Err(HeapError::StackBounds);
        }
        notice_end(thread_ends)?;
        // A collection holds the registry's lock: while the thread waits for that, those of its other heaps go on.
        record.elsewhere(Some(&beside), |left| {
            // In verify mode none is used again.
            let spare = if heap.state().verifies() { None } else { heap.registry().take_spare() };
            let mutator = match spare {
                Some(mutator) => mutator,
                // SAFETY: the state is the heap's first field, and a heap outlives its mutators.
                None => unsafe { Mutator::map(heap.kernel(), NonNull::from(heap).cast())? },
            };
            // SAFETY: the mutator is this thread's alone, and the record, too; the mutator stays until it is detached.
            unsafe {
                Mutator::assign(mutator, stack, record);
                record.attach(heap.registry(), mutator.as_ref(), left);
            }
            Ok(Attached { mutator, heap: PhantomData })
        })
    }
}

impl Heap {
    /// Collects now, on any thread: one that is not attached to this heap has nothing in it that is scanned. A collection that
    /// begins after the call has ended when this returns.
    ///
    /// # Errors
    /// The thread is attached, and its mutator cannot be used now ([`Mutator::collect`]).
    pub fn collect(&self) -> Result<(), MisuseError> {
        match Mutator::here(self) {
            // SAFETY: it is this thread's, and stays attached during the call.
            Some(mutator) => unsafe { mutator.as_ref() }.collect(),
            None => {
                let _turn = record().elsewhere(None, |_| self.collect_here());
                Ok(())
            }
        }
    }
}

impl Attached<'_> {
    /// The mutator, which stays attached until [`Attached::from_raw`] takes it back or the thread ends.
    pub fn into_raw(self) -> NonNull<Mutator> {
        ManuallyDrop::new(self).mutator
    }

    /// Takes back what [`Attached::into_raw`] gave.
    ///
    /// # Safety
    /// 1. It was given to this thread, has not been taken back, and its heap exists as long as what is returned.
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
        // A guard that outlived its thread's mutators, in a thread-local value, has nothing left to do.
        if record().iter().any(|mutator| core::ptr::eq(mutator, self.mutator.as_ptr())) {
            // SAFETY: it is attached, and this thread's (a pointer is not sent); it is not used afterwards.
            unsafe { detach(self.mutator) };
        }
    }
}

/// Detaches the calling thread: its unused cells go back to the heap, and it is no longer stopped or scanned.
///
/// # Safety
/// 1. The mutator is attached, it is this thread's, and it is not used afterwards.
unsafe fn detach(this: NonNull<Mutator>) {
    // SAFETY: contract 1.
    unsafe {
        this.as_ref().give_up();
        leave_registry(this);
    }
}

/// The rest of that, for a mutator that has been given up: its parts are a collector's to read.
///
/// # Safety
/// 1. As for [`detach`].
unsafe fn leave_registry(this: NonNull<Mutator>) {
    // SAFETY: contract 1.
    let mutator = unsafe { this.as_ref() };
    let (record, registry): (_, &Registry<Mutator>) = (record(), mutator.heap().registry());
    // A collector that waits for the registry's lock sees a mutator that is as good as stopped; one that holds it ends first,
    // and meanwhile collections of the thread's other heaps go on.
    // SAFETY: contract 1; it has given up.
    record.elsewhere(None, |_| unsafe { record.detach(registry, this) });
    if record.iter().next().is_none() {
        forget_end();
    }
}

/// Detaches a thread that exits: it no longer keeps anybody waiting.
fn thread_ends() {
    let record = record();
    // First in all heaps: while it waits in one for a collection to end, it keeps nobody waiting in another.
    record.iter().for_each(Mutator::give_up);
    while let Some(mutator) = record.iter().next().map(NonNull::from) {
        // SAFETY: it is attached, and its thread is the one that is ending. It uses the heap no more.
        unsafe { leave_registry(mutator) };
    }
}
