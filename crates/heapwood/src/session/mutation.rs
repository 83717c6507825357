//! Access to a session's heap. Invariant: a `Mutation<'gc>` exists only inside one call of a session's, and makes
//! pointers of that brand alone.

use crate::access::{Access, sealed};
use crate::gc::{Brand, Gc};
use crate::gc_str::GcStr;
use crate::mutator::Mutator;
use crate::slice::Slice;
use crate::trace::{NoPointers, Trace};
use crate::weak::{Ephemeron, Weak};
use crate::weak_map::{WeakMap, WeakSet};
use core::fmt;
use core::hash::Hash;
use heapwood_gc::AllocError;

impl sealed::Sealed for Mutation<'_> {}
impl<'gc> Access<'gc> for Mutation<'gc> {
    #[inline(always)]
    fn mutator(&self, _: sealed::Token) -> &Mutator {
        &self.mutator
    }

    #[inline(always)]
    fn is_collection_due(&self) -> bool {
        self.mutator.raw().is_collection_due()
    }
}

/// Access to a session's heap, inside one call of [`Session::mutate`](super::Session::mutate). What it allocates lives at least
/// until that returns.
#[repr(transparent)]
pub struct Mutation<'gc> {
    _brand: Brand<'gc>,
    mutator: Mutator,
}

impl<'gc> Mutation<'gc> {
    /// # Safety
    /// 1. Nothing is collected while `'gc` lasts.
    /// 2. `'gc` is a lifetime of its own: no pointer of another heap has it.
    #[inline(always)]
    pub(super) unsafe fn branded(mutator: &Mutator) -> &'gc Self {
        // SAFETY: the type is transparent; the mutator lives as long as the attachment, which outlives `'gc` (contract 1).
        unsafe { &*(&raw const *mutator).cast() }
    }

    /// Allocates an object.
    ///
    /// # Panics
    /// If there is no memory, or the heap's limit is met. A collection does not come before the call of `mutate` has ended: a loop
    /// that allocates a lot [looks](Mutation::is_collection_due) whether it should return.
    #[inline(always)]
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn alloc<T: Trace>(&self, value: T) -> Gc<'gc, T> {
        Access::alloc(self, value)
    }

    /// Allocates an object.
    ///
    /// # Errors
    /// No memory, or the limit is met; when `mutate` has returned there may be room again.
    #[inline]
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn try_alloc<T: Trace>(&self, value: T) -> Result<Gc<'gc, T>, AllocError> {
        Access::try_alloc(self, value)
    }

    /// Allocates a slice of `len` elements, each of which `element` returns for its index.
    ///
    /// # Panics
    /// As [`alloc`](Mutation::alloc).
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn alloc_slice<T: Trace>(&self, len: usize, element: impl FnMut(usize) -> T) -> Gc<'gc, Slice<T>> {
        Access::alloc_slice(self, len, element)
    }

    /// The same.
    ///
    /// # Errors
    /// As [`try_alloc`](Mutation::try_alloc).
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn try_alloc_slice<T: Trace>(
        &self,
        len: usize,
        element: impl FnMut(usize) -> T,
    ) -> Result<Gc<'gc, Slice<T>>, AllocError> {
        Access::try_alloc_slice(self, len, element)
    }

    /// Allocates a copy of `elements`.
    ///
    /// # Panics
    /// As [`alloc`](Mutation::alloc).
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn alloc_copy<T: NoPointers + Copy>(&self, elements: &[T]) -> Gc<'gc, Slice<T>> {
        Access::alloc_copy(self, elements)
    }

    /// Allocates a copy of a text.
    ///
    /// # Panics
    /// As [`alloc`](Mutation::alloc).
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn alloc_str(&self, text: &str) -> Gc<'gc, GcStr> {
        Access::alloc_str(self, text)
    }

    /// Makes a weak reference.
    ///
    /// # Panics
    /// As [`alloc`](Mutation::alloc); so the others.
    pub fn weak<T>(&self, object: Gc<'gc, T>) -> Weak<'gc, T> {
        Weak::new(self, object)
    }

    /// Makes an ephemeron.
    pub fn ephemeron<K, V>(&self, key: Gc<'gc, K>, value: Gc<'gc, V>) -> Ephemeron<'gc, K, V> {
        Ephemeron::new(self, key, value)
    }

    /// Makes an empty weak map.
    pub fn weak_map<K, V>(&self) -> WeakMap<'gc, K, V> {
        WeakMap::new(self)
    }

    /// Makes an empty weak set.
    pub fn weak_set<T: Hash + Eq>(&self) -> WeakSet<'gc, T> {
        WeakSet::new(self)
    }

    /// The object, for as long as the pointer itself may be used.
    #[inline]
    pub fn get<T>(&self, object: Gc<'gc, T>) -> &'gc T {
        // SAFETY: nothing is collected while `'gc` lasts, and a `Gc` of this brand leads to a live object.
        unsafe { &*Gc::as_ptr(object) }
    }

    /// Whether a collection has come due since the call began. Then a long computation, such as an interpreter's loop, notes
    /// where it is and returns, so that the heap does not grow beyond what it should.
    #[inline]
    pub fn is_collection_due(&self) -> bool {
        Access::is_collection_due(self)
    }

    /// Tells the heap of memory outside it that its objects hold, as [`Mutator::external`].
    ///
    /// # Errors
    /// As there.
    pub fn external(&self, change: isize) -> Result<(), AllocError> {
        self.mutator.external(change)
    }
}

impl fmt::Debug for Mutation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mutation").finish_non_exhaustive()
    }
}
