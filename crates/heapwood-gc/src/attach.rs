//! Attaching a thread to a heap, and detaching it; and, in one place, whether a thread is attached already.
//!
//! A mutator is taken from those that earlier threads have left, or made in mapped memory of its own. A thread's mutators,
//! one for each heap it is attached to, are linked through themselves, and the first is the thread's value of a key which
//! the C library calls a function for as a thread that has one exits: the one place of the library with something of the
//! process's own. So nothing is allocated, and a thread that forgets to detach is detached. Invariant: a mutator is in its
//! thread's list, which only that thread walks, from when it is attached until it is detached.

use crate::error::HeapError;
use crate::heap::Heap;
use crate::mutator::Mutator;
use crate::roots::ThreadStack;
use core::ffi::c_void;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::ops::Deref;
use core::ptr::NonNull;
use heapwood_os::ThreadValue;

// SAFETY: what is stored are attached mutators of the storing thread, which is what `thread_ends` takes.
static FIRST: ThreadValue = unsafe { ThreadValue::new(thread_ends) };

fn first() -> *const Mutator {
    FIRST.get().cast()
}

fn set_first(mutator: *const Mutator) -> Result<(), HeapError> {
    FIRST.set(mutator.cast_mut().cast()).map_err(|_| HeapError::ThreadKeys)
}

/// The calling thread's mutators.
fn mine<'t>() -> impl Iterator<Item = &'t Mutator> {
    let mut at = first();
    core::iter::from_fn(move || {
        // SAFETY: the list holds attached mutators of this thread, and nobody else changes it.
        let mutator = unsafe { at.as_ref() }?;
        at = mutator.next_of_thread().get();
        Some(mutator)
    })
}

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
        if mine().any(|mutator| core::ptr::eq(mutator.heap(), heap)) {
            return Err(HeapError::AttachedAlready);
        }
        let stack = ThreadStack::here(stack_end)?;
        // In verify mode none is used again.
        let spare = if heap.state().stores().is_some() { None } else { heap.registry().take_spare() };
        let mutator = match spare {
            Some(mutator) => mutator,
            // SAFETY: the state is the heap's first field, and a heap outlives its mutators.
            None => unsafe { Mutator::map(heap.kernel(), NonNull::from(heap).cast())? },
        };
        // SAFETY: the mutator is this thread's alone.
        let m = unsafe {
            Mutator::assign(mutator, stack);
            mutator.as_ref()
        };
        m.next_of_thread().set(first());
        if let Err(e) = set_first(m) {
            // SAFETY: nobody else has seen it.
            unsafe { heap.registry().keep(mutator) };
            return Err(e);
        }
        heap.registry().add(m);
        Ok(Attached { mutator, heap: PhantomData })
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
        if mine().any(|mutator| core::ptr::eq(mutator, self.mutator.as_ptr())) {
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
    let mutator = unsafe { this.as_ref() };
    let next = mutator.next_of_thread().get();
    if core::ptr::eq(first(), mutator) {
        // A value that has a place needs no memory.
        let _ = set_first(next);
    } else if let Some(before) = mine().find(|m| core::ptr::eq(m.next_of_thread().get(), mutator)) {
        before.next_of_thread().set(next);
    }
    // A collector that waits for the registry's lock sees a mutator that is as good as stopped; one that holds it ends first.
    mutator.give_up();
    // SAFETY: contract 1.
    unsafe { mutator.heap().registry().remove(this) };
}

/// Detaches a thread that exits: it no longer keeps anybody waiting.
unsafe extern "C" fn thread_ends(value: *mut c_void) {
    // The value is taken away before this is called; it is what `detach` works on.
    let _ = set_first(value.cast());
    while let Some(mutator) = NonNull::new(first().cast_mut()) {
        // SAFETY: it is attached, and its thread is the one that is ending. It uses the heap no more.
        unsafe { detach(mutator) };
    }
}
