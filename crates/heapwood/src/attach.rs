//! Attaching: a thread becomes a mutator of a heap, until what it was given is dropped, or for one call. Invariant: a thread is
//! attached to a heap at most once, the heap lives as long as it is, and it is as long as anybody has its mutator.

use crate::heap::{Heap, Inner};
use crate::mutator::Mutator;
use core::fmt;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::ops::Deref;
use core::ptr::NonNull;
use heapwood_gc::HeapError;
use std::sync::Arc;

impl Heap {
    /// Attaches the calling thread, until what is returned is dropped.
    ///
    /// A thread may be attached to several heaps: while it waits in one, to collect or to be stopped, it counts as stopped in
    /// all that it was attached to on this stack; inside [`Mutator::blocking`] it uses none of them. Where it allocates in one it
    /// answers the collections of all; using one for long without allocating, it polls the others.
    ///
    /// # Errors
    /// No memory for the mutator, or the system does not say where the thread's stack ends.
    ///
    /// # Panics
    /// If the thread is attached to this heap already: pass the [`Mutator`] on instead.
    pub fn attach(&self) -> Result<Attached, HeapError> {
        Attached::new(self.inner.clone())
    }

    /// Calls `f` with the calling thread's mutator; a thread that is not attached is for the call. For callbacks on threads that
    /// the program did not start, and for code that is not handed a mutator. (One that calls back often is attached faster if it
    /// keeps an [`Attached`] itself.)
    ///
    /// ```
    /// # use heapwood::{Config, Heap};
    /// # let heap = unsafe { Heap::new(Config::default()) }.unwrap();
    /// let theirs = heap.clone();
    /// let called_back = move || theirs.with_mutator(|m| *m.alloc(7u64)).unwrap();
    /// let thread = std::thread::spawn(called_back);
    /// assert_eq!(thread.join().unwrap(), 7);
    /// ```
    ///
    /// # Errors
    /// As [`Heap::attach`].
    pub fn with_mutator<R>(&self, f: impl FnOnce(&Mutator) -> R) -> Result<R, HeapError> {
        let Some(raw) = heapwood_gc::Mutator::here(&self.inner.heap) else {
            return Ok(f(&*self.attach()?));
        };
        // SAFETY: `here` says so.
        let user = unsafe { User::new(raw, self) };
        Ok(f(user.mutator()))
    }
}

/// A call that uses a mutator, whose [`Attached`] may be dropped meanwhile.
struct User<'h> {
    raw: NonNull<heapwood_gc::Mutator>,
    /// The heap is borrowed until the thread has left it.
    heap: PhantomData<&'h Heap>,
}

impl<'h> User<'h> {
    /// # Safety
    /// 1. The mutator is the calling thread's, which is attached to the heap.
    unsafe fn new(raw: NonNull<heapwood_gc::Mutator>, _: &'h Heap) -> Self {
        let user = User { raw, heap: PhantomData };
        let users = user.mutator().users();
        users.set(users.get() + ONE_USER);
        user
    }

    fn mutator(&self) -> &Mutator {
        // SAFETY: a Mutator is a gc::Mutator in all but name; the thread stays attached as long as there are users.
        unsafe { self.raw.cast::<Mutator>().as_ref() }
    }
}

/// What a user more adds to a mutator's number.
const ONE_USER: usize = 2;
/// In that number: who had attached the thread has dropped that, and its last user detaches it.
const LEFT: usize = 1;

impl Drop for User<'_> {
    fn drop(&mut self) {
        let users = self.mutator().users();
        users.set(users.get() - ONE_USER);
        if users.get() == LEFT {
            // SAFETY: it was given to this thread, and nobody has it any more; the heap is alive.
            drop(unsafe { heapwood_gc::Attached::from_raw(self.raw) });
        }
    }
}

/// The calling thread's attachment to a heap: a [`Mutator`] to borrow, until it is dropped.
pub struct Attached {
    /// Dropped first, unless a call still uses the mutator.
    raw: ManuallyDrop<heapwood_gc::Attached<'static>>,
    /// Keeps the heap alive.
    inner: Arc<Inner>,
}

impl Attached {
    pub(crate) fn new(inner: Arc<Inner>) -> Result<Self, HeapError> {
        let raw = match heapwood_gc::Mutator::attach(&inner.heap, None) {
            Err(error @ HeapError::AttachedAlready) => panic!("{error}"),
            attached => attached?,
        };
        // SAFETY: given just now, to this thread; `inner` keeps the heap longer.
        let raw = unsafe { heapwood_gc::Attached::from_raw(raw.into_raw()) };
        // SAFETY: `alloc` and `try_alloc` write the value before they commit, and nothing else here makes an object
        // of a mask's shape, or of a program's without a header.
        unsafe { raw.types().write_values_whole() };
        raw.client_word().set(Arc::as_ptr(&inner) as usize);
        Ok(Attached { raw: ManuallyDrop::new(raw), inner })
    }
}

impl Deref for Attached {
    type Target = Mutator;
    #[inline(always)]
    fn deref(&self) -> &Mutator {
        let raw: *const heapwood_gc::Mutator = &raw const **self.raw;
        // SAFETY: a Mutator is a gc::Mutator in all but name.
        unsafe { &*raw.cast::<Mutator>() }
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        // One that is kept in a thread-local value may be dropped after its thread was detached: then the mutator is gone.
        let here = heapwood_gc::Mutator::here(&self.inner.heap);
        if here.is_some_and(|here| core::ptr::eq(here.as_ptr(), &raw const **self.raw)) {
            let users = self.users();
            if users.get() != 0 {
                return users.set(users.get() | LEFT);
            }
        }
        // SAFETY: it is not used afterwards.
        unsafe { ManuallyDrop::drop(&mut self.raw) };
    }
}

impl fmt::Debug for Attached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
