//! A growable array in the heap: a length, and a `Gc` to the array of elements. Invariant: the first `len` places have values; those
//! behind are zero, so that what was taken out is not kept alive. Elements are copied in and out, and no reference to one exists; so
//! it may change at any time, also in a closure that it calls and while it is iterated.

use super::slots::Slots;
use crate::gc::Gc;
use crate::gc_cell::GcCell;
use crate::keep::keep_alive;
use crate::mutator::Mutator;
use crate::place::Slot;
use crate::slice::Slice;
use crate::trace::{Trace, TypeMap};
use core::cell::Cell;
use core::cmp::Ordering;
use core::fmt;
use core::mem::offset_of;
use heapwood_gc::AllocError;

/// A growable array in the heap, as a field of an object, or an object of its own: a `Gc<GcVec<T>>`.
///
/// Its functions take it by a shared reference, and need the [`Mutator`] where they change it.
///
/// ```
/// # use heapwood::{Config, Gc, GcVec, Heap, Trace};
/// #[derive(Trace, Default)]
/// struct Node {
///     edges: GcVec<Gc<Node>>,
/// }
/// # // SAFETY: this program keeps `Gc`s on the stack only.
/// # let heap = unsafe { Heap::new(Config::default()) }?;
/// # let m = heap.attach()?;
/// let (one, other) = (m.alloc(Node::default()), m.alloc(Node::default()));
/// one.edges.push(&m, other);
/// one.edges.extend(&m, [one, other]);
/// assert_eq!(one.edges.len(), 3);
/// assert!(one.edges.iter().filter(|&node| Gc::ptr_eq(node, other)).count() == 2);
/// # Ok::<(), heapwood::HeapError>(())
/// ```
///
/// **While it is iterated** it may change. The iterator has a position: it returns what is there when it gets there, and ends
/// when it is behind the last element of that moment. So a loop that pushes for each element never ends.
///
/// It belongs to one thread: it is not [`Shared`](crate::Shared).
///
/// ```compile_fail,E0277
/// fn share<T: heapwood::Shared>() {}
/// share::<heapwood::GcVec<u64>>();
/// ```
#[repr(C)]
pub struct GcVec<T> {
    slots: GcCell<Option<Gc<Slots<T>>>>,
    len: Cell<usize>,
}

// SAFETY: a cell and a number. Not `T: Trace`, as for `Gc`; what stores an element asks for it.
unsafe impl<T> Trace for GcVec<T> {
    const MAP: TypeMap = TypeMap::of_fields([(offset_of!(Self, slots), GcCell::<Option<Gc<Slots<T>>>>::MAP)]);
}

impl<T> GcVec<T> {
    /// An empty one, which has no array yet.
    #[inline]
    pub const fn new() -> Self {
        GcVec { slots: GcCell::new(None), len: Cell::new(0) }
    }

    /// The array, if there is one.
    #[inline(always)]
    fn slots(&self) -> Option<Gc<Slots<T>>> {
        // SAFETY: it belongs to one thread.
        unsafe { self.slots.get_own() }
    }

    /// The number of elements.
    #[inline]
    pub fn len(&self) -> usize {
        self.len.get()
    }

    /// Whether it has none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// As many elements have room without another array.
    pub fn capacity(&self) -> usize {
        self.slots().map_or(0, Slots::len)
    }
}

impl<T: Slot> GcVec<T> {
    /// An empty one with room. May collect.
    ///
    /// # Panics
    /// As [`Mutator::alloc`].
    pub fn with_capacity(m: &Mutator, capacity: usize) -> Self {
        let new = Self::new();
        new.reserve(m, capacity);
        new
    }

    /// One of these elements. May collect.
    ///
    /// # Panics
    /// As [`Mutator::alloc`].
    pub fn from_iter(m: &Mutator, elements: impl IntoIterator<Item = T>) -> Self {
        let new = Self::new();
        new.extend(m, elements);
        new
    }

    /// Makes room for `more` elements. May collect.
    ///
    /// # Panics
    /// As [`Mutator::alloc`].
    pub fn reserve(&self, m: &Mutator, more: usize) {
        if let Err(error) = self.try_reserve(m, more) {
            m.fail(error);
        }
    }

