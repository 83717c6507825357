//! A value in an object that may change: a pointer, or a `Copy` value of up to four words. Invariant: every change goes through the
//! write barrier, and writes whole words (`place`). One pointer is one store, so that a concurrent collector sees the old or the
//! new one; its stores release and loads acquire: a thread that reads a pointer sees the object as it was when the pointer was
//! stored. A cell of several words stays with one thread.

use crate::gc::Gc;
use crate::mutator::Mutator;
use crate::place::{self, Slot};
use crate::trace::{Trace, TypeMap};
use core::cell::UnsafeCell;
use core::fmt;
use core::ptr::NonNull;
use heapwood_layout::WORD;

pub(crate) mod sealed {
    pub trait Sealed {}
    impl<T> Sealed for super::Gc<T> {}
    impl<T> Sealed for Option<super::Gc<T>> {}
}

/// A pointer, of which a [`GcCell`] may be [`Shared`](crate::Shared) by threads: a [`Gc`], [`Weak`](crate::Weak), [`Ephemeron`](crate::Ephemeron), [`WeakMap`](crate::WeakMap) or
/// [`WeakSet`](crate::WeakSet), or an `Option` of one. For code that is generic over them; no other type implements it.
///
/// ```
/// use heapwood::{GcCell, Mutator, Pointer};
///
/// fn swap<P: Pointer>(m: &Mutator, one: &GcCell<P>, other: &GcCell<P>) {
///     other.set(m, one.replace(m, other.get()));
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not one pointer",
    label = "is no `Gc`, and not like one",
    note = "a pointer is a `Gc`, a `Weak`, an `Ephemeron`, a `WeakMap` or a `WeakSet`, or an `Option` of one",
    note = "a `GcCell` that threads share holds one pointer: put the value into an object, and hold a `Gc` to it",
    note = "code that is generic over what a `GcCell` holds asks for `Slot`"
)]
pub trait Pointer: sealed::Sealed + Trace + Copy {
    #[doc(hidden)]
    fn into_word(self) -> usize;
    /// # Safety
    /// 1. `word` came from `into_word` of the same type.
    #[doc(hidden)]
    unsafe fn from_word(word: usize) -> Self;
}

impl<T> Pointer for Gc<T> {
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

impl<T> Pointer for Option<Gc<T>> {
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

/// A changeable value in an object: a pointer, or a [`Slot`] of up to four words, such as an enum with a [`Gc`] in it, or a pair.
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
/// A value of several words is copied in and out, too:
///
/// ```
/// # use heapwood::{Config, Gc, GcCell, GcStr, Heap, Trace};
/// #[derive(Trace, Clone, Copy)]
/// enum Value {
///     Nil,
///     Number(f64),
///     Text(Gc<GcStr>),
/// }
/// #[derive(Trace)]
/// struct Variable {
///     value: GcCell<Value>,
/// }
/// # let heap = unsafe { Heap::new(Config::default()) }.unwrap();
/// # let m = heap.attach().unwrap();
/// let variable = m.alloc(Variable { value: GcCell::new(Value::Nil) });
/// variable.value.set(&m, Value::Text(m.alloc_str("seven")));
/// assert!(matches!(variable.value.get(), Value::Text(text) if *text == "seven"));
/// variable.value.set(&m, Value::Number(7.0));
/// ```
///
/// Such a cell is never [`Shared`](crate::Shared): its words are written one by one. Threads share a
/// `GcCell<Gc<..>>` to the value.
///
/// ```compile_fail,E0277
/// fn share<T: heapwood::Shared>() {}
/// share::<heapwood::GcCell<(heapwood::Gc<u64>, u64)>>();
/// ```
///
/// More than four words do not compile:
///
/// ```compile_fail,E0080
/// #[derive(heapwood::Trace)]
/// struct Five(heapwood::GcCell<[heapwood::Gc<u64>; 5]>);
/// ```
#[repr(transparent)]
pub struct GcCell<V: Slot> {
    value: UnsafeCell<V>,
}

// SAFETY: the words are those of the value. They change through `set`, which goes through the barrier and writes whole words.
unsafe impl<V: Slot> Trace for GcCell<V> {
    const MAP: TypeMap = {
        let () = Self::FITS;
        V::MAP
    };
}

impl<V: Slot> GcCell<V> {
    const FITS: () = assert!(
        size_of::<V>() <= 4 * WORD,
        "a `GcCell` holds at most 4 words: hold a `Gc` to a larger value, or put its parts into cells of their own"
    );

    /// A cell for a new object.
    #[inline]
    pub const fn new(value: V) -> Self {
        const { Self::FITS };
        GcCell { value: UnsafeCell::new(value) }
    }

    /// The value.
    #[inline]
    pub fn get(&self) -> V {
        // SAFETY: a cell always has a value. Only cells of one pointer are used by several threads.
        unsafe { place::load(self.value.get()) }
    }

    /// The value of a cell into which no other thread stores.
    ///
    /// # Safety
    /// 1. The cell belongs to the calling thread.
    #[inline(always)]
    pub(crate) unsafe fn get_own(&self) -> V {
        // SAFETY: a cell always has a value; contract 1.
        unsafe { place::load_own(self.value.get()) }
    }

    /// Stores `value`. `m` must be of the heap that the cell's object and the value are in.
    #[inline]
    pub fn set(&self, m: &Mutator, value: V) {
        // SAFETY: the place is the cell's, in an object or in a value that is not yet in the heap. Only cells of one pointer are
        // used by several threads.
        unsafe { place::store(m, self.value.get(), value) };
    }

    /// Stores `value` and returns the old value.
    #[inline]
    pub fn replace(&self, m: &Mutator, value: V) -> V {
        let old = self.get();
        self.set(m, value);
        old
    }

    /// Stores what `f` makes of the value, and returns it. What `f` itself stores there is overwritten.
    #[inline]
    pub fn update(&self, m: &Mutator, f: impl FnOnce(V) -> V) -> V {
        let new = f(self.get());
        self.set(m, new);
        new
    }

    /// Leaves the default value, and returns the old one.
    #[inline]
    pub fn take(&self, m: &Mutator) -> V
    where
        V: Default,
    {
        self.replace(m, V::default())
    }
}

impl<V: Slot + Default> Default for GcCell<V> {
    /// A cell of the default value; that of an `Option` is none.
    #[inline]
    fn default() -> Self {
        GcCell::new(V::default())
    }
}

impl<V: Slot> From<V> for GcCell<V> {
    #[inline]
    fn from(value: V) -> Self {
        GcCell::new(value)
    }
}

impl<V: Slot + fmt::Debug> fmt::Debug for GcCell<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("GcCell").field(&self.get()).finish()
    }
}
