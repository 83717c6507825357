//! Weak references in a session. Invariant: what one returns is alive, and stays so for the call.

use super::gc::{Brand, Gc};
use super::mutation::Mutation;
use crate::gc_cell::{Pointer, sealed};
use crate::shared::Shared;
use crate::trace::{Trace, TypeMap};
use core::fmt;
use core::marker::PhantomData;

/// A reference to an object that does not keep it alive; made by [`Mutation::weak`]. Once nothing but such references leads to the
/// object, a collection, which comes between two calls, clears them.
///
/// It is an object itself, and lives as a [`Gc`]'s does.
#[repr(transparent)]
pub struct Weak<'gc, T>(crate::Weak<T>, Brand<'gc>);

impl<'gc> Mutation<'gc> {
    /// Makes a weak reference to `object`.
    ///
    /// # Panics
    /// As [`Mutation::alloc`].
    pub fn weak<T>(&self, object: Gc<'gc, T>) -> Weak<'gc, T> {
        Weak(self.mutator().weak(object.inner()), PhantomData)
    }
}

impl<'gc, T> Weak<'gc, T> {
    /// The object; `None` if it is dead.
    #[inline]
    pub fn get(self, m: &Mutation<'gc>) -> Option<Gc<'gc, T>> {
        // SAFETY: an object of this call's heap, alive.
        self.0.get(m.mutator()).map(|object| unsafe { Gc::new(object) })
    }

    /// Whether both are the same reference. Two that were made of one object are two.
    #[inline]
    pub fn ptr_eq(self, other: Self) -> bool {
        self.0.ptr_eq(other.0)
    }
}

impl<T> Clone for Weak<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Weak<'_, T> {}

// SAFETY: it is a `Weak`.
unsafe impl<T> Trace for Weak<'_, T> {
    const MAP: TypeMap = TypeMap::POINTER;
}

// SAFETY: who reads it on another thread gets what a `Gc` there would be.
unsafe impl<T: Shared> Shared for Weak<'_, T> {}

impl<T> sealed::Sealed for Weak<'_, T> {}
impl<T> sealed::Sealed for Option<Weak<'_, T>> {}

impl<T> Pointer for Weak<'_, T> {
    #[inline]
    fn into_word(self) -> usize {
        self.0.into_word()
    }
    #[inline]
    unsafe fn from_word(word: usize) -> Self {
        // SAFETY: contract 1.
        Weak(unsafe { crate::Weak::from_word(word) }, PhantomData)
    }
}

impl<T> Pointer for Option<Weak<'_, T>> {
    #[inline]
    fn into_word(self) -> usize {
        self.map_or(0, Weak::into_word)
    }
    #[inline]
    unsafe fn from_word(word: usize) -> Self {
        // SAFETY: a word that is not 0 was made from such a value (contract 1).
        (word != 0).then(|| unsafe { Weak::from_word(word) })
    }
}

impl<T> fmt::Debug for Weak<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Weak").finish_non_exhaustive()
    }
}
