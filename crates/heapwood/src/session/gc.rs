//! A pointer to an object, during one call of `mutate`. Invariant: its lifetime `'gc` is that of the call, so nothing is collected
//! while it exists, wherever it lies; it is to its object what `&'gc T` is.

#[cfg(doc)]
use crate::by_id::ById;
use crate::gc_cell::{Pointer, sealed};
use crate::gc_str::GcStr;
use crate::shared::Shared;
use crate::slice::Slice;
use crate::trace::{Trace, TypeMap};
use core::borrow::Borrow;
use core::cell::Cell;
use core::cmp::Ordering;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::marker::PhantomData;
use core::ops::Deref;

/// Makes a type invariant in the brand.
pub(super) type Brand<'gc> = PhantomData<Cell<&'gc ()>>;

/// A pointer to a `T` in a session's heap, for one call of [`Session::mutate`](super::Session::mutate).
///
/// It may lie anywhere: in a `Vec`, a `Box`, a closure, another thread's stack. It compares and hashes as its object does;
/// [`Gc::ptr_eq`] and [`ById`] go by identity.
///
/// It is `Send` and `Sync` if its object is `Sync`, as a reference is. An object that changes by a [`GcCell`](super::GcCell) is not.
#[repr(transparent)]
pub struct Gc<'gc, T: 'gc>(crate::Gc<T>, Brand<'gc>);

// SAFETY: it gives shared references to the object, as `&T` does. Threads that use it end before the call, or it would not be lent to
// them; so nothing is collected meanwhile. To allocate or to store takes a mutation, which stays with its thread.
unsafe impl<T: Sync> Send for Gc<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Gc<'_, T> {}

impl<'gc, T> Gc<'gc, T> {
    /// A pointer with the brand of a call.
    ///
    /// # Safety
    /// 1. The object belongs to the heap of that call's session, and is alive.
    #[inline(always)]
    pub(super) unsafe fn new(object: crate::Gc<T>) -> Self {
        Gc(object, PhantomData)
    }

    #[inline(always)]
    pub(super) fn inner(self) -> crate::Gc<T> {
        self.0
    }

    // Functions, as those of `Rc`: a method would hide the object's own of the same name.

    /// The object, for as long as the call: `Gc::get(object)`.
    #[inline(always)]
    pub fn get(this: Self) -> &'gc T {
        // SAFETY: it is a live `T`, which is never borrowed mutably, until the call ends.
        unsafe { &*crate::Gc::as_ptr(this.0) }
    }

    /// The address of the object.
    #[inline]
    pub fn as_ptr(this: Self) -> *const T {
        crate::Gc::as_ptr(this.0)
    }

    /// Whether both point to the same object: `Gc::ptr_eq(a, b)`.
    #[inline]
    pub fn ptr_eq(this: Self, other: Self) -> bool {
        crate::Gc::ptr_eq(this.0, other.0)
    }
}

// SAFETY: it is a `Gc`.
unsafe impl<T> Trace for Gc<'_, T> {
    const MAP: TypeMap = TypeMap::POINTER;
}

// SAFETY: any thread may read a pointer, and its target is Shared.
unsafe impl<T: Shared> Shared for Gc<'_, T> {}

impl<T> sealed::Sealed for Gc<'_, T> {}
impl<T> sealed::Sealed for Option<Gc<'_, T>> {}

impl<T> Pointer for Gc<'_, T> {
    #[inline(always)]
    fn into_word(self) -> usize {
        self.0.into_word()
    }
    #[inline(always)]
    unsafe fn from_word(word: usize) -> Self {
        // SAFETY: contract 1.
        Gc(unsafe { crate::Gc::from_word(word) }, PhantomData)
    }
}

impl<T> Pointer for Option<Gc<'_, T>> {
    #[inline(always)]
    fn into_word(self) -> usize {
        self.map_or(0, Gc::into_word)
    }
    #[inline(always)]
    unsafe fn from_word(word: usize) -> Self {
        // SAFETY: a word that is not 0 was made from a Gc (contract 1).
        if word == 0 { None } else { Some(unsafe { Gc::from_word(word) }) }
    }
}

impl<T> Clone for Gc<'_, T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Gc<'_, T> {}

impl<T> Deref for Gc<'_, T> {
    type Target = T;
    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: PartialEq> PartialEq for Gc<'_, T> {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Eq> Eq for Gc<'_, T> {}

impl<T: PartialOrd> PartialOrd for Gc<'_, T> {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        (**self).partial_cmp(&**other)
    }
}

impl<T: Ord> Ord for Gc<'_, T> {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        (**self).cmp(&**other)
    }
}

impl<T: Hash> Hash for Gc<'_, T> {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl<T> Borrow<T> for Gc<'_, T> {
    fn borrow(&self) -> &T {
        self
    }
}

impl<T> Borrow<[T]> for Gc<'_, Slice<T>> {
    fn borrow(&self) -> &[T] {
        self
    }
}

impl Borrow<str> for Gc<'_, GcStr> {
    fn borrow(&self) -> &str {
        self
    }
}

impl<T> AsRef<T> for Gc<'_, T> {
    fn as_ref(&self) -> &T {
        self
    }
}

impl<'gc, T> IntoIterator for Gc<'gc, Slice<T>> {
    type Item = &'gc T;
    type IntoIter = core::slice::Iter<'gc, T>;
    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        Gc::get(self).iter()
    }
}

/// Shows the object. This does not end in a cyclic structure: implement `Debug` yourself there.
impl<T: fmt::Debug> fmt::Debug for Gc<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// Shows the object.
impl<T: fmt::Display> fmt::Display for Gc<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// Shows the address.
impl<T> fmt::Pointer for Gc<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
