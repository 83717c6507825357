//! Weak maps and sets: tables that keep none of their keys alive. They are objects of the heap, as [`Gc`] is a pointer to one, and
//! may be shared by threads. Invariant: what they return is alive, and a `Gc` from then on.

use crate::access::{Access, mutator};
use crate::gc::Gc;
use crate::like_a_gc::{Marker, like_a_gc};
use crate::mutator::Mutator;
use core::hash::{BuildHasher, Hash};
use core::marker::PhantomData;
use core::ptr::NonNull;
use foldhash::fast::FixedState;
use heapwood_gc::AllocError;

/// A map by the identity of its keys, whatever their `Eq`, whose values live as long as something else leads to their keys. A value may lead to its
/// key.
///
/// ```
/// # use heapwood::{Config, Heap, WeakMap};
/// # // SAFETY: this program keeps no `Gc` but on the stack.
/// # let heap = unsafe { Heap::new(Config::default()) }?;
/// # let m = heap.attach()?;
/// let names: WeakMap<u64, u32> = m.weak_map();
/// let key = m.alloc(7u64);
/// names.insert(&m, key, m.alloc(70));
/// assert_eq!(names.get(&m, key).map(|value| *value), Some(70));
/// # Ok::<(), heapwood::HeapError>(())
/// ```
// As a `Gc`.
#[repr(align(8))]
pub struct WeakMap<'gc, K, V> {
    table: NonNull<u8>,
    _marker: Marker<'gc, K, V>,
}

/// A set of objects that it does not keep alive, in which equal ones are one: a table of interned strings, types, symbols. Equal is
/// what `Eq` of `T` says: a [`Gc`] in it is compared by content, a [`ById`](crate::ById) by identity.
///
/// ```
/// # use heapwood::{Config, Gc, Heap, WeakSet};
/// # // SAFETY: this program keeps no `Gc` but on the stack.
/// # let heap = unsafe { Heap::new(Config::default()) }?;
/// # let m = heap.attach()?;
/// let numbers: WeakSet<u64> = m.weak_set();
/// let one = numbers.intern(&m, m.alloc(7));
/// assert!(Gc::ptr_eq(numbers.intern(&m, m.alloc(7)), one));
/// # Ok::<(), heapwood::HeapError>(())
/// ```
#[repr(align(8))]
pub struct WeakSet<'gc, T> {
    table: NonNull<u8>,
    _marker: Marker<'gc, T, ()>,
}

impl Mutator {
    pub(crate) fn done<R>(&self, result: Result<R, impl Into<AllocError>>) -> R {
        match result.map_err(Into::into) {
            Ok(result) => result,
            Err(error @ (AllocError::Misuse(_) | AllocError::Refused(_))) => panic!("{error}"),
            Err(error) => self.fail(error),
        }
    }

    /// Makes an empty weak map. May collect.
    ///
    /// # Panics
    /// As [`Mutator::alloc`].
    pub fn weak_map<K, V>(&self) -> WeakMap<'static, K, V> {
        WeakMap::new(self)
    }

    /// Makes an empty weak set. May collect.
    ///
    /// # Panics
    /// As [`Mutator::alloc`].
    pub fn weak_set<T: Hash + Eq>(&self) -> WeakSet<'static, T> {
        WeakSet::new(self)
    }
}

impl<'gc, K, V> WeakMap<'gc, K, V> {
    /// As [`Mutator::weak_map`].
    pub(crate) fn new(m: &impl Access<'gc>) -> Self {
        let m = mutator(m);
        WeakMap { table: m.done(m.raw().weak_table()), _marker: PhantomData }
    }

