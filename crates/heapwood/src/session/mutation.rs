//! A session's access to its heap during one call: it allocates. Invariant: the call's lifetime is the brand of all that it makes,
//! and what it takes has that brand, so no object refers to one of another call or heap. It stays with its thread.

use super::gc::{Brand, Gc};
use crate::gc_str::GcStr;
use crate::mutator::Mutator;
use crate::slice::Slice;
use crate::trace::{NoPointers, Trace};
use crate::with_tail::WithTail;
use core::fmt;
use heapwood_gc::AllocError;

/// What allocates and stores during one call of [`Session::mutate`](super::Session::mutate).
///
/// Functions that allocate take it as a parameter:
///
/// ```
/// use heapwood::session::{Gc, Mutation};
/// # #[derive(heapwood::Trace)]
/// # struct Tree<'gc>(Option<Gc<'gc, Tree<'gc>>>, Option<Gc<'gc, Tree<'gc>>>);
/// fn full<'gc>(m: &Mutation<'gc>, depth: u32) -> Gc<'gc, Tree<'gc>> {
///     let child = || (depth > 0).then(|| full(m, depth - 1));
///     m.alloc(Tree(child(), child()))
/// }
/// ```
///
/// Nothing that it does collects. What exceeds the budget of the heap is collected after the call.
///
/// It stays with its thread:
///
/// ```compile_fail,E0277
/// fn share<T: Sync>() {}
/// share::<heapwood::session::Mutation<'_>>();
/// ```
#[repr(transparent)]
pub struct Mutation<'gc>(Mutator, Brand<'gc>);

impl<'gc> Mutation<'gc> {
    #[inline(always)]
    pub(super) fn mutator(&self) -> &Mutator {
        &self.0
    }

    #[inline(always)]
    fn branded<T>(&self, object: crate::Gc<T>) -> Gc<'gc, T> {
        // SAFETY: this call's heap has made it just now.
        unsafe { Gc::new(object) }
    }

    /// Allocates an object that holds `value`.
    ///
    /// # Panics
    /// If there is no room under the heap's limit without a collection. [`Mutation::try_alloc`] returns an error instead.
    // `T: 'gc` binds the brands: see `GcCell::set`.
    #[inline(always)]
    pub fn alloc<T: Trace + 'gc>(&self, value: T) -> Gc<'gc, T> {
        self.branded(self.0.alloc(value))
    }

    /// Allocates an object that holds `value`.
    ///
    /// # Errors
    /// There is no room under the heap's limit or in its reservation without a collection, or the kernel has no memory. The session
    /// collects after this call.
    #[inline]
    pub fn try_alloc<T: Trace + 'gc>(&self, value: T) -> Result<Gc<'gc, T>, AllocError> {
        Ok(self.branded(self.0.try_alloc(value)?))
    }

    /// Allocates a slice of `len` elements; the one at `i` is `element(i)`.
    ///
    /// # Panics
    /// As [`Mutation::alloc`].
    pub fn alloc_slice<T: Trace + 'gc>(
        &self,
        len: usize,
        element: impl FnMut(usize) -> T,
    ) -> Gc<'gc, Slice<T>> {
        self.branded(self.0.alloc_slice(len, element))
    }

    /// Allocates a slice of `len` elements; the one at `i` is `element(i)`.
    ///
    /// # Errors
    /// As [`Mutation::try_alloc`].
    pub fn try_alloc_slice<T: Trace + 'gc>(
        &self,
        len: usize,
        element: impl FnMut(usize) -> T,
    ) -> Result<Gc<'gc, Slice<T>>, AllocError> {
        Ok(self.branded(self.0.try_alloc_slice(len, element)?))
    }

    /// Allocates a slice of what an iterator gives.
    ///
    /// ```
    /// # use heapwood::{Config, Rootable, session::Session};
    /// # let mut session = Session::<Rootable![u64]>::new(Config::default(), |_| 0)?;
    /// session.mutate(|m, _| {
    ///     let words = m.collect_slice("to be or not".split(' ').map(|word| m.alloc_str(word)));
    ///     assert_eq!(words.iter().map(|word| word.len()).sum::<usize>(), 9);
    /// });
    /// # Ok::<(), heapwood::Error>(())
    /// ```
    ///
    /// # Panics
    /// As [`Mutation::alloc`].
    pub fn collect_slice<T: Trace + 'gc>(&self, items: impl IntoIterator<Item = T>) -> Gc<'gc, Slice<T>> {
        // The elements wait outside the heap, where they are safe: an iterator need not know its length.
        let items: Vec<T> = items.into_iter().collect();
        let (len, mut items) = (items.len(), items.into_iter());
        self.alloc_slice(len, |_| items.next().expect("as many as were counted"))
    }

    /// Allocates a slice with a copy of `elements`, which hold no pointers.
    ///
    /// # Panics
    /// As [`Mutation::alloc`].
    pub fn alloc_copy<T: NoPointers + Copy + 'gc>(&self, elements: &[T]) -> Gc<'gc, Slice<T>> {
        self.branded(self.0.alloc_copy(elements))
    }

    /// Allocates a slice with a copy of `elements`, which hold no pointers.
    ///
    /// # Errors
    /// As [`Mutation::try_alloc`].
    pub fn try_alloc_copy<T: NoPointers + Copy + 'gc>(
        &self,
        elements: &[T],
    ) -> Result<Gc<'gc, Slice<T>>, AllocError> {
        Ok(self.branded(self.0.try_alloc_copy(elements)?))
    }

    /// Copies a text into the heap.
    ///
    /// # Panics
    /// As [`Mutation::alloc`].
    pub fn alloc_str(&self, text: &str) -> Gc<'gc, GcStr> {
        self.branded(self.0.alloc_str(text))
    }

    /// Copies a text into the heap.
    ///
    /// # Errors
    /// As [`Mutation::try_alloc`].
    pub fn try_alloc_str(&self, text: &str) -> Result<Gc<'gc, GcStr>, AllocError> {
        Ok(self.branded(self.0.try_alloc_str(text)?))
    }

    /// Allocates a header with `len` elements behind it; the one at `i` is `element(i)`.
    ///
    /// # Panics
    /// As [`Mutator::alloc_with_tail`].
    pub fn alloc_with_tail<H: Trace + 'gc, T: Trace + 'gc>(
        &self,
        header: H,
        len: usize,
        element: impl FnMut(usize) -> T,
    ) -> Gc<'gc, WithTail<H, T>> {
        self.branded(self.0.alloc_with_tail(header, len, element))
    }

    /// The same, with an error if there is no room.
    ///
    /// # Errors
    /// As [`Mutation::try_alloc`].
    ///
    /// # Panics
    /// If the header is too long, as [`Mutator::alloc_with_tail`] does.
    pub fn try_alloc_with_tail<H: Trace + 'gc, T: Trace + 'gc>(
        &self,
        header: H,
        len: usize,
        element: impl FnMut(usize) -> T,
    ) -> Result<Gc<'gc, WithTail<H, T>>, AllocError> {
        Ok(self.branded(self.0.try_alloc_with_tail(header, len, element)?))
    }

    /// Whether the call had better end: a collection is due, or another thread wants to collect. It costs one load.
    #[inline(always)]
    pub fn is_leave_wanted(&self) -> bool {
        self.0.raw().is_wanted_outside()
    }
}

impl fmt::Debug for Mutation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mutation").finish_non_exhaustive()
    }
}
