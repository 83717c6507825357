//! A growable root: an array of the heap behind one handle, which lives anywhere. Invariant: nothing else leads to the array, so that
//! who has the root is the only one who uses it, on whatever thread.

use super::gc_vec::{GcVec, GcVecIter};
use crate::gc::Gc;
use crate::mutator::Mutator;
use crate::place::Slot;
use crate::root::Root;
use crate::shared::Shared;
use core::fmt;

/// Keeps any number of objects alive until it is dropped: a [`GcVec`] as a root.
///
/// It lies anywhere, as a [`Root`] does: in a `Box`, a `thread_local!`, a struct of the program. A root is a handle, of which a
/// heap has a limited number; a `RootVec` is one, however long it is.
///
/// ```
/// # use heapwood::{Config, Gc, Heap, Mutator, RootVec};
/// struct Machine {
///     stack: RootVec<Gc<u64>>,
/// }
///
/// fn add(m: &Mutator, machine: &Machine) {
///     let sum = *machine.stack.pop(m).unwrap() + *machine.stack.pop(m).unwrap();
///     machine.stack.push(m, m.alloc(sum));
/// }
/// # // SAFETY: this program keeps `Gc`s on the stack and in roots.
/// # let heap = unsafe { Heap::new(Config::default()) }?;
/// # let m = heap.attach()?;
/// let machine = Box::new(Machine { stack: m.root_vec() });
/// machine.stack.extend(&m, [m.alloc(3), m.alloc(4)]);
/// add(&m, &machine);
/// assert_eq!(*machine.stack.at(&m, 0), 7);
/// # Ok::<(), heapwood::HeapError>(())
/// ```
///
/// It may be sent to another thread if its elements are [`Shared`](crate::Shared), and so may lie in a `static` behind a
/// lock: `static NAMES: Mutex<Option<RootVec<Gc<GcStr>>>>`. It is not `Sync`.
///
/// ```compile_fail,E0277
/// fn share<T: Sync>() {}
/// share::<heapwood::RootVec<u64>>();
/// ```
///
/// All functions that take a mutator panic if it is another heap's.
pub struct RootVec<T> {
    root: Root<GcVec<T>>,
}

// SAFETY: the array is this root's alone, so one thread at a time uses it; the elements may be used by several.
unsafe impl<T: Shared> Send for RootVec<T> {}

impl Mutator {
    /// Makes an empty root of any number of elements. May collect.
    ///
    /// # Panics
    /// As [`Mutator::alloc`] and [`Mutator::root`].
    pub fn root_vec<T: Slot>(&self) -> RootVec<T> {
        RootVec { root: self.root(self.alloc(GcVec::new())) }
    }
}

impl<T: Slot> RootVec<T> {
    #[inline]
    fn vec(&self, m: &Mutator) -> Gc<GcVec<T>> {
        self.root.get(m)
    }

    /// The number of elements.
    #[inline]
    pub fn len(&self, m: &Mutator) -> usize {
        self.vec(m).len()
    }

    /// Whether it has none.
    #[inline]
    pub fn is_empty(&self, m: &Mutator) -> bool {
        self.len(m) == 0
    }

    /// Adds an element at the end. May collect.
    ///
    /// # Panics
    /// As [`Mutator::alloc`].
    #[inline]
    pub fn push(&self, m: &Mutator, element: T) {
        self.vec(m).push(m, element);
    }

    /// Takes the last element away.
    #[inline]
    pub fn pop(&self, m: &Mutator) -> Option<T> {
        self.vec(m).pop(m)
    }

    /// The element at `i`, if there is one.
    #[inline]
    pub fn get(&self, m: &Mutator, i: usize) -> Option<T> {
        self.vec(m).get(i)
    }

    /// The element at `i`.
    ///
    /// # Panics
    /// If there is none.
    #[inline]
    #[track_caller]
    pub fn at(&self, m: &Mutator, i: usize) -> T {
        self.vec(m).at(i)
    }

    /// Stores an element over the one at `i`.
    ///
    /// # Panics
    /// If there is none.
    #[inline]
    #[track_caller]
    pub fn set(&self, m: &Mutator, i: usize, element: T) {
        self.vec(m).set(m, i, element);
    }

    /// The last element.
    #[inline]
    pub fn last(&self, m: &Mutator) -> Option<T> {
        self.vec(m).last()
    }

    /// Takes all elements away but the first `len`. The room stays.
    pub fn truncate(&self, m: &Mutator, len: usize) {
        self.vec(m).truncate(m, len);
    }

    /// Takes all elements away. The room stays.
    pub fn clear(&self, m: &Mutator) {
        self.vec(m).clear(m);
    }

    /// Adds elements at the end. May collect. The iterator may allocate, and use this root.
    ///
    /// # Panics
    /// As [`Mutator::alloc`].
    pub fn extend(&self, m: &Mutator, elements: impl IntoIterator<Item = T>) {
        self.vec(m).extend(m, elements);
    }

    /// Its elements, by their positions: it may change meanwhile, as a [`GcVec`] may.
    pub fn iter<'a>(&'a self, m: &'a Mutator) -> GcVecIter<'a, T> {
        let vec: *const GcVec<T> = Gc::as_ptr(self.vec(m));
        // SAFETY: the root keeps the object alive, and is borrowed as long as the iterator.
        unsafe { &*vec }.iter()
    }
}

impl<T> fmt::Debug for RootVec<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RootVec").field(&self.root).finish()
    }
}
