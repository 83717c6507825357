//! Weak references and ephemerons. Both are objects of the heap, which a value of these types points to, so they live where a
//! [`Gc`] may. Invariant: what they return is alive, and a `Gc` from then on.

use crate::access::{Access, mutator};
use crate::gc::Gc;
use crate::like_a_gc::{Marker, like_a_gc};
use crate::mutator::Mutator;
use core::marker::PhantomData;
use core::ptr::NonNull;
use heapwood_gc::Refusal;

/// A reference to an object that does not keep it alive. Once nothing but such references leads to the object, a collection
/// clears them.
///
/// ```
/// # use heapwood::{Config, Gc, Heap, Weak};
/// # // SAFETY: this program keeps no `Gc` but on the stack.
/// # let heap = unsafe { Heap::new(Config::default()) }?;
/// # let m = heap.attach()?;
/// let object: Gc<u64> = m.alloc(7);
/// let weak: Weak<u64> = m.weak(object);
/// m.collect();
/// assert_eq!(weak.get(&m).map(|object| *object), Some(7));
/// # assert_eq!(*object, 7);
/// # Ok::<(), heapwood::HeapError>(())
/// ```
///
/// It is one word, `Copy`, and an object itself, which lives as a [`Gc`]'s does: in a field, on a stack, or through a
/// [`Root`](crate::Root). A field that changes is a [`GcCell`](crate::GcCell). Memory outside the heap, which C has links for, holds
/// the root of an object with one:
///
/// ```
/// # use heapwood::{Config, Heap, Root, Weak};
/// # // SAFETY: this program keeps no `Gc` but on the stack.
/// # let heap = unsafe { Heap::new(Config::default()) }?;
/// # let m = heap.attach()?;
/// let object = m.alloc(7u64);
/// let mut observers: Vec<Root<Weak<u64>>> = Vec::new();
/// observers.push(m.root(m.alloc(m.weak(object))));
/// observers.retain(|observer| observer.get(&m).get(&m).is_some());
/// # assert_eq!((observers.len(), *object), (1, 7));
/// # Ok::<(), heapwood::HeapError>(())
/// ```
///
/// It does not cross threads, nor does it lie in a `Cell`:
///
/// ```compile_fail,E0277
/// fn send<T: Send>() {}
/// send::<heapwood::Weak<u64>>();
/// ```
#[repr(transparent)]
pub struct Weak<'gc, T>(Ephemeron<'gc, T, ()>);

/// A pair of a key and a value: the value is kept alive as long as something else leads to the key, and no longer. So whatever is
/// reached from the value may lead to the key.
///
/// ```
/// # use heapwood::{Config, Gc, Heap};
/// # // SAFETY: this program keeps no `Gc` but on the stack.
/// # let heap = unsafe { Heap::new(Config::default()) }?;
/// # let m = heap.attach()?;
/// let key = m.alloc(7u64);
/// let pair = m.ephemeron(key, m.alloc(8u8));
/// m.collect();
/// assert_eq!(pair.value(&m).map(|value| *value), Some(8));
/// # assert_eq!(*key, 7);
/// # Ok::<(), heapwood::HeapError>(())
/// ```
// As a `Gc`.
#[repr(align(8))]
pub struct Ephemeron<'gc, K, V> {
    ptr: NonNull<u8>,
    _marker: Marker<'gc, K, V>,
}

impl Mutator {
    /// Makes a weak reference to `object`. May collect.
    ///
    /// # Panics
    /// As [`Mutator::alloc`]; and if the object lies in an arena.
    pub fn weak<T>(&self, object: Gc<'static, T>) -> Weak<'static, T> {
        Weak::new(self, object)
    }

    /// Makes an ephemeron of `key` and `value`. May collect.
    ///
    /// # Panics
    /// As [`Mutator::weak`], for the key.
    pub fn ephemeron<K, V>(&self, key: Gc<'static, K>, value: Gc<'static, V>) -> Ephemeron<'static, K, V> {
        Ephemeron::new(self, key, value)
    }
}

/// # Safety
/// 1. An object that holds a `T` begins there, if any does, and is alive.
unsafe fn found<'gc, T>(found: Result<Option<NonNull<u8>>, Refusal>) -> Option<Gc<'gc, T>> {
    match found {
        // SAFETY: contract 1. The thread is attached to the heap, which has found its ephemeron.
        Ok(found) => found.map(|object| unsafe { Gc::from_raw(object.cast()) }),
        Err(error) => panic!("{error}"),
    }
}

impl<'gc, T> Weak<'gc, T> {
    /// As [`Mutator::weak`].
    pub(crate) fn new(m: &impl Access<'gc>, object: Gc<'gc, T>) -> Self {
        Weak(Ephemeron::make(m, object, 0))
    }

    /// The object; `None` if it is dead.
    ///
    /// # Panics
    /// Inside [`Mutator::blocking`], and with a mutator of another heap.
    #[inline]
    pub fn get(self, m: &impl Access<'gc>) -> Option<Gc<'gc, T>> {
        self.0.key(m)
    }
}

impl<'gc, K, V> Ephemeron<'gc, K, V> {
    /// As [`Mutator::ephemeron`].
    pub(crate) fn new(m: &impl Access<'gc>, key: Gc<'gc, K>, value: Gc<'gc, V>) -> Self {
        let made = Self::make(m, key, Gc::as_ptr(value) as usize);
        core::hint::black_box(value);
        made
    }

    fn make(m: &impl Access<'gc>, key: Gc<'gc, K>, value: usize) -> Self {
        let m = mutator(m);
        // SAFETY: the stack, which the collector scans, has key and value during the call; or nothing is collected.
        let made = unsafe { m.raw().ephemeron(Gc::start(key), value) };
        core::hint::black_box(key);
        Ephemeron { ptr: m.done(made), _marker: PhantomData }
    }

    /// The key; `None` if it is dead.
    ///
    /// # Panics
    /// As [`Weak::get`].
    #[inline]
    pub fn key(self, m: &impl Access<'gc>) -> Option<Gc<'gc, K>> {
        // SAFETY: it was made with a `Gc<K>` for its key.
        unsafe { found(mutator(m).raw().ephemeron_key(self.ptr)) }
    }

    /// The value; `None` if the key is dead.
    ///
    /// # Panics
    /// As [`Weak::get`].
    #[inline]
    pub fn value(self, m: &impl Access<'gc>) -> Option<Gc<'gc, V>> {
        // SAFETY: it was made with a `Gc<V>` for its value, and has been given no other since.
        unsafe { found(mutator(m).raw().ephemeron_value(self.ptr)) }
    }

    /// Changes the value; false if the key is dead.
    ///
    /// # Panics
    /// As [`Weak::get`].
    pub fn set_value(self, m: &impl Access<'gc>, value: Gc<'gc, V>) -> bool {
        // SAFETY: an object of the heap.
        match unsafe { mutator(m).raw().set_ephemeron_value(self.ptr, Gc::as_ptr(value) as usize) } {
            Ok(is_there) => is_there,
            Err(error) => panic!("{error}"),
        }
    }
}

like_a_gc! {
    {T} Weak, weak => weak.0.ptr, ptr => Weak(Ephemeron { ptr, _marker: PhantomData });
    {K, V} Ephemeron, pair => pair.ptr, ptr => Ephemeron { ptr, _marker: PhantomData };
}
