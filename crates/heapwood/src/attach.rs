//! Attaching: a thread becomes a mutator of a heap, until its [`Attached`] is dropped, or for one call. Invariant: a
//! thread is attached to a heap at most once. It stays attached as long as anyone uses its mutator, and the heap lives
//! as long as a thread is attached.

use crate::heap::{Heap, Inner};
use crate::mutator::Mutator;
use core::fmt;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::ops::Deref;
use core::ptr::NonNull;
use heapwood_gc::{HeapError, StackGiven};
use std::sync::Arc;

impl Heap {
    /// Attaches the calling thread until the returned value is dropped.
    ///
    /// A thread may be attached to several heaps. While it waits in one of them, to collect or to be stopped, it counts
    /// as stopped in all of them. Inside [`Mutator::blocking`] it uses none of them. An allocation in one heap answers
    /// the collections of all. A thread that uses one heap for long without allocating polls the others.
    ///
    /// # Errors
    /// The thread is attached to this heap already: pass the [`Mutator`] on, or use [`Heap::with_mutator`]. No memory for the mutator, or
    /// the system does not say where the thread's stack ends.
    pub fn attach(&self) -> Result<Attached, HeapError> {
        Attached::new(self.inner.clone(), StackGiven::Own)
    }

    /// Calls `f` with the calling thread's mutator. A thread that is not attached is attached for the call. For
    /// callbacks on threads that the program did not start, and for code without access to a mutator. A thread that
    /// calls often is faster if it keeps an [`Attached`].
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
    /// As [`Heap::attach`], where the thread is not attached.
    pub fn with_mutator<R>(&self, f: impl FnOnce(&Mutator) -> R) -> Result<R, HeapError> {
        let Some(raw) = heapwood_gc::Mutator::here(&self.inner.heap) else {
            return Ok(f(&*self.attach()?));
        };
        // SAFETY: `here` found the thread attached.
        let user = unsafe { User::new(raw, self) };
        Ok(f(user.mutator()))
    }
}

/// A call that uses a mutator. The [`Attached`] may be dropped during the call.
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
        // SAFETY: a Mutator is a transparent gc::Mutator. The thread stays attached as long as there are users.
        unsafe { self.raw.cast::<Mutator>().as_ref() }
    }
}

/// One user, in a mutator's count of users.
const ONE_USER: usize = 2;
/// Flag in that count: the [`Attached`] was dropped, so the last user detaches the thread.
const LEFT: usize = 1;

impl Drop for User<'_> {
    fn drop(&mut self) {
        let users = self.mutator().users();
        users.set(users.get() - ONE_USER);
        if users.get() == LEFT {
            // SAFETY: the mutator belongs to this thread, and has no user left. The heap is alive.
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
    pub(crate) fn new(inner: Arc<Inner>, stack: StackGiven) -> Result<Self, HeapError> {
        let raw = heapwood_gc::Mutator::attach_on(&inner.heap, stack)?;
        // SAFETY: `attach` returned it to this thread just now, and `inner` keeps the heap alive for longer.
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
        // SAFETY: a Mutator is a transparent gc::Mutator.
        unsafe { &*raw.cast::<Mutator>() }
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        // A thread-local `Attached` may be dropped after its thread was detached. Then the mutator is gone.
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
