//! Values that are dropped when their objects are dead. The collector drops nothing: a dead object's value waits on a queue, and is
//! dropped where the program empties that, on a thread of its choice. A [`Finalized`] value lies in its object, so a reference to it
//! keeps it; a value that was given for another object ([`Mutator::finalize`]) lies outside the heap, and nobody can borrow it.
//! Invariant: a value is dropped once, after the last `Gc` of its object.

use crate::heap::{Heap, Inner};
use crate::mutator::Mutator;
use crate::shared::Shared;
use crate::trace::{Trace, TypeMap};
use crate::unbranded::Gc;
use core::fmt;
use core::mem::ManuallyDrop;
use core::ops::Deref;
use core::time::Duration;
use heapwood_gc::{FinalizeOrder, Finalized as Taken, FinalizerQueue, Refusal};
use std::os::fd::RawFd;
use std::sync::Arc;

/// An object that owns its value: a file, a buffer, a lock. The value is dropped after the object is dead, by
/// [`Heap::drop_finalized`] or [`DropQueue::drop_finalized`]. It may be of any type that another thread may drop; it holds no
/// [`Gc`], which would have to be traced: an object that refers to others holds a `Gc<Finalized<T>>` beside them.
///
/// ```
/// # use heapwood::{Config, Finalized, Gc, Heap, Trace};
/// #[derive(Trace)]
/// struct Port {
///     line: u64,
///     file: Gc<Finalized<std::fs::File>>,
/// }
///
/// # // SAFETY: this program keeps no `Gc` but on the stack.
/// # let heap = unsafe { Heap::new(Config::default()) }?;
/// # let m = heap.attach()?;
/// let file = m.alloc_finalized(std::fs::File::open("/dev/null")?).map_err(|(error, _)| error)?;
/// let port = m.alloc(Port { line: 1, file });
/// assert_eq!(port.file.metadata()?.len(), 0);
/// // When no port has the file any more, this closes it:
/// heap.drop_finalized();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[repr(transparent)]
pub struct Finalized<T> {
    value: ManuallyDrop<T>,
}

// SAFETY: a value that may be sent holds no `Gc`; it is dropped by its finaliser, and needs no other drop.
unsafe impl<T: Send + 'static> Trace for Finalized<T> {
    const MAP: TypeMap = TypeMap::NO_POINTERS;
}

// SAFETY: a shared reference gives shared references to the value alone.
unsafe impl<T: Sync> Shared for Finalized<T> {}

impl<T> Deref for Finalized<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: fmt::Debug> fmt::Debug for Finalized<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// Drops the value of a dead object.
///
/// # Safety
/// 1. The object is a `Finalized<T>` whose value was not dropped, and nobody uses it any more.
unsafe fn drop_value<T>(object: *mut u8) {
    // SAFETY: contract 1.
    unsafe { object.cast::<T>().drop_in_place() };
}

type DropFn = unsafe fn(*mut u8);

/// A value that waits outside the heap, behind the function that drops it with its box: one allocation, known by one word.
#[repr(C)]
struct Kept<T> {
    drop: DropFn,
    value: T,
}

/// Drops a value that waits outside the heap.
///
/// # Safety
/// 1. It is a `Kept<T>` that was boxed, and is known to nobody else.
unsafe fn drop_kept<T>(kept: *mut u8) {
    // SAFETY: contract 1.
    drop(unsafe { Box::from_raw(kept.cast::<Kept<T>>()) });
}

