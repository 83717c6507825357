//! A pointer in an object that may change. Every change goes through the write barrier and is one store, so a
//! concurrent collector sees the old pointer or the new one. Stores release and loads acquire: a thread that reads a
//! pointer sees the object as it was when the pointer was stored.

use crate::access::Access;
use crate::checked;
use crate::gc::Gc;
use crate::shared::Shared;
use crate::trace::{Trace, TypeMap};
use core::cell::Cell;
use core::fmt;
use core::marker::PhantomData;
use core::ptr::NonNull;
use core::sync::atomic::AtomicUsize;
use heapwood_heap::{Address, publication};

pub(crate) mod sealed {
    pub trait Sealed {}
    impl<T> Sealed for super::Gc<'_, T> {}
    impl<T> Sealed for Option<super::Gc<'_, T>> {}
}

/// The content of a [`GcCell`]: a [`Gc`], [`Weak`](crate::Weak), [`Ephemeron`](crate::Ephemeron), [`WeakMap`](crate::WeakMap) or
/// [`WeakSet`](crate::WeakSet), or an `Option` of one. It is one word, so that a change is one store. Other crates name it in bounds, and
/// cannot implement it.
#[diagnostic::on_unimplemented(
    message = "a `GcCell` cannot hold `{Self}`: it holds one pointer",
    label = "neither a `Gc` or something weak, nor an `Option` of one",
    note = "an enum or a struct that changes lies in an object of its own: `GcCell<Gc<Value>>`, set to a new one; or the enum lies in \
            the object, and cells in its variants",
    note = "plain data that changes, such as a `u64`, lies in a `Cell`, or in an atomic where threads share it",
    note = "several pointers have a cell each: `(GcCell<Gc<A>>, GcCell<Gc<B>>)`"
)]
pub trait CellValue: sealed::Sealed + Trace + Copy {
    #[doc(hidden)]
    fn into_word(self) -> usize;
    /// # Safety
    /// 1. `word` came from `into_word` of the same type.
    #[doc(hidden)]
    unsafe fn from_word(word: usize) -> Self;
}

/// The content of a [`GcCell`] whose pointers have this brand.
pub trait Branded<'gc>: sealed::Sealed {}

impl<'gc, T> Branded<'gc> for Gc<'gc, T> {}
impl<'gc, T> Branded<'gc> for Option<Gc<'gc, T>> {}

impl<T> CellValue for Gc<'_, T> {
    #[inline(always)]
    fn into_word(self) -> usize {
        Gc::as_ptr(self) as usize
    }
    #[inline(always)]
    unsafe fn from_word(word: usize) -> Self {
        // SAFETY: the word was made from a Gc, which is never null and points to a live object (contract 1).
        unsafe { Gc::from_raw(NonNull::new_unchecked(word as *mut T)) }
    }
}

impl<T> CellValue for Option<Gc<'_, T>> {
    #[inline(always)]
    fn into_word(self) -> usize {
        self.map_or(0, CellValue::into_word)
    }
    #[inline(always)]
    unsafe fn from_word(word: usize) -> Self {
        // SAFETY: a word that is not 0 was made from a Gc (contract 1).
        if word == 0 { None } else { Some(unsafe { Gc::from_word(word) }) }
    }
}

/// A changeable pointer in an object.
///
/// ```
/// # use heapwood::{Config, Gc, GcCell, Heap, Trace};
/// #[derive(Trace)]
/// struct Node {
///     next: GcCell<Option<Gc<Node>>>,
/// }
/// # let heap = unsafe { Heap::new(Config::default()) }.unwrap();
/// # let m = heap.attach().unwrap();
/// let node = m.alloc(Node { next: GcCell::new(None) });
/// node.next.set(&m, Some(node));
/// assert!(Gc::ptr_eq(node.next.get().unwrap(), node));
/// ```
///
/// A weak reference that changes lies in a cell, too, for it is an object that something must lead to:
///
/// ```
/// # use heapwood::{Config, Gc, GcCell, Heap, Trace, Weak};
/// #[derive(Trace)]
/// struct Window {
///     children: GcCell<Option<Gc<Window>>>,
///     parent: GcCell<Option<Weak<Window>>>,
/// }
/// # let heap = unsafe { Heap::new(Config::default()) }.unwrap();
/// # let m = heap.attach().unwrap();
/// let child = m.alloc(Window { children: GcCell::new(None), parent: GcCell::new(None) });
/// let parent = m.alloc(Window { children: GcCell::new(Some(child)), parent: GcCell::new(None) });
/// child.parent.set(&m, Some(m.weak(parent)));
/// m.collect();
/// assert!(Gc::ptr_eq(child.parent.get().unwrap().get(&m).unwrap(), parent));
/// child.parent.set(&m, None);
/// ```
#[repr(transparent)]
pub struct GcCell<P: CellValue> {
    word: AtomicUsize,
    /// Like a `Cell`: invariant, and not `Sync`.
    _marker: PhantomData<Cell<P>>,
}

// SAFETY: the word holds a pointer, changes in one store, and `set` goes through the barrier.
unsafe impl<P: CellValue> Trace for GcCell<P> {
    const MAP: TypeMap = TypeMap::POINTER;
}

// SAFETY: the cell is an atomic word, and its target is Shared.
unsafe impl<P: CellValue + Shared> Shared for GcCell<P> {}

impl<P: CellValue> GcCell<P> {
    /// A cell for a new object.
    #[inline]
    pub fn new(value: P) -> Self {
        GcCell { word: AtomicUsize::new(value.into_word()), _marker: PhantomData }
    }

    /// The pointer.
    #[inline]
    pub fn get(&self) -> P {
        // SAFETY: only words of this type's pointers are ever stored.
        unsafe { P::from_word(publication::load(&self.word)) }
    }

    /// Stores `value`. `m` must be of the heap that the cell's object and the value are in.
    #[inline]
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn set<'gc>(&self, m: &impl Access<'gc>, value: P)
    where
        P: Branded<'gc>,
    {
        let (m, value) = (m.mutator(), value.into_word());
        checked::store(m.raw(), self.word.as_ptr() as usize, value);
        // SAFETY: the slot is a word of an object, or of a value that is not yet in the heap; the value is a
        // pointer it may hold.
        unsafe { m.raw().barrier().write_inside(self.word.as_ptr(), Address::new(value)) };
    }

    /// Stores `value` and returns the old pointer.
    #[inline]
    pub fn replace<'gc>(&self, m: &impl Access<'gc>, value: P) -> P
    where
        P: Branded<'gc>,
    {
        let old = self.get();
        self.set(m, value);
        old
    }
}

impl<P: CellValue + Default> Default for GcCell<P> {
    fn default() -> Self {
        Self::new(P::default())
    }
}

impl<P: CellValue> From<P> for GcCell<P> {
    fn from(value: P) -> Self {
        Self::new(value)
    }
}

impl<P: CellValue + fmt::Debug> fmt::Debug for GcCell<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("GcCell").field(&self.get()).finish()
    }
}
