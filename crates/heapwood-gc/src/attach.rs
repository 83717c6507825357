//! Attaching a thread to a heap, and detaching it: a mutator is taken from those that earlier threads have left, or made
//! in mapped memory of its own. Invariant: the heap's list holds exactly the mutators that a collection stops and scans;
//! one that is not in it is no thread's, which its `owner` says.

use crate::error::HeapError;
use crate::heap::Heap;
use crate::mutator::{Mutator, RECENT, empty_recent};
use crate::thread;
use core::cell::Cell;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use heapwood_os::Reservation;
use heapwood_os::stack::{self, StackBounds, thread_pointer};
use heapwood_os::sync::Futex;

/// How many mutators a heap keeps for the threads to come.
const SPARE: usize = 16;

/// The mutators of a heap, linked through themselves.
pub(crate) struct Registry {
    /// The attached ones.
    pub(crate) first: *const Mutator,
    pub(crate) count: usize,
    /// Those of threads that were detached.
    spare: *const Mutator,
    spares: usize,
}

// SAFETY: the pointers are followed only by whoever holds the registry's lock.
unsafe impl Send for Registry {}

impl Registry {
    pub(crate) const EMPTY: Registry =
        Registry { first: core::ptr::null(), count: 0, spare: core::ptr::null(), spares: 0 };

    fn take_spare(&mut self) -> Option<NonNull<Mutator>> {
        let mutator = NonNull::new(self.spare.cast_mut())?;
        // SAFETY: spare mutators stay mapped.
        self.spare = unsafe { mutator.as_ref() }.next.get();
        self.spares -= 1;
        Some(mutator)
    }

    /// Keeps a mutator for reuse, or lets its memory go.
    ///
    /// # Safety
    /// 1. It is in no list, and no thread uses it.
    unsafe fn keep(&mut self, mutator: NonNull<Mutator>, for_good: bool) {
        // SAFETY: contract 1.
        let m = unsafe { mutator.as_ref() };
        if self.spares >= SPARE && !for_good {
            drop(m.memory.take());
            return;
        }
        m.next.set(self.spare);
        self.spare = m;
        self.spares += 1;
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        while let Some(mutator) = self.take_spare() {
            // SAFETY: it is in no list any more, and its memory goes with the reservation.
            drop(unsafe { mutator.as_ref() }.memory.take());
        }
    }
}

/// The stack that a thread was attached with.
#[derive(Debug)]
pub(crate) struct AttachedStack {
    /// The thread's own, if that is it.
    bounds: Cell<Option<StackBounds>>,
    /// One past the highest word that may hold pointers.
    pub(crate) end: usize,
}

impl AttachedStack {
    /// The stack of the calling thread, up to `end` if that is given.
    fn here(end: Option<usize>) -> Result<Self, HeapError> {
        let here = 0u8;
        let own =
            StackBounds::current().filter(|own| (own.low..own.high).contains(&(&raw const here as usize)));
        let end = end.or(own.map(|own| own.high)).ok_or(HeapError::UnknownStack)?;
        Ok(AttachedStack { bounds: Cell::new(own.filter(|own| end <= own.high)), end })
    }

    /// Whether a stack pointer is in it. Of a stack that is not the thread's own only the end is known.
    pub(crate) fn contains(&self, pointer: usize) -> bool {
        let inside = |mut bounds: StackBounds| {
            let inside = bounds.contains(pointer);
            // The first thread's stack may have become longer.
            self.bounds.set(Some(bounds));
            inside
        };
        pointer < self.end && self.bounds.get().is_none_or(inside)
    }
}

