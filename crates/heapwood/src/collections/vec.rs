//! Elements that grow. Invariants: the first `len` slots are initialised; the others are zero where they may hold pointers.

use crate::access::{Access, mutator};
use crate::gc::Gc;
use crate::gc_cell::{CellValue, GcCell};
use crate::slice::Slice;
use crate::trace::{NoPointers, Trace, TypeMap};
use core::cell::Cell;
use core::fmt;
use core::mem::MaybeUninit;
use heapwood_gc::AllocError;

/// Room for an element.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Slot<T: Copy>(MaybeUninit<T>);

// SAFETY: it is an element, or zero where that may hold pointers.
unsafe impl<T: Trace + Copy> Trace for Slot<T> {
    const MAP: TypeMap = T::MAP;
}

// SAFETY: an element's pointers are all it may hold.
unsafe impl<'gc, T: CellValue<'gc>> CellValue<'gc> for Slot<T> {}

type Slots<T> = Slice<GcCell<Slot<T>>>;

/// A `Vec` in the heap: a value of two words, in an object, that leads to its elements.
///
/// Elements are read and written as a whole, as in a [`GcCell`]. A growable root is a `Root<GcVec<T>>`.
///
/// ```
/// use heapwood::{Config, Gc, GcVec, Heap, Trace};
///
/// #[derive(Trace)]
/// struct Node {
///     children: GcVec<Gc<Node>>,
/// }
/// # // SAFETY: this program keeps no `Gc` but on the stack and in objects.
/// # let heap = unsafe { Heap::new(Config::default()) }?;
/// # let m = heap.attach()?;
/// let tree = m.root(m.alloc(Node { children: GcVec::new() }));
/// for _ in 0..100 {
///     tree.get(&m).children.push(&m, m.alloc(Node { children: GcVec::new() }));
/// }
/// assert_eq!(tree.get(&m).children.iter().filter(|child| child.children.is_empty()).count(), 100);
/// # Ok::<(), heapwood::Error>(())
/// ```
pub struct GcVec<'gc, T: Copy> {
    slots: GcCell<Option<Gc<'gc, Slots<T>>>>,
    len: Cell<usize>,
}

// SAFETY: the first word is the pointer of a cell, and the second a length.
unsafe impl<T: Copy> Trace for GcVec<'_, T> {
    const MAP: TypeMap = TypeMap::of_fields([(core::mem::offset_of!(Self, slots), TypeMap::POINTER)]);
}