impl Mutator {
    /// Allocates an object that owns `value`, which is dropped by [`Heap::drop_finalized`] when the object is dead. May collect.
    ///
    /// # Errors
    /// The value comes back if there is no memory for an entry.
    ///
    /// # Panics
    /// As [`Mutator::alloc`], also inside [`Mutator::blocking`].
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn alloc_finalized<T: Send + 'static>(&self, value: T) -> Result<Gc<Finalized<T>>, (Refusal, T)> {
        self.alloc_for(FinalizerQueue::default(), value)
    }

    #[cfg_attr(debug_assertions, track_caller)]
    fn alloc_for<T: Send + 'static>(
        &self,
        queue: FinalizerQueue,
        value: T,
    ) -> Result<Gc<Finalized<T>>, (Refusal, T)> {
        let object = self.alloc(Finalized { value: ManuallyDrop::new(value) });
        let start = Gc::start(object);
        let tag = drop_value::<T> as DropFn as usize;
        // It leads to nothing, so no order is wanted.
        match self.raw().finalize(start, queue, FinalizeOrder::AtOnce, tag) {
            Ok(_) => Ok(object),
            // SAFETY: the object has the value, and nobody else will know of it.
            Err(error) => Err((error, unsafe { start.cast::<T>().read() })),
        }
    }

    /// Keeps `value` until the object is dead; then [`Heap::drop_finalized`] drops it, on a thread that the program chooses. The
    /// collector calls nothing. An object may have several; none keeps it alive. Nobody can use the value meanwhile: for that there is
    /// [`Mutator::alloc_finalized`]. A value with a [`Root`](crate::Root) of the object, or of one that leads to it, keeps the object
    /// for good: nothing names that mistake, but [`Stats::finalizers`](crate::Stats::finalizers) does not fall.
    ///
    /// ```
    /// # use heapwood::{Config, Heap};
    /// # use std::sync::Arc;
    /// # // SAFETY: this program keeps no `Gc` but on the stack.
    /// # let heap = unsafe { Heap::new(Config::default()) }?;
    /// # let m = heap.attach()?;
    /// let value = Arc::new(7);
    /// let object = m.alloc(7u64);
    /// m.finalize(object, value.clone()).map_err(|(error, _)| error)?;
    /// assert_eq!(Arc::strong_count(&value), 2);
    /// # drop(m);
    /// drop(heap);                     // with the heap at the latest
    /// assert_eq!(Arc::strong_count(&value), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The value comes back if the object lies in an arena, there is no memory for an entry, or inside
    /// [`Mutator::blocking`].
    pub fn finalize<O, T: Send + 'static>(&self, object: Gc<O>, value: T) -> Result<(), (Refusal, T)> {
        self.finalize_for(FinalizerQueue::default(), object, value)
    }

    fn finalize_for<O, T: Send + 'static>(
        &self,
        queue: FinalizerQueue,
        object: Gc<O>,
        value: T,
    ) -> Result<(), (Refusal, T)> {
        let start = Gc::start(object);
        let kept = Box::into_raw(Box::new(Kept { drop: drop_kept::<T>, value }));
        match self.raw().finalize_data(start, queue, kept as usize) {
            Ok(_) => Ok(()),
            // SAFETY: it was boxed above, and is known to nobody else.
            Err(error) => Err((error, unsafe { Box::from_raw(kept) }.value)),
        }
    }
}

impl Inner {
    /// Drops the value that has waited longest on a queue.
    pub(crate) fn drop_next(&self, queue: FinalizerQueue) -> Option<()> {
        // Data needs no mutator. Where there is none, one is attached for objects.
        let data = || self.heap.next_finalized_data(queue).ok().flatten();
        let taken = match heapwood_gc::Mutator::here(&self.heap) {
            // SAFETY: it is this thread's, and stays attached meanwhile. Inside a blocking region it gives no objects.
            Some(m) => match unsafe { m.as_ref() }.next_finalized(queue) {
                Ok(taken) => taken,
                Err(_) => data().map(|tag| Taken { object: None, tag }),
            },
            None => match data() {
                Some(tag) => Some(Taken { object: None, tag }),
                None if self.heap.finalizers().1 == 0 => None,
                None => return self.drop_next_attached(queue),
            },
        };
        taken.map(|taken| {
            // SAFETY: the entry is one of this file's, and was taken just now.
            unsafe { drop_taken(taken) }
        })
    }

    /// The same of a thread that is not attached.
    fn drop_next_attached(&self, queue: FinalizerQueue) -> Option<()> {
        let m = heapwood_gc::Mutator::attach(&self.heap, None).ok()?;
        // SAFETY: all objects of this heap are made by this crate, which writes values whole.
        unsafe { m.types().write_values_whole() };
        m.client_word().set(core::ptr::from_ref(self) as usize);
        let taken = m.next_finalized(queue).ok()??;
        // SAFETY: as above; the object is kept by this stack.
        unsafe { drop_taken(taken) };
        Some(())
    }
}