impl Mutator {
    /// Attaches the calling thread to `heap`. `stack_end` is one past the highest word of its stack that may hold
    /// pointers; `None` asks the system. A thread that exits is detached, if it was not before.
    ///
    /// # Errors
    /// It is attached to this heap already, the system does not say where its stack ends, or there is no memory for it.
    pub fn attach(heap: &Heap, stack_end: Option<usize>) -> Result<NonNull<Mutator>, HeapError> {
        if thread::mutator_of(heap).is_some() {
            return Err(HeapError::AttachedAlready);
        }
        let stack = AttachedStack::here(stack_end)?;
        let spare = if heap.verify.is_some() { None } else { heap.registry.lock().take_spare() };
        let mutator = match spare {
            Some(mutator) => mutator,
            None => Self::make(heap)?,
        };
        let place = mutator.as_ptr();
        // SAFETY: the mutator is this thread's alone. What is not written is zero in a new one, or in one that was used as
        // its flush has left it: no bump has a run or a span.
        let m = unsafe {
            (&raw mut (*place).poll).write(Futex::new(0));
            (&raw mut (*place).barrier).write(AtomicU32::new(heap.verify.is_some() as u32));
            (&raw mut (*place).frames).write(Cell::new(core::ptr::null_mut()));
            (&raw mut (*place).state).write(Futex::new(0));
            (&raw mut (*place).thread).write(stack::thread_id());
            (&raw mut (*place).owner).write(AtomicUsize::new(thread_pointer()));
            (&raw mut (*place).stack_lowest).write(Cell::new(stack.end));
            (&raw mut (*place).stack).write(stack);
            (&raw mut (*place).whole).write(Cell::new(false));
            (&raw mut (*place).client).write_bytes(0, 1);
            &*place
        };
        if let Err(e) = thread::add(m) {
            m.owner.store(0, Ordering::Relaxed);
            // SAFETY: nobody else has seen it.
            unsafe { heap.registry.lock().keep(mutator, false) };
            return Err(e);
        }
        let mut registry = heap.registry.lock();
        m.next.set(registry.first);
        registry.first = m;
        registry.count += 1;
        Ok(mutator)
    }

    /// A mutator in memory of its own. Writing it as a whole would touch every bump's page.
    fn make(heap: &Heap) -> Result<NonNull<Mutator>, HeapError> {
        let memory = Reservation::new(heap.kernel, size_of::<Mutator>(), align_of::<Mutator>())?;
        memory.commit(0..size_of::<Mutator>())?;
        let place = memory.start() as *mut Mutator;
        // SAFETY: the memory is committed, aligned and ours alone.
        unsafe {
            (&raw mut (*place).heap).write(NonNull::from(heap));
            (&raw mut (*place).recent).write([const { Cell::new(empty_recent()) }; RECENT]);
            (&raw mut (*place).memory).write(Cell::new(Some(memory)));
            Ok(NonNull::new_unchecked(place))
        }
    }

    /// Detaches the thread: its unused cells go back to the heap, and it is no longer stopped or scanned.
    ///
    /// # Safety
    /// 1. `this` came from [`Mutator::attach`] on this thread, its heap exists, and it has not been detached.
    /// 2. It is not used afterwards.
    pub unsafe fn detach(this: NonNull<Mutator>) {
        // SAFETY: contract 1.
        let mutator = unsafe { this.as_ref() };
        let heap = mutator.heap();
        thread::remove(mutator);
        // A collector that waits for the registry's lock sees a mutator that is as good as stopped; one that holds it
        // ends first. Nothing of this thread's stack is needed any more, so it does not matter which stack it runs on.
        mutator.stack_lowest.set(mutator.stack.end);
        mutator.frames.set(core::ptr::null_mut());
        if !mutator.gate().is_blocked() {
            mutator.gate().block();
        }
        let mut registry = heap.registry.lock();
        mutator.owned().flush();
        let mut link = &raw mut registry.first;
        // SAFETY: the list holds attached mutators, and the registry's lock is held.
        unsafe {
            while *link != this.as_ptr() {
                link = (**link).next.as_ptr();
            }
            *link = mutator.next.get();
        }
        registry.count -= 1;
        mutator.owner.store(0, Ordering::Relaxed);
        // In verify mode none is used again, so that whoever uses it after this is told.
        // SAFETY: it has just left the list, and by contract 2 its thread uses it no more.
        unsafe { registry.keep(this, heap.verify.is_some()) };
    }
}
