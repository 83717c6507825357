//! Access to a heap, by the brand of its pointers. Invariant: who has access to pointers of a brand other than `'static` is inside
//! the call of a session that has made the brand.

use crate::attach::Attached;
use crate::gc::Gc;
use crate::gc_str::GcStr;
use crate::mutator::Mutator;
use crate::slice::Slice;
use crate::trace::{NoPointers, Trace};
use core::ptr::NonNull;
use heapwood_gc::AllocError;

pub(crate) mod sealed {
    pub trait Sealed {}

    /// Who has one is this crate: others cannot call what takes it, and so not reach the mutator of a session.
    pub struct Token(pub(super) ());
}

/// The mutator behind an access.
#[inline(always)]
pub(crate) fn mutator<'gc>(m: &(impl Access<'gc> + ?Sized)) -> &Mutator {
    m.mutator(sealed::Token(()))
}

/// The pointer with the brand of the access that has made it.
#[inline(always)]
fn branded<'gc, T>(object: Gc<'static, T>) -> Gc<'gc, T> {
    // SAFETY: the object was made just now, in the heap of the brand. In a session nothing is collected while `'gc` lasts.
    unsafe { Gc::from_raw(NonNull::new_unchecked(Gc::as_ptr(object))) }
}

/// Access to the heap whose pointers have the brand `'gc`: a [`Mutation`](crate::session::Mutation), or for `'static` a [`Mutator`]. Code
/// that takes any works with both kinds of heaps:
///
/// ```
/// use heapwood::session::{Gc, GcVec, Rootable, Session};
/// use heapwood::{Access, Config, Heap, Trace};
///
/// #[derive(Trace, Rootable)]
/// struct Numbers<'gc>(GcVec<'gc, Gc<'gc, u64>>);
///
/// fn squares<'gc>(m: &impl Access<'gc>, to: &Numbers<'gc>) {
///     (0..10).for_each(|number| to.0.push(m, m.alloc(number * number)));
/// }
///
/// let mut session = Session::<Numbers>::new(Config::default(), |_| Numbers(GcVec::new()))?;
/// session.mutate(|m, numbers| squares(m, numbers));
/// // SAFETY: `Gc`s are on the stack and in objects, here and in `squares`.
/// let heap = unsafe { Heap::new(Config::default()) }?;
/// let m = heap.attach()?;
/// squares(&m, &m.alloc(Numbers(GcVec::new())));
/// # Ok::<(), heapwood::HeapError>(())
/// ```
///
/// In a heap without a session what such code calls may collect. So it keeps pointers where that heap's promise
/// ([`Heap::new`](crate::Heap::new)) allows them, and not in a `Vec`, which is right in a session alone. An interpreter's stack of values is
/// best an array on the thread's stack in both: stores into it need no barrier.
pub trait Access<'gc>: sealed::Sealed {
    #[doc(hidden)]
    fn mutator(&self, _: sealed::Token) -> &Mutator;

    /// Allocates an object that holds `value`.
    ///
    /// # Panics
    /// If there is no memory, or the heap's limit is met.
    #[inline(always)]
    #[cfg_attr(debug_assertions, track_caller)]
    fn alloc<T: Trace>(&self, value: T) -> Gc<'gc, T> {
        branded(mutator(self).alloc(value))
    }

    /// Allocates an object that holds `value`.
    ///
    /// # Errors
    /// As [`Mutator::try_alloc`] and [`Mutation::try_alloc`](crate::session::Mutation::try_alloc).
    #[inline]
    #[cfg_attr(debug_assertions, track_caller)]
    fn try_alloc<T: Trace>(&self, value: T) -> Result<Gc<'gc, T>, AllocError> {
        mutator(self).try_alloc(value).map(branded)
    }

    /// Allocates a slice of `len` elements, each of which `element` returns for its index.
    ///
    /// # Panics
    /// As [`alloc`](Access::alloc).
    #[cfg_attr(debug_assertions, track_caller)]
    fn alloc_slice<T: Trace>(&self, len: usize, element: impl FnMut(usize) -> T) -> Gc<'gc, Slice<T>> {
        branded(mutator(self).alloc_slice(len, element))
    }

    /// The same.
    ///
    /// # Errors
    /// As [`try_alloc`](Access::try_alloc).
    #[cfg_attr(debug_assertions, track_caller)]
    fn try_alloc_slice<T: Trace>(
        &self,
        len: usize,
        element: impl FnMut(usize) -> T,
    ) -> Result<Gc<'gc, Slice<T>>, AllocError> {
        mutator(self).try_alloc_slice(len, element).map(branded)
    }

    /// Allocates a copy of `elements`.
    ///
    /// # Panics
    /// As [`alloc`](Access::alloc).
    #[cfg_attr(debug_assertions, track_caller)]
    fn alloc_copy<T: NoPointers + Copy>(&self, elements: &[T]) -> Gc<'gc, Slice<T>> {
        branded(mutator(self).alloc_copy(elements))
    }

    /// Allocates a copy of a text.
    ///
    /// # Panics
    /// As [`alloc`](Access::alloc).
    #[cfg_attr(debug_assertions, track_caller)]
    fn alloc_str(&self, text: &str) -> Gc<'gc, GcStr> {
        branded(mutator(self).alloc_str(text))
    }

    /// Whether a call of a session should return, so that a collection can come
    /// ([`Mutation::is_collection_due`](crate::session::Mutation::is_collection_due)). Never without a session: there it comes at once.
    #[inline(always)]
    fn is_collection_due(&self) -> bool {
        false
    }
}

impl sealed::Sealed for Mutator {}
impl Access<'static> for Mutator {
    #[inline(always)]
    fn mutator(&self, _: sealed::Token) -> &Mutator {
        self
    }
}

impl sealed::Sealed for Attached {}
impl Access<'static> for Attached {
    #[inline(always)]
    fn mutator(&self, _: sealed::Token) -> &Mutator {
        self
    }
}

impl<A: sealed::Sealed + ?Sized> sealed::Sealed for &A {}
impl<'gc, A: Access<'gc> + ?Sized> Access<'gc> for &A {
    #[inline(always)]
    fn mutator(&self, token: sealed::Token) -> &Mutator {
        (**self).mutator(token)
    }

    #[inline(always)]
    fn is_collection_due(&self) -> bool {
        (**self).is_collection_due()
    }
}
