//! A growable array in a session's heap: that of the plain door, with a brand of its own. Invariant: its array lies in the heap of its
//! brand, whatever its elements are; so an array of numbers has a brand, too.

use super::gc::{Brand, Gc};
use super::mutation::Mutation;
use crate::place::Slot;
use crate::slice::Slice;
use crate::trace::{Trace, TypeMap};
use core::cmp::Ordering;
use core::fmt;
use core::marker::PhantomData;
use heapwood_gc::AllocError;

/// A growable array in a session's heap, as a field of an object, or an object of its own; see [`crate::GcVec`].
///
/// ```
/// #![forbid(unsafe_code)]
/// use heapwood::session::{Gc, GcVec, Session};
/// use heapwood::{Config, Rootable, Trace};
///
/// #[derive(Trace, Default)]
/// struct Node<'gc> {
///     edges: GcVec<'gc, Gc<'gc, Node<'gc>>>,
/// }
///
/// let mut session = Session::<Rootable![Node<'_>]>::new(Config::default(), |_| Node::default())?;
/// session.mutate(|m, root| (0..1000).for_each(|_| root.edges.push(m, m.alloc(Node::default()))));
/// session.collect();
/// assert_eq!(session.mutate(|_, root| root.edges.iter().filter(|node| node.edges.is_empty()).count()), 1000);
/// # Ok::<(), heapwood::Error>(())
/// ```
///
/// It is of one session, also if its elements are not:
///
/// ```compile_fail,E0521
/// # use heapwood::{Config, Rootable, session::{GcVec, Session}};
/// # let new = || Session::<Rootable![GcVec<'_, u64>]>::new(Config::default(), |_| GcVec::new()).unwrap();
/// let (mut one, mut other) = (new(), new());
/// one.mutate(|_, numbers| other.mutate(|m, _| numbers.push(m, 7)));
/// ```
#[repr(transparent)]
pub struct GcVec<'gc, T: 'gc>(crate::GcVec<T>, Brand<'gc>);

// SAFETY: it is a `GcVec`.
unsafe impl<T> Trace for GcVec<'_, T> {
    const MAP: TypeMap = <crate::GcVec<T> as Trace>::MAP;
}

/// Functions of the other `GcVec` that take its mutator.
macro_rules! with_a_mutation {
    ($($(#[$doc:meta])* $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?;)*) => {$(
        $(#[$doc])*
        #[inline]
        #[track_caller]
        pub fn $name(&self, m: &Mutation<'gc>, $($argument: $type),*) $(-> $result)? {
            self.0.$name(m.mutator(), $($argument),*)
        }
    )*};
}

impl<'gc, T> GcVec<'gc, T> {
    /// An empty one, which has no array yet.
    #[inline]
    pub const fn new() -> Self {
        GcVec(crate::GcVec::new(), PhantomData)
    }

    /// The number of elements.
    #[inline]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether it has none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// As many elements have room without another array.
    pub fn capacity(&self) -> usize {
        self.0.capacity()
    }
}

impl<'gc, T: Slot> GcVec<'gc, T> {
    /// An empty one with room.
    ///
    /// # Panics
    /// As [`Mutation::alloc`]; so do all functions that add elements.
    pub fn with_capacity(m: &Mutation<'gc>, capacity: usize) -> Self {
        GcVec(crate::GcVec::with_capacity(m.mutator(), capacity), PhantomData)
    }

    /// One of these elements.
    pub fn from_iter(m: &Mutation<'gc>, elements: impl IntoIterator<Item = T>) -> Self {
        GcVec(crate::GcVec::from_iter(m.mutator(), elements), PhantomData)
    }

    /// The element at `i`.
    #[inline]
    pub fn get(&self, i: usize) -> Option<T> {
        self.0.get(i)
    }

    /// The element at `i`.
    ///
    /// # Panics
    /// If there is none.
    #[inline]
    #[track_caller]
    pub fn at(&self, i: usize) -> T {
        self.0.at(i)
    }

    /// The first element.
    #[inline]
    pub fn first(&self) -> Option<T> {
        self.0.first()
    }

    /// The last element.
    #[inline]
    pub fn last(&self) -> Option<T> {
        self.0.last()
    }

    /// The elements, one by one. It may change meanwhile.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = T> + use<'_, 'gc, T> {
        self.0.iter()
    }

    with_a_mutation! {
        /// Makes room for `more` elements.
        reserve(more: usize);
        /// The same.
        ///
        /// # Errors
        /// As [`Mutation::try_alloc`]; the elements stay.
        try_reserve(more: usize) -> Result<(), AllocError>;
        /// Adds an element at the end.
        push(element: T);
        /// The same.
        ///
        /// # Errors
        /// As [`Mutation::try_alloc`]; the elements stay.
        try_push(element: T) -> Result<(), AllocError>;
        /// Takes the last element out.
        pop() -> Option<T>;
        /// Changes the element at `i`.
        ///
        /// # Panics
        /// If there is none.
        set(i: usize, element: T);
        /// Changes the element at `i`, and returns the old one.
        ///
        /// # Panics
        /// If there is none.
        replace(i: usize, element: T) -> T;
        /// Has two elements trade places.
        ///
        /// # Panics
        /// If there is one that is not there.
        swap(i: usize, j: usize);
        /// Puts an element before that at `i`.
        ///
        /// # Panics
        /// If `i` is more than the number of elements.
        insert(i: usize, element: T);
        /// Takes the element at `i` out; those behind it move up.
        ///
        /// # Panics
        /// If there is none.
        remove(i: usize) -> T;
        /// Takes the element at `i` out; the last one comes in its place.
        ///
        /// # Panics
        /// If there is none.
        swap_remove(i: usize) -> T;
        /// Leaves the first `len` elements.
        truncate(len: usize);
        /// Takes all elements out.
        clear();
        /// Adds elements at the end.
        extend(elements: impl IntoIterator<Item = T>);
        /// Adds copies of elements at the end.
        extend_from_slice(elements: &[T]);
        /// Leaves the first `len` elements, or adds copies of `element` up to there.
        resize(len: usize, element: T);
        /// Leaves those elements for which `keep` is true.
        retain(keep: impl FnMut(T) -> bool);
        /// Sorts them, stably.
        sort_by(compare: impl FnMut(&T, &T) -> Ordering);
    }

    /// Sorts them by a key, stably.
    pub fn sort_by_key<K: Ord>(&self, m: &Mutation<'gc>, key: impl FnMut(&T) -> K) {
        self.0.sort_by_key(m.mutator(), key);
    }

    /// Sorts them, stably.
    pub fn sort(&self, m: &Mutation<'gc>)
    where
        T: Ord,
    {
        self.0.sort(m.mutator());
    }

    /// A slice with a copy of the elements.
    pub fn to_slice(&self, m: &Mutation<'gc>) -> Gc<'gc, Slice<T>> {
        // SAFETY: this call's heap has made it just now.
        unsafe { Gc::new(self.0.to_slice(m.mutator())) }
    }
}

impl<T> Default for GcVec<'_, T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Slot + fmt::Debug> fmt::Debug for GcVec<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<T: Slot + PartialEq> PartialEq for GcVec<'_, T> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<T: Slot + PartialEq<U>, U, const N: usize> PartialEq<[U; N]> for GcVec<'_, T> {
    fn eq(&self, other: &[U; N]) -> bool {
        self.0 == *other
    }
}