    /// Makes room for `more` elements. May collect.
    ///
    /// # Errors
    /// As [`Mutator::try_alloc`]; the elements stay.
    pub fn try_reserve(&self, m: &Mutator, more: usize) -> Result<(), AllocError> {
        match self.len().saturating_add(more) {
            needed if needed > self.capacity() => self.grow(m, needed).map(|_| ()),
            _ => Ok(()),
        }
    }

    /// A larger array with the same elements.
    #[cold]
    #[inline(never)]
    fn grow(&self, m: &Mutator, needed: usize) -> Result<Gc<Slots<T>>, AllocError> {
        let new = Slots::new(m, Slots::<T>::grown(self.capacity(), needed))?;
        if let Some(old) = self.slots() {
            // SAFETY: the elements have values, and room in the new array, to which nothing has come between.
            unsafe { Slots::fill(new, old, self.len()) };
        }
        self.slots.set(m, Some(new));
        Ok(new)
    }

    /// Adds an element at the end. May collect.
    ///
    /// # Panics
    /// As [`Mutator::alloc`].
    #[inline]
    pub fn push(&self, m: &Mutator, element: T) {
        if let Err(error) = self.try_push(m, element) {
            m.fail(error);
        }
    }

    /// Adds an element at the end. May collect.
    ///
    /// # Errors
    /// As [`Mutator::try_alloc`]; the elements stay.
    #[inline]
    pub fn try_push(&self, m: &Mutator, element: T) -> Result<(), AllocError> {
        let len = self.len();
        let slots = match self.slots() {
            Some(slots) if len < Slots::len(slots) => slots,
            _ => self.grow(m, len + 1)?,
        };
        // SAFETY: there is room.
        unsafe { Slots::store(m, slots, len, element) };
        self.len.set(len + 1);
        Ok(())
    }

    /// The element at `i`, if there is one.
    #[inline]
    pub fn get(&self, i: usize) -> Option<T> {
        if i >= self.len() {
            return None;
        }
        // SAFETY: the place has a value.
        self.slots().map(|slots| unsafe { Slots::load(slots, i) })
    }

    /// The array, of which place `i` has a value.
    #[inline]
    #[track_caller]
    fn with_element(&self, i: usize) -> Gc<Slots<T>> {
        match self.slots() {
            Some(slots) if i < self.len() => slots,
            _ => self.out_of_range(i),
        }
    }

    #[cold]
    #[inline(never)]
    #[track_caller]
    fn out_of_range(&self, i: usize) -> ! {
        panic!("there is no element {i}: the `GcVec` has {}", self.len())
    }

    /// The element at `i`.
    ///
    /// # Panics
    /// If there is none.
    #[inline]
    #[track_caller]
    pub fn at(&self, i: usize) -> T {
        // SAFETY: the place has a value.
        unsafe { Slots::load(self.with_element(i), i) }
    }

    /// Stores an element over the one at `i`.
    ///
    /// # Panics
    /// If there is none.
    #[inline]
    #[track_caller]
    pub fn set(&self, m: &Mutator, i: usize, element: T) {
        // SAFETY: the place has a value.
        unsafe { Slots::store(m, self.with_element(i), i, element) };
    }

    /// Stores an element over the one at `i`, and returns that.
    ///
    /// # Panics
    /// If there is none.
    #[inline]
    #[track_caller]
    pub fn replace(&self, m: &Mutator, i: usize, element: T) -> T {
        let old = self.at(i);
        self.set(m, i, element);
        old
    }

    /// Exchanges two elements.
    ///
    /// # Panics
    /// If there is one of them not.
    #[track_caller]
    pub fn swap(&self, m: &Mutator, i: usize, j: usize) {
        let (one, other) = (self.at(i), self.at(j));
        self.set(m, i, other);
        self.set(m, j, one);
    }

    /// The first element.
    #[inline]
    pub fn first(&self) -> Option<T> {
        self.get(0)
    }

    /// The last element.
    #[inline]
    pub fn last(&self) -> Option<T> {
        self.get(self.len().wrapping_sub(1))
    }

    /// Takes the last element away.
    #[inline]
    pub fn pop(&self, m: &Mutator) -> Option<T> {
        let i = self.len().checked_sub(1)?;
        let slots = self.slots()?;
        // SAFETY: the place has a value.
        let last = unsafe { Slots::load(slots, i) };
        self.len.set(i);
        // SAFETY: it is a place of the array.
        unsafe { Slots::clear(m, slots, i) };
        Some(last)
    }