    /// The value of a key.
    ///
    /// # Panics
    /// Inside [`Mutator::blocking`], and with a mutator of another heap; so the others.
    pub fn get(self, m: &impl Access<'gc>, key: Gc<'gc, K>) -> Option<Gc<'gc, V>> {
        let m = mutator(m);
        let value = m.done(m.raw().weak_table_get(self.table, Gc::start(key))).flatten();
        // SAFETY: the table has values that were `Gc<V>`s.
        value.map(|value| unsafe { Gc::from_raw(value.cast()) })
    }

    /// Sets the value of a key; whether the key is new. May collect.
    ///
    /// # Panics
    /// Also as [`Mutator::alloc`], and if the key lies in an arena.
    pub fn insert(self, m: &impl Access<'gc>, key: Gc<'gc, K>, value: Gc<'gc, V>) -> bool {
        let m = mutator(m);
        // SAFETY: the stack, which the collector scans, has all three during the call.
        let set = unsafe { m.raw().weak_table_set(self.table, Gc::start(key), Gc::as_ptr(value) as usize) };
        core::hint::black_box((self.table, key, value));
        m.done(set)
    }

    /// Removes a key; whether the map had it.
    pub fn remove(self, m: &impl Access<'gc>, key: Gc<'gc, K>) -> bool {
        let m = mutator(m);
        m.done(m.raw().weak_table_remove(self.table, Gc::start(key)))
    }

    /// The number of keys that no collection has found dead. It looks at all places.
    pub fn len(self, m: &impl Access<'gc>) -> usize {
        let m = mutator(m);
        m.done(m.raw().weak_table_len(self.table))
    }

    /// Whether there is no such key.
    pub fn is_empty(self, m: &impl Access<'gc>) -> bool {
        self.len(m) == 0
    }

    /// Calls `f` with each key and its value. What `f` inserts may be seen or not, and then others twice.
    pub fn for_each(self, m: &impl Access<'gc>, mut f: impl FnMut(Gc<'gc, K>, Gc<'gc, V>)) {
        let m = mutator(m);
        let mut position = 0;
        while let Some((key, value)) = m.done(m.raw().weak_table_next(self.table, &mut position)) {
            if let Some(value) = value {
                // SAFETY: the table has keys and values that were such `Gc`s.
                unsafe { f(Gc::from_raw(key.cast()), Gc::from_raw(value.cast())) };
            }
        }
    }
}

impl<'gc, T: Hash + Eq> WeakSet<'gc, T> {
    /// As [`Mutator::weak_set`].
    pub(crate) fn new(m: &impl Access<'gc>) -> Self {
        let m = mutator(m);
        WeakSet { table: m.done(m.raw().weak_table()), _marker: PhantomData }
    }

    #[inline]
    fn hash(object: &T) -> usize {
        FixedState::default().hash_one(object) as usize
    }

    /// The object of the set that is equal to this one; if there is none, this one, which is in the set then. May collect.
    ///
    /// `Eq` of `T` is called, which must not use a heap.
    ///
    /// # Panics
    /// As [`WeakMap::insert`].
    pub fn intern(self, m: &impl Access<'gc>, object: Gc<'gc, T>) -> Gc<'gc, T> {
        let m = mutator(m);
        // SAFETY: the stack has table and object during the call; a candidate is alive, and was a `Gc<T>`.
        let found = unsafe {
            let is_equal = |candidate: NonNull<u8>| *candidate.cast::<T>().as_ref() == *object;
            m.raw().weak_table_intern(self.table, Self::hash(&object), is_equal, Gc::start(object))
        };
        core::hint::black_box((self.table, object));
        // SAFETY: as above.
        unsafe { Gc::from_raw(m.done(found).cast()) }
    }

    /// The object of the set that is equal to a value.
    ///
    /// # Panics
    /// As [`WeakMap::get`].
    pub fn find(self, m: &impl Access<'gc>, value: &T) -> Option<Gc<'gc, T>> {
        let m = mutator(m);
        // SAFETY: a candidate is alive, and was a `Gc<T>`.
        let is_equal = |candidate: NonNull<u8>| unsafe { *candidate.cast::<T>().as_ref() == *value };
        let found = m.done(m.raw().weak_table_find(self.table, Self::hash(value), is_equal));
        // SAFETY: as above.
        found.map(|object| unsafe { Gc::from_raw(object.cast()) })
    }

    /// The number of objects that no collection has found dead. It looks at all places.
    pub fn len(self, m: &impl Access<'gc>) -> usize {
        let m = mutator(m);
        m.done(m.raw().weak_table_len(self.table))
    }

    /// Whether there is no such object.
    pub fn is_empty(self, m: &impl Access<'gc>) -> bool {
        self.len(m) == 0
    }
}

like_a_gc! {
    {K, V} WeakMap, map => map.table, table => WeakMap { table, _marker: PhantomData };
    {T} WeakSet, set => set.table, table => WeakSet { table, _marker: PhantomData };
}