/// Drops what an entry stands for.
///
/// # Safety
/// 1. The entry was registered here, and taken once. An object's thread is attached.
unsafe fn drop_taken(taken: Taken) {
    match taken.object {
        Some(object) => {
            // SAFETY: `alloc_for` registered it with such a function (contract 1).
            let drop = unsafe {
                core::mem::transmute::<*const (), DropFn>(core::ptr::with_exposed_provenance(taken.tag))
            };
            // SAFETY: contract 1; it was dead, and nothing that comes back leads to it.
            unsafe { drop(object.as_ptr()) };
            // So that this stack keeps it up to here.
            core::hint::black_box(object);
        }
        None => {
            let kept = taken.tag as *mut u8;
            // SAFETY: `finalize_for` boxed it, with its function first, and each comes once.
            unsafe { kept.cast::<DropFn>().read()(kept) };
        }
    }
}

/// A queue of values whose objects are dead, beside the heap's own: for values that are dropped on a certain thread, or at a certain
/// time. What is registered for it when it goes is dropped by [`Heap::drop_finalized`].
///
/// ```
/// # use heapwood::{Config, DropQueue, Heap};
/// # use core::time::Duration;
/// # // SAFETY: this program keeps no `Gc` but on the stack.
/// # let heap = unsafe { Heap::new(Config::default()) }?;
/// # let m = heap.attach()?;
/// let files: DropQueue = heap.drop_queue()?;
/// let file = files.alloc(&m, std::fs::File::open("/dev/null")?).map_err(|(error, _)| error)?;
/// # assert_eq!(file.metadata()?.len(), 0);
/// // A thread that closes what nobody has any more, as long as the program wants:
/// let closer = std::thread::spawn(move || {
///     while files.wait(Some(Duration::from_millis(1))).is_ok_and(|waits| waits) {
///         files.drop_finalized();
///     }
/// });
/// m.blocking(|| closer.join()).unwrap();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct DropQueue {
    inner: Arc<Inner>,
    queue: FinalizerQueue,
}

impl Heap {
    /// Makes a queue of values to drop.
    ///
    /// # Errors
    /// There are as many as there can be, or there is no memory.
    pub fn drop_queue(&self) -> Result<DropQueue, Refusal> {
        let queue = self.inner.heap.new_finalizer_queue()?;
        Ok(DropQueue { inner: self.inner.clone(), queue })
    }
}

impl DropQueue {
    /// As [`Mutator::alloc_finalized`], for this queue.
    ///
    /// # Errors
    /// As there.
    ///
    /// # Panics
    /// If the queue is another heap's; also as there.
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn alloc<T: Send + 'static>(&self, m: &Mutator, value: T) -> Result<Gc<Finalized<T>>, (Refusal, T)> {
        m.alloc_for(self.queue_of(m), value)
    }

    /// As [`Mutator::finalize`], for this queue.
    ///
    /// # Errors
    /// As there.
    ///
    /// # Panics
    /// If the queue is another heap's.
    pub fn finalize<O, T: Send + 'static>(
        &self,
        m: &Mutator,
        object: Gc<O>,
        value: T,
    ) -> Result<(), (Refusal, T)> {
        m.finalize_for(self.queue_of(m), object, value)
    }

    fn queue_of(&self, m: &Mutator) -> FinalizerQueue {
        assert!(
            core::ptr::eq(m.raw().heap(), &*self.inner.heap),
            "the queue is another heap's: make one of this heap"
        );
        self.queue
    }

    /// As [`Heap::drop_finalized`], of this queue.
    pub fn drop_finalized(&self) -> usize {
        core::iter::from_fn(|| self.inner.drop_next(self.queue)).count()
    }

    /// Waits until something is on the queue, at most so long; whether something is. An attached thread waits as in
    /// [`Mutator::blocking`]. Another thread may drop it first.
    ///
    /// # Errors
    /// In a hook or a trace function.
    pub fn wait(&self, at_most: Option<Duration>) -> Result<bool, Refusal> {
        self.inner.heap.wait_finalized(self.queue, at_most)
    }

    /// The queue's eventfd, which can be read after each collection that has queued something: for `poll` and its like. It does not
    /// block, and is closed with its queue. Read it, and then empty the queue.
    ///
    /// # Errors
    /// The system gives no descriptor.
    pub fn fd(&self) -> Result<RawFd, Refusal> {
        self.inner.heap.finalizer_fd(self.queue)
    }
}

impl fmt::Debug for DropQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("DropQueue").field(&self.queue).finish()
    }
}

impl Drop for DropQueue {
    fn drop(&mut self) {
        if self.inner.heap.end_finalizer_queue(self.queue).is_err() {
            self.inner.leave_queue(self.queue);
        }
    }
}
