//! A value in an object that may change. Every change of a pointer goes through the write barrier and is one store, so a
//! concurrent collector sees the old pointer or the new one. Of one pointer stores release and loads acquire: a thread that reads it
//! sees the object as it was when the pointer was stored. A value of several words is stored word by word, and is for one thread.

use crate::access::{Access, mutator};
use crate::checked;
use crate::gc::Gc;
use crate::shared::Shared;
use crate::trace::{Trace, TypeMap};
use core::cell::UnsafeCell;
use core::fmt;
use core::sync::atomic::AtomicUsize;
use heapwood_heap::{Address, publication};
use heapwood_layout::WORD;

/// Values that a [`GcCell`] may hold whose pointers have the brand `'gc`: a [`Gc`] of that brand; a weak reference or table;
/// plain data; tuples, arrays and options of them; and types for which it is derived, such as an interpreter's `enum Value`.
///
/// # Safety
/// 1. Every pointer in a value has the brand `'gc`.
#[diagnostic::on_unimplemented(
    message = "a `GcCell` here cannot hold `{Self}`",
    label = "does not implement `CellValue`, or is of another heap",
    note = "for an enum or a struct of your own that is `Copy`: `#[derive(Trace, Clone, Copy, CellValue)]`"
)]
pub unsafe trait CellValue<'gc>: Trace + Copy {}

// SAFETY: its one pointer.
unsafe impl<'gc, T> CellValue<'gc> for Gc<'gc, T> {}
// SAFETY: an option holds its payload and nothing else.
unsafe impl<'gc, V: CellValue<'gc>> CellValue<'gc> for Option<V> {}
// SAFETY: an array holds its elements and nothing else.
unsafe impl<'gc, V: CellValue<'gc>, const N: usize> CellValue<'gc> for [V; N] {}

macro_rules! tuples {
    ($([$($V:ident)+])*) => {$(
        // SAFETY: a tuple holds its fields and nothing else.
        unsafe impl<'gc, $($V: CellValue<'gc>),+> CellValue<'gc> for ($($V,)+) {}
    )*};
}
tuples! { [A] [A B] [A B C] [A B C D] [A B C D E] [A B C D E F] [A B C D E F G] [A B C D E F G H] }

mod sealed {
    /// One word with a pointer, or zero.
    pub trait OnePointer: crate::trace::Trace + Copy {}
}
pub(crate) use sealed::OnePointer;

impl<T> OnePointer for Gc<'_, T> {}
impl<T> OnePointer for Option<Gc<'_, T>> {}

/// The word that a pointer is.
#[inline(always)]
pub(crate) fn word_of<P: OnePointer>(pointer: P) -> usize {
    const { assert!(size_of::<P>() == WORD) };
    // SAFETY: the type is one word, which is the address of an object or zero.
    unsafe { core::mem::transmute_copy(&pointer) }
}

/// A changeable pointer in an object, or a value with several.
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
///
/// A value may have several words, such as an enum with pointers:
///
/// ```
/// # use heapwood::{CellValue, Config, Gc, GcCell, GcStr, Heap, Trace};
/// #[derive(Trace, Clone, Copy, CellValue)]
/// enum Value {
///     Nil,
///     Number(f64),
///     Text(Gc<GcStr>),
/// }
///
/// #[derive(Trace)]
/// struct Variable(GcCell<Value>);
/// # let heap = unsafe { Heap::new(Config::default()) }.unwrap();
/// # let m = heap.attach().unwrap();
/// let variable = m.alloc(Variable(GcCell::new(Value::Nil)));
/// variable.0.set(&m, Value::Text(m.alloc_str("seven")));
/// assert!(matches!(variable.0.get(), Value::Text(text) if *text == "seven"));
/// variable.0.set(&m, Value::Number(7.0));
/// ```
///
/// Such a cell is for one thread: only a cell of a single pointer is [`Shared`]. A collector beside the program may see the words of two
/// values; it takes any word of an enum for a pointer that looks like one, so it keeps what either refers to.
///
/// It does so, too, with words that a variant does not write, as the second one under `Nil`: they have what was there before, and may keep that
/// alive. Where many cells change from pointers to such variants, give those a word, `Nil(u64)`, and write 0.
#[repr(transparent)]
pub struct GcCell<V> {
    value: UnsafeCell<V>,
}

