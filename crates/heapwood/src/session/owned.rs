//! Values in a session's heap that are dropped when their objects are dead: after a call, on the session's thread, and at the
//! latest with the session. So they need not be `Send`. Invariant: a value is dropped once, when no pointer can lead to it any more,
//! on the thread that has made it; a value that outlives its session among other threads is never dropped.

use super::gc::Gc;
use super::mutation::Mutation;
use super::seat::Seat;
use crate::mutator::Mutator;
use crate::shared::Shared;
use crate::trace::{Trace, TypeMap};
use core::cell::Cell;
use core::fmt;
use core::mem::ManuallyDrop;
use core::ops::Deref;
use core::ptr::NonNull;
use heapwood_gc::{FinalizeOrder, FinalizerQueue};

/// An object that owns its value: a `String`, a file, an `Rc`; made by [`Mutation::alloc_owned`]. The value is of any type that is
/// `'static`, so it holds no pointer of a session.
#[repr(transparent)]
pub struct Owned<T> {
    value: ManuallyDrop<T>,
}

// SAFETY: a `'static` value holds no pointer of a session; it is dropped by its queue, and needs no other drop.
unsafe impl<T: 'static> Trace for Owned<T> {
    const MAP: TypeMap = TypeMap::NO_POINTERS;
}

// SAFETY: a shared reference gives shared references to the value alone.
unsafe impl<T: Sync> Shared for Owned<T> {}

impl<T> Deref for Owned<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: fmt::Debug> fmt::Debug for Owned<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// Drops the value of a dead object.
type DropFn = unsafe fn(*mut u8);

/// # Safety
/// 1. The object is an `Owned<T>` whose value was not dropped, and nobody uses it any more.
unsafe fn drop_value<T>(object: *mut u8) {
    // SAFETY: contract 1.
    unsafe { object.cast::<T>().drop_in_place() };
}

impl Mutator {
    /// The number of the queue of a session's values, in the third word of the client's room; 0 before there is one.
    fn values(&self) -> &Cell<usize> {
        // SAFETY: a word of the mutator's own thread, to which the mutator is confined; it is zero at first.
        unsafe { &*self.raw().client().get().cast::<Cell<usize>>().add(2) }
    }
}

impl<'gc> Mutation<'gc> {
    /// Allocates an object that owns `value`. The value is dropped after a call in which, or before which, its object was found dead;
    /// or with the session. In a [`SessionHeap`](super::SessionHeap) a value to which another session leads when this one ends is
    /// never dropped.
    ///
    /// ```
    /// #![forbid(unsafe_code)]
    /// use heapwood::session::{Gc, GcCell, Owned, Session};
    /// use heapwood::{Config, Rootable};
    /// use std::rc::Rc;
    ///
    /// type Names<'gc> = GcCell<Option<Gc<'gc, Owned<Rc<String>>>>>;
    /// let name = Rc::new(String::from("Ada"));
    /// let mut session = Session::<Rootable![Names<'_>]>::new(Config::default(), |m| {
    ///     GcCell::new(Some(m.alloc_owned(name.clone())))
    /// })?;
    /// assert_eq!(Rc::strong_count(&name), 2);
    /// session.mutate(|m, names| names.set(m, None));
    /// session.collect();
    /// assert_eq!(Rc::strong_count(&name), 1);
    /// # Ok::<(), heapwood::Error>(())
    /// ```
    ///
    /// # Panics
    /// As [`Mutation::alloc`]; or there is no memory for the entry. [`Mutation::try_alloc_owned`] returns an error instead.
    pub fn alloc_owned<T: 'static>(&self, value: T) -> Gc<'gc, Owned<T>> {
        match self.try_alloc_owned(value) {
            Ok(object) => object,
            Err((error, _)) => panic!("{error}"),
        }
    }

    /// The same.
    ///
    /// # Errors
    /// The value comes back if there is no room for the object, or no memory for the entry.
    pub fn try_alloc_owned<T: 'static>(&self, value: T) -> Result<Gc<'gc, Owned<T>>, (crate::Error, T)> {
        let m = self.mutator();
        let queue = match m.values().get() {
            0 => match m.raw().heap().new_finalizer_queue() {
                Ok(queue) => {
                    m.values().set(queue.to_bits() as usize);
                    queue
                }
                Err(error) => return Err((error.into(), value)),
            },
            bits => FinalizerQueue::from_bits(bits as u64),
        };
        let mut value = ManuallyDrop::new(value);
        // SAFETY: the value is in the object from now on, or comes back, not both.
        let object = match m.try_alloc(Owned { value: unsafe { core::ptr::read(&value) } }) {
            Ok(object) => object,
            // SAFETY: no object has it.
            Err(error) => return Err((error.into(), unsafe { ManuallyDrop::take(&mut value) })),
        };
        let start = NonNull::new(crate::Gc::as_ptr(object).cast::<u8>()).expect("a Gc is not null");
        let tag = drop_value::<T> as DropFn as usize;
        // It leads to nothing, so no order is wanted.
        match m.raw().finalize(start, queue, FinalizeOrder::AtOnce, tag) {
            // SAFETY: this call's heap has made it just now.
            Ok(_) => Ok(unsafe { Gc::new(object) }),
            // SAFETY: nobody will know of the object.
            Err(error) => Err((error.into(), unsafe { ManuallyDrop::take(&mut value) })),
        }
    }
}

/// What a session knows of its values.
pub(super) struct Values {
    /// Collections that had ended at the last look.
    seen: Cell<u64>,
    /// No other session has a part in the heap.
    are_all: bool,
}

impl Values {
    /// The values of a session, whose heap no other session has a part in if they `are_all`.
    pub(super) fn new(are_all: bool) -> Self {
        Values { seen: Cell::new(0), are_all }
    }

    /// Drops the values of objects that a collection has found dead since the last look.
    #[inline]
    pub(super) fn drop_dead(&self, seat: &Seat) {
        let collections = seat.heap().collections();
        if self.seen.replace(collections) != collections {
            drop_queued(seat);
        }
    }

    /// Drops the values at the end of the session.
    pub(super) fn end(&self, seat: &Seat) {
        let Some(visit) = seat.enter_if_here() else { return };
        let bits = visit.mutator().values().get();
        if bits == 0 {
            return;
        }
        if self.are_all {
            // Nothing can use an object of the heap any more.
            let _ = seat.heap().finalize_all();
        }
        drop(visit);
        drop_queued(seat);
        let _ = seat.heap().end_finalizer_queue(FinalizerQueue::from_bits(bits as u64));
    }
}

/// Drops the values on the queue, each in a visit of its own: so that no collection frees its object meanwhile.
#[cold]
fn drop_queued(seat: &Seat) {
    while let Some(visit) = seat.enter_if_here() {
        let m = visit.mutator();
        let queue = match m.values().get() {
            0 => return,
            bits => FinalizerQueue::from_bits(bits as u64),
        };
        let Ok(Some(taken)) = m.raw().next_finalized(queue) else { return };
        let object = taken.object.expect("objects alone are registered");
        // SAFETY: `try_alloc_owned` registered it with such a function.
        let drop = unsafe { core::mem::transmute::<usize, DropFn>(taken.tag) };
        // SAFETY: it was dead, and each entry comes once; nothing that comes back leads to it.
        unsafe { drop(object.as_ptr()) };
    }
}