    /// Puts an element in front of the one at `i`, or at the end if `i` is the length. May collect.
    ///
    /// # Panics
    /// If `i` is larger; and as [`Mutator::alloc`].
    #[track_caller]
    pub fn insert(&self, m: &Mutator, i: usize, element: T) {
        if i > self.len() {
            self.out_of_range(i);
        }
        self.push(m, element);
        for at in (i + 1..self.len()).rev() {
            self.set(m, at, self.at(at - 1));
        }
        self.set(m, i, element);
    }

    /// Takes the element at `i` away; those behind it move up.
    ///
    /// # Panics
    /// If there is none.
    #[track_caller]
    pub fn remove(&self, m: &Mutator, i: usize) -> T {
        let removed = self.at(i);
        for at in i + 1..self.len() {
            self.set(m, at - 1, self.at(at));
        }
        self.pop(m);
        removed
    }

    /// Takes the element at `i` away; the last one takes its place.
    ///
    /// # Panics
    /// If there is none.
    #[track_caller]
    pub fn swap_remove(&self, m: &Mutator, i: usize) -> T {
        let removed = self.at(i);
        if let Some(last) = self.pop(m)
            && i < self.len()
        {
            self.set(m, i, last);
        }
        removed
    }

    /// Takes all elements away but the first `len`. The room stays.
    pub fn truncate(&self, m: &Mutator, len: usize) {
        let all = self.len();
        let Some(slots) = self.slots().filter(|_| len < all) else { return };
        self.len.set(len);
        for i in len..all {
            // SAFETY: it is a place of the array.
            unsafe { Slots::clear(m, slots, i) };
        }
    }

    /// Takes all elements away. The room stays.
    pub fn clear(&self, m: &Mutator) {
        self.truncate(m, 0);
    }

    /// Adds elements at the end. May collect. The iterator may allocate, and use this `GcVec`.
    ///
    /// # Panics
    /// As [`Mutator::alloc`].
    pub fn extend(&self, m: &Mutator, elements: impl IntoIterator<Item = T>) {
        let elements = elements.into_iter();
        self.reserve(m, elements.size_hint().0);
        elements.for_each(|element| self.push(m, element));
    }

    /// Adds copies of elements at the end. May collect.
    ///
    /// # Panics
    /// As [`Mutator::alloc`].
    pub fn extend_from_slice(&self, m: &Mutator, elements: &[T]) {
        self.extend(m, elements.iter().copied());
    }

    /// Makes it `len` elements long: takes away what is too much, or adds copies of `element`. May collect.
    ///
    /// # Panics
    /// As [`Mutator::alloc`].
    pub fn resize(&self, m: &Mutator, len: usize, element: T) {
        self.truncate(m, len);
        self.extend(m, core::iter::repeat_n(element, len - self.len()));
    }

    /// Keeps the elements of which `keep` says so, in their order. What `keep` itself adds is asked about, too; what it takes away is
    /// gone.
    pub fn retain(&self, m: &Mutator, mut keep: impl FnMut(T) -> bool) {
        let (mut i, mut kept) = (0, 0);
        while let Some(element) = self.get(i) {
            if keep(element) && kept < self.len() {
                self.set(m, kept, element);
                kept += 1;
            }
            i += 1;
        }
        self.truncate(m, kept);
    }

    /// An iterator over the elements, by their positions.
    #[inline]
    pub fn iter(&self) -> GcVecIter<'_, T> {
        GcVecIter { vec: self, at: 0 }
    }

    /// A copy that does not change. May collect.
    ///
    /// # Panics
    /// As [`Mutator::alloc`].
    pub fn to_slice(&self, m: &Mutator) -> Gc<Slice<T>> {
        // SAFETY: all its places have values.
        unsafe { Slots::into_slice(self.copied(m)) }
    }

    /// An array of the elements.
    fn copied(&self, m: &Mutator) -> Gc<Slots<T>> {
        let copy = match Slots::new(m, self.len()) {
            Ok(copy) => copy,
            Err(error) => m.fail(error),
        };
        if let Some(slots) = self.slots() {
            // SAFETY: as many have values as the copy has places, which nothing has come between.
            unsafe { Slots::fill(copy, slots, self.len()) };
        }
        copy
    }

    /// Sorts the elements; equal ones keep their order. `compare` may allocate, and may change this `GcVec`: then the places that were
    /// there before and still are get what was sorted. If it panics the elements stay as they are.
    ///
    /// # Panics
    /// As [`Mutator::alloc`], and as `slice::sort_by` if `compare` is no order.
    pub fn sort_by(&self, m: &Mutator, mut compare: impl FnMut(&T, &T) -> Ordering) {
        // The standard sort works in ordinary memory. The copy, in the heap, keeps all alive that is there.
        let copy = self.copied(m);
        // SAFETY: all places of the copy have values, which never change.
        let mut sorted = unsafe { Slots::values(copy, Slots::len(copy)) }.to_vec();
        sorted.sort_by(&mut compare);
        let len = self.len();
        sorted.into_iter().take(len).enumerate().for_each(|(i, element)| self.set(m, i, element));
        keep_alive(copy);
    }

    /// Sorts the elements by a key. As [`GcVec::sort_by`].
    ///
    /// # Panics
    /// As that.
    pub fn sort_by_key<K: Ord>(&self, m: &Mutator, mut key: impl FnMut(&T) -> K) {
        self.sort_by(m, |one, other| key(one).cmp(&key(other)));
    }

    /// Sorts the elements. As [`GcVec::sort_by`].
    ///
    /// # Panics
    /// As that.
    pub fn sort(&self, m: &Mutator)
    where
        T: Ord,
    {
        self.sort_by(m, T::cmp);
    }
}