// SAFETY: its words change as its value's may: pointers in one store each, after the barrier.
unsafe impl<V: Trace> Trace for GcCell<V> {
    const MAP: TypeMap = V::MAP;
}

// SAFETY: the cell is an atomic word, and its target is Shared.
unsafe impl<P: OnePointer + Shared> Shared for GcCell<P> {}

impl<V> GcCell<V> {
    /// A cell for a new object.
    #[inline]
    pub const fn new(value: V) -> Self {
        GcCell { value: UnsafeCell::new(value) }
    }
}

impl<V: Trace + Copy> GcCell<V> {
    const HAS_POINTERS: bool = V::MAP.has_pointers();
    /// One word is read and written as a whole, for other threads may do so, too.
    const IS_ONE_WORD: bool = Self::HAS_POINTERS && size_of::<V>() == WORD;
    /// The words that may be pointers.
    const POINTERS: u64 = {
        assert!(
            size_of::<V>() <= 64 * WORD,
            "a `GcCell` holds at most 64 words: move some of them to an object of their own"
        );
        V::MAP.mask()[0]
    };

    fn slot(&self) -> *mut usize {
        self.value.get().cast()
    }

    /// The value.
    #[inline]
    pub fn get(&self) -> V {
        if const { Self::IS_ONE_WORD } {
            // SAFETY: the cell is a word of an object, or outside of the heap.
            let word = publication::load(unsafe { AtomicUsize::from_ptr(self.slot()) });
            // A number is no pointer that may be followed (Rust's rules of provenance); the one with this address is.
            let pointer = core::ptr::with_exposed_provenance_mut::<u8>(word);
            // SAFETY: the type has the size of a word, and only words of its values are ever stored.
            return unsafe { core::mem::transmute_copy(&pointer) };
        }
        // SAFETY: the cell is one thread's, and a collector beside it only reads.
        unsafe { *self.value.get() }
    }

    /// Stores `value`. `m` must be of the heap that the cell's object and the value are in.
    #[inline]
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn set<'gc>(&self, m: &impl Access<'gc>, value: V)
    where
        V: CellValue<'gc>,
    {
        if const { !Self::HAS_POINTERS } {
            // SAFETY: the cell is one thread's, and the collector does not look at it.
            return unsafe { self.value.get().write(value) };
        }
        let barrier = mutator(m).raw().barrier();
        if const { Self::IS_ONE_WORD } {
            // SAFETY: the type has the size of a word, which is a pointer or zero.
            let word = unsafe { core::mem::transmute_copy(&value) };
            checked::store(mutator(m).raw(), self.slot() as usize, word);
            // SAFETY: the slot is a word of an object, or of a value that is not yet in the heap; the value is a pointer it may hold.
            return unsafe { barrier.write_inside(self.slot(), Address::new(word)) };
        }
        checked::store(mutator(m).raw(), self.slot() as usize, 0);
        if barrier.is_off() {
            publication::publish();
            // SAFETY: the cell is one thread's, and while the barrier is off nobody reads beside it.
            return unsafe { self.value.get().write(value) };
        }
        // SAFETY: both have this many words, and the words of `POINTERS` may be pointers.
        unsafe {
            barrier.write_words_inside(
                self.slot(),
                (&raw const value).cast(),
                size_of::<V>() / WORD,
                Self::POINTERS,
            )
        };
    }

    /// Stores `value` and returns the old one.
    #[inline]
    pub fn replace<'gc>(&self, m: &impl Access<'gc>, value: V) -> V
    where
        V: CellValue<'gc>,
    {
        let old = self.get();
        self.set(m, value);
        old
    }
}

impl<V: Default> Default for GcCell<V> {
    fn default() -> Self {
        Self::new(V::default())
    }
}

impl<V> From<V> for GcCell<V> {
    fn from(value: V) -> Self {
        Self::new(value)
    }
}

impl<V: Trace + Copy + fmt::Debug> fmt::Debug for GcCell<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("GcCell").field(&self.get()).finish()
    }
}