impl<'gc, T: CellValue<'gc>> GcVec<'gc, T> {
    /// Without elements or memory.
    #[inline]
    pub const fn new() -> Self {
        GcVec { slots: GcCell::new(None), len: Cell::new(0) }
    }

    /// With room for so many elements. May collect.
    ///
    /// # Panics
    /// As [`Mutator::alloc`](crate::Mutator::alloc).
    pub fn with_capacity(m: &impl Access<'gc>, capacity: usize) -> Self {
        let vec = Self::new();
        if capacity > 0 {
            // A new value that nothing leads to: the pointer is on the stack, as that of any object that is not stored yet.
            vec.slots.set(m, Some(or_fail(m, Self::room(m, capacity))));
        }
        vec
    }

    /// How many elements there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.len.get()
    }

    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many elements there is room for.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.slots.get().map_or(0, |slots| slots.len())
    }

    /// The element at `index`.
    #[inline]
    pub fn get(&self, index: usize) -> Option<T> {
        let slot = self.slot(index).filter(|_| index < self.len())?;
        // SAFETY: the first `len` slots are initialised.
        Some(unsafe { slot.get().0.assume_init() })
    }

    /// The first element.
    pub fn first(&self) -> Option<T> {
        self.get(0)
    }

    /// The last element.
    #[inline]
    pub fn last(&self) -> Option<T> {
        self.get(self.len().checked_sub(1)?)
    }

    /// Replaces the element at `index`, and returns the old one.
    ///
    /// # Panics
    /// If there is none.
    #[inline]
    #[track_caller]
    pub fn set(&self, m: &impl Access<'gc>, index: usize, value: T) -> T {
        let old = self.get(index).unwrap_or_else(|| out_of_bounds(index, self.len()));
        self.store(m, index, value);
        old
    }

    /// Appends an element. May collect.
    ///
    /// # Panics
    /// As [`Mutator::alloc`](crate::Mutator::alloc).
    #[inline]
    pub fn push(&self, m: &impl Access<'gc>, value: T) {
        if self.len() == self.capacity() {
            or_fail(m, self.try_reserve(m, 1));
        }
        self.store(m, self.len(), value);
        self.len.set(self.len() + 1);
    }

    /// Appends a copy of each element. May collect.
    ///
    /// # Panics
    /// As [`Mutator::alloc`](crate::Mutator::alloc).
    pub fn extend(&self, m: &impl Access<'gc>, values: impl IntoIterator<Item = T>) {
        values.into_iter().for_each(|value| self.push(m, value));
    }

    /// Makes room for so many more elements. May collect.
    ///
    /// # Errors
    /// As [`Mutator::try_alloc`](crate::Mutator::try_alloc).
    #[cold]
    pub fn try_reserve(&self, m: &impl Access<'gc>, more: usize) -> Result<(), AllocError> {
        let needed = self.len().saturating_add(more);
        if needed <= self.capacity() {
            return Ok(());
        }
        let new = Self::room(m, needed.max(self.capacity().saturating_mul(2)).max(4))?;
        if let Some(old) = self.slots.get() {
            // SAFETY: both have so many slots, and the new ones are zero. Stores that fill a new object need no barrier before the
            // next allocation.
            unsafe { old.as_ptr().copy_to_nonoverlapping(new.as_ptr().cast_mut(), old.len().min(new.len())) };
        }
        self.slots.set(m, Some(new));
        Ok(())
    }

    /// Takes the last element off.
    #[inline]
    pub fn pop(&self, m: &impl Access<'gc>) -> Option<T> {
        let last = self.last()?;
        self.truncate(m, self.len() - 1);
        Some(last)
    }

    /// Inserts an element before that at `index`, or at the end. May collect.
    ///
    /// # Panics
    /// If `index` is greater than the length. As [`Mutator::alloc`](crate::Mutator::alloc).
    #[track_caller]
    pub fn insert(&self, m: &impl Access<'gc>, index: usize, value: T) {
        if index > self.len() {
            out_of_bounds(index, self.len());
        }
        self.push(m, value);
        for at in (index + 1..self.len()).rev() {
            self.store(m, at, self.get(at - 1).expect("it is there"));
        }
        self.store(m, index, value);
    }

    /// Takes the element at `index` out, and moves those behind it.
    ///
    /// # Panics
    /// If there is none.
    #[track_caller]
    pub fn remove(&self, m: &impl Access<'gc>, index: usize) -> T {
        let removed = self.get(index).unwrap_or_else(|| out_of_bounds(index, self.len()));
        for at in index + 1..self.len() {
            self.store(m, at - 1, self.get(at).expect("it is there"));
        }
        self.truncate(m, self.len() - 1);
        removed
    }

    /// Takes the element at `index` out, and moves the last one there.
    ///
    /// # Panics
    /// If there is none.
    #[track_caller]
    pub fn swap_remove(&self, m: &impl Access<'gc>, index: usize) -> T {
        let removed = self.get(index).unwrap_or_else(|| out_of_bounds(index, self.len()));
        self.store(m, index, self.last().expect("it is not empty"));
        self.truncate(m, self.len() - 1);
        removed
    }

    /// Keeps the first `len` elements.
    pub fn truncate(&self, m: &impl Access<'gc>, len: usize) {
        for index in len..self.len() {
            if T::MAP.has_pointers()
                && let Some(slot) = self.slot(index)
            {
                slot.set(m, Slot(MaybeUninit::zeroed()));
            }
        }
        self.len.set(self.len().min(len));
    }

    /// Drops all elements, and their memory.
    pub fn clear(&self, m: &impl Access<'gc>) {
        self.len.set(0);
        self.slots.set(m, None);
    }

    /// The elements, as many as there are now, each as it is when it comes.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = T> + use<'_, 'gc, T> {
        Iter { vec: self, front: 0, back: self.len() }
    }

    /// Appends a copy of elements without pointers. May collect.
    ///
    /// # Panics
    /// As [`Mutator::alloc`](crate::Mutator::alloc).
    pub fn extend_from_slice(&self, m: &impl Access<'gc>, values: &[T])
    where
        T: NoPointers,
    {
        or_fail(m, self.try_reserve(m, values.len()));
        if let Some(slots) = self.slots.get() {
            let free = slots.as_ptr().cast_mut().cast::<T>();
            // SAFETY: there is room for so many more, and the collector does not look at them.
            unsafe { free.add(self.len()).copy_from_nonoverlapping(values.as_ptr(), values.len()) };
            self.len.set(self.len().checked_add(values.len()).expect("fewer elements than addresses"));
        }
    }

    /// The elements as they are, and change, for as long as this vector does not get other memory; then as they were.
    #[inline]
    pub(super) fn cells(&self) -> &[Cell<T>]
    where
        T: NoPointers,
    {
        // SAFETY: the first `len` slots are initialised, and a slot is as a cell. They stay where they are, as in `slot`.
        self.slots.get().map_or(&[], |slots| unsafe {
            core::slice::from_raw_parts((*Gc::as_ptr(slots)).as_ptr().cast(), self.len())
        })
    }

    /// The elements as they are now.
    ///
    /// # Safety
    /// 1. None of them changes as long as the reference is used.
    pub(super) unsafe fn plain(&self) -> &[T]
    where
        T: NoPointers,
    {
        let cells: *const [Cell<T>] = self.cells();
        // SAFETY: a cell has the layout of its content, which does not change (contract 1).
        unsafe { &*(cells as *const [T]) }
    }

    /// Gives it so many elements that are zero, and returns those that it had.
    pub(super) fn replace(&self, m: &impl Access<'gc>, zeros: usize) -> Self
    where
        T: NoPointers,
    {
        let new = or_fail(m, Self::room(m, zeros));
        // SAFETY: the new slots are so many.
        unsafe { new.as_ptr().cast_mut().write_bytes(0, zeros) };
        GcVec {
            slots: GcCell::new(self.slots.replace(m, Some(new))),
            len: Cell::new(self.len.replace(zeros)),
        }
    }

    #[inline]
    fn slot(&self, index: usize) -> Option<&GcCell<Slot<T>>> {
        // SAFETY: the slots stay where they are as long as this leads to them, and after that as long as a reference is where the
        // collector finds it.
        unsafe { &*Gc::as_ptr(self.slots.get()?) }.get(index)
    }

    /// Writes the element at an index for which there is room.
    #[inline]
    fn store(&self, m: &impl Access<'gc>, index: usize, value: T) {
        self.slot(index).expect("there is room").set(m, Slot(MaybeUninit::new(value)));
    }

    /// A new slice of slots.
    fn room(m: &impl Access<'gc>, capacity: usize) -> Result<Gc<'gc, Slots<T>>, AllocError> {
        let slots = mutator(m).empty_slice::<GcCell<Slot<T>>>(capacity)?;
        // SAFETY: a new slice, whose elements are any memory, or zero if they may hold pointers; it is of this heap.
        Ok(unsafe { Gc::from_raw(slots) })
    }
}

fn or_fail<'gc, R>(m: &impl Access<'gc>, made: Result<R, AllocError>) -> R {
    made.unwrap_or_else(|error| mutator(m).fail(error))
}

#[cold]
#[track_caller]
fn out_of_bounds(index: usize, len: usize) -> ! {
    panic!("the index is {index} but the length is {len}");
}

struct Iter<'v, 'gc, T: Copy> {
    vec: &'v GcVec<'gc, T>,
    front: usize,
    /// The elements from here on were taken from the back.
    back: usize,
}

impl<'gc, T: CellValue<'gc>> Iterator for Iter<'_, 'gc, T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        let next = (self.front < self.back).then(|| self.vec.get(self.front)).flatten()?;
        self.front += 1;
        Some(next)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.back.min(self.vec.len()).saturating_sub(self.front), None)
    }
}

impl<'gc, T: CellValue<'gc>> DoubleEndedIterator for Iter<'_, 'gc, T> {
    fn next_back(&mut self) -> Option<T> {
        let back = self.back.min(self.vec.len()).checked_sub(1).filter(|&back| back >= self.front)?;
        self.back = back;
        self.vec.get(back)
    }
}

impl<'gc, T: CellValue<'gc>> Default for GcVec<'gc, T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<'gc, T: CellValue<'gc> + fmt::Debug> fmt::Debug for GcVec<'gc, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