/// For text ([`GcString`](crate::GcString)), whose bytes are lent.
impl GcVec<u8> {
    /// The bytes. They may be lent as long as nobody but `extend_bytes` and `replace_by_first` changes them.
    #[inline]
    pub(crate) fn values(&self) -> &[u8] {
        match self.slots() {
            // SAFETY: the first `len` places have values, which those functions do not write again.
            Some(slots) => unsafe { Slots::values(slots, self.len()) },
            None => &[],
        }
    }

    /// Leaves the first `len` bytes, in another array.
    pub(crate) fn replace_by_first(&self, m: &Mutator, len: usize) {
        debug_assert!(len <= self.len());
        let shorter = match self.slots() {
            Some(slots) if len > 0 => {
                let shorter = match Slots::new(m, len) {
                    Ok(shorter) => shorter,
                    Err(error) => m.fail(error),
                };
                // SAFETY: as many have values, and nothing has come between.
                unsafe { Slots::fill(shorter, slots, len) };
                Some(shorter)
            }
            _ => None,
        };
        self.slots.set(m, shorter);
        self.len.set(len);
    }

    /// Adds bytes at the end, perhaps its own. May collect.
    pub(crate) fn extend_bytes(&self, m: &Mutator, bytes: &[u8]) {
        self.reserve(m, bytes.len());
        let len = self.len();
        if let Some(slots) = self.slots() {
            // SAFETY: there is room behind the bytes, which nobody has been lent.
            unsafe { Slots::start(slots).add(len).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
            self.len.set(len + bytes.len());
        }
    }
}

/// The elements of a [`GcVec`], which may change meanwhile.
#[derive(Clone)]
pub struct GcVecIter<'a, T> {
    vec: &'a GcVec<T>,
    at: usize,
}

impl<T: Slot> Iterator for GcVecIter<'_, T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        let next = self.vec.get(self.at)?;
        self.at += 1;
        Some(next)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        // It may grow or shrink before the end.
        (0, None)
    }
}

impl<T> fmt::Debug for GcVecIter<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GcVecIter").field("at", &self.at).finish_non_exhaustive()
    }
}

impl<'a, T: Slot> IntoIterator for &'a GcVec<T> {
    type Item = T;
    type IntoIter = GcVecIter<'a, T>;
    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<T> Default for GcVec<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Slot + fmt::Debug> fmt::Debug for GcVec<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self).finish()
    }
}

/// Compares the elements.
impl<T: Slot + PartialEq<U>, U: Slot> PartialEq<GcVec<U>> for GcVec<T> {
    fn eq(&self, other: &GcVec<U>) -> bool {
        self.len() == other.len() && self.iter().zip(other).all(|(one, other)| one == other)
    }
}

impl<T: Slot + PartialEq<U>, U> PartialEq<[U]> for GcVec<T> {
    fn eq(&self, other: &[U]) -> bool {
        self.len() == other.len() && self.iter().zip(other).all(|(one, other)| one == *other)
    }
}

impl<T: Slot + PartialEq<U>, U, const N: usize> PartialEq<[U; N]> for GcVec<T> {
    fn eq(&self, other: &[U; N]) -> bool {
        *self == other[..]
    }
}
