//! A hash map in the heap. Invariant: no callback (a key's hash, its equality, a closure) finds the map half changed, and whatever it
//! does to the map, nothing is read of a place that has no entry: each change is counted, and a search that was interrupted by one
//! panics. Entries are copied in and out.

use super::map_table::{Found, Places, Table, room};
use super::slots::Slots;
use crate::gc::Gc;
use crate::gc_cell::GcCell;
use crate::mutator::Mutator;
use crate::place::Slot;
use crate::trace::{NoPointers, Trace, TypeMap};
use core::borrow::Borrow;
use core::cell::Cell;
use core::fmt;
use core::hash::{BuildHasher, Hash};
use core::mem::offset_of;
use heapwood_gc::AllocError;
use std::hash::RandomState;

/// An array, if there is one.
type Array<T> = GcCell<Option<Gc<Slots<T>>>>;

/// A hash map in the heap, as a field of an object, or an object of its own: a `Gc<GcMap<K, V>>`.
///
/// It has an interface like `HashMap`'s, by shared references: keys and values are copied in and out. Keys compare and hash as their
/// types do, a `Gc` as its object; [`ById`](crate::ById) is a key by identity.
///
/// ```
/// # use heapwood::{ById, Config, Gc, GcMap, GcStr, Heap, Trace};
/// #[derive(Trace, Default)]
/// struct Globals {
///     by_name: GcMap<Gc<GcStr>, f64>,
///     marked: GcMap<ById<Gc<u64>>, ()>,
/// }
/// # // SAFETY: this program keeps `Gc`s on the stack only.
/// # let heap = unsafe { Heap::new(Config::default()) }?;
/// # let m = heap.attach()?;
/// let globals = m.alloc(Globals::default());
/// globals.by_name.insert(&m, m.alloc_str("pi"), 3.14);
/// assert_eq!(globals.by_name.get("pi"), Some(3.14));
/// let seven = m.alloc(7);
/// globals.marked.insert(&m, ById(seven), ());
/// assert!(globals.marked.contains_key(&ById(seven)) && !globals.marked.contains_key(&ById(m.alloc(7))));
/// # Ok::<(), heapwood::HeapError>(())
/// ```
///
/// The hasher is that of `HashMap`. A faster one, for keys that nobody chooses who wishes harm, is a type parameter as there:
/// `GcMap<K, V, BuildHasherDefault<MyHasher>>`; it holds no pointer ([`NoPointers`]).
///
/// **While it is iterated** it may change. An entry that is there from the first step to the last is returned once. One that comes,
/// goes or changes meanwhile may be returned as it was before or as it is then, or not at all.
///
/// **Hash and equality** of keys may allocate, collect and panic. If they change this map the function that called them panics.
///
/// It belongs to one thread, and is not [`Shared`](crate::Shared).
#[repr(C)]
pub struct GcMap<K, V, S = RandomState> {
    control: Array<u8>,
    entries: Array<(K, V)>,
    /// The number of places, less one.
    mask: Cell<usize>,
    len: Cell<usize>,
    /// New entries that the arrays have room for.
    left: Cell<usize>,
    /// The number of times that entries came or went.
    changes: Cell<usize>,
    hasher: S,
}

// SAFETY: two cells, numbers, and a hasher without pointers.
unsafe impl<K, V, S: NoPointers> Trace for GcMap<K, V, S> {
    const MAP: TypeMap = TypeMap::of_fields([
        (offset_of!(Self, control), TypeMap::POINTER),
        (offset_of!(Self, entries), TypeMap::POINTER),
    ]);
}

impl<K, V, S> GcMap<K, V, S> {
    /// An empty map that hashes by `hasher`.
    pub const fn with_hasher(hasher: S) -> Self {
        GcMap {
            control: GcCell::new(None),
            entries: GcCell::new(None),
            mask: Cell::new(0),
            len: Cell::new(0),
            left: Cell::new(0),
            changes: Cell::new(0),
            hasher,
        }
    }

    /// The number of entries.
    #[inline]
    pub fn len(&self) -> usize {
        self.len.get()
    }

    /// Whether it has none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// As many entries have room without other arrays.
    pub fn capacity(&self) -> usize {
        self.len() + self.left.get()
    }

    #[inline(always)]
    fn table(&self) -> Option<Table<K, V>> {
        // SAFETY: a map belongs to its thread.
        let (control, entries) = unsafe { (self.control.get_own()?, self.entries.get_own()) };
        // SAFETY: a map has both arrays or none.
        let entries = unsafe { entries.unwrap_unchecked() };
        Some(Table { control, entries, mask: self.mask.get() })
    }

    #[inline(always)]
    fn changed(&self) {
        self.changes.set(self.changes.get().wrapping_add(1));
    }

    /// Panics if the map has changed since `before`.
    #[inline(always)]
    #[track_caller]
    fn check(&self, before: usize) {
        if self.changes.get() != before {
            changed_meanwhile();
        }
    }
}

#[cold]
#[inline(never)]
#[track_caller]
fn changed_meanwhile() -> ! {
    panic!("`Hash` or `Eq` of a key has changed the map that called it")
}

impl<K, V, S: Default> GcMap<K, V, S> {
    /// An empty map, which has no arrays yet.
    pub fn new() -> Self {
        Self::with_hasher(S::default())
    }
}

impl<K: Slot + Hash + Eq, V: Slot, S: BuildHasher> GcMap<K, V, S> {
    /// A map of these entries. May collect.
    ///
    /// # Panics
    /// As [`GcMap::insert`].
    pub fn from_iter(m: &Mutator, entries: impl IntoIterator<Item = (K, V)>) -> Self
    where
        S: Default,
    {
        let new = Self::new();
        new.extend(m, entries);
        new
    }

    /// The place of a key.
    #[inline(always)]
    #[track_caller]
    fn find<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<(Table<K, V>, usize)>
    where
        K: Borrow<Q>,
    {
        let hash = self.hasher.hash_one(key);
        let (table, before) = (self.table()?, self.changes.get());
        let place = table.find(hash, |k| k.borrow() == key, || self.check(before))?;
        self.check(before);
        Some((table, place))
    }

    /// The value of a key.
    ///
    /// # Panics
    /// If equality of keys changes the map; so the others.
    #[inline]
    pub fn get<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        // SAFETY: the place has an entry.
        self.find(key).map(|(table, place)| unsafe { table.value(place) })
    }

    /// The key of the map that equals this one, and its value.
    #[inline]
    pub fn get_key_value<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<(K, V)>
    where
        K: Borrow<Q>,
    {
        // SAFETY: the place has an entry.
        self.find(key).map(|(table, place)| unsafe { (table.key(place), table.value(place)) })
    }

    /// Whether the map has the key.
    #[inline]
    pub fn contains_key<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.find(key).is_some()
    }

    /// Sets the value of a key, and returns the old one. May collect. A key that is there stays.
    ///
    /// # Panics
    /// As [`Mutator::alloc`], and if hash or equality of keys change the map.
    #[inline]
    pub fn insert(&self, m: &Mutator, key: K, value: V) -> Option<V> {
        match self.try_insert(m, key, value) {
            Ok(old) => old,
            Err(error) => m.fail(error),
        }
    }

    /// The same, with an error if there is no room.
    ///
    /// # Errors
    /// As [`Mutator::try_alloc`]; the map stays as it was.
    ///
    /// # Panics
    /// If hash or equality of keys change the map.
    #[inline]
    pub fn try_insert(&self, m: &Mutator, key: K, value: V) -> Result<Option<V>, AllocError> {
        let hash = self.hasher.hash_one(key);
        if self.left.get() == 0 {
            // A key that is there needs no room.
            if let Some((table, place)) = self.find::<K>(&key) {
                // SAFETY: the place has an entry.
                return Ok(Some(unsafe { Self::replace(m, table, place, value) }));
            }
            self.grow(m, self.len() + 1)?;
        }
        let before = self.changes.get();
        let Some(table) = self.table() else { unreachable!("a map with room has arrays") };
        match table.find_or_free(hash, |k| k == key, || self.check(before)) {
            Found::Here(place) => {
                self.check(before);
                // SAFETY: the place has an entry.
                Ok(Some(unsafe { Self::replace(m, table, place, value) }))
            }
            Found::Free(place) => {
                self.changed();
                self.len.set(self.len() + 1);
                // SAFETY: the place has none.
                let was_empty = unsafe { table.put(m, place, hash, key, value) };
                self.left.set(self.left.get() - usize::from(was_empty));
                Ok(None)
            }
        }
    }

    /// Stores a value over that of an entry, and returns that.
    ///
    /// # Safety
    /// 1. The place of the table has an entry.
    #[inline(always)]
    unsafe fn replace(m: &Mutator, table: Table<K, V>, place: usize, value: V) -> V {
        // SAFETY: contract 1.
        unsafe {
            let old = table.value(place);
            table.set_value(m, place, value);
            old
        }
    }

    /// The value of a key; if it has none, what `f` makes, which is its value then. May collect. What `f` itself inserts under the key
    /// is replaced.
    ///
    /// # Panics
    /// As [`GcMap::insert`].
    pub fn get_or_insert_with(&self, m: &Mutator, key: K, f: impl FnOnce() -> V) -> V {
        match self.get(&key) {
            Some(value) => value,
            None => {
                let value = f();
                self.insert(m, key, value);
                value
            }
        }
    }

    /// Takes a key away, and returns its value.
    ///
    /// # Panics
    /// If equality of keys changes the map.
    #[inline]
    pub fn remove<Q: Hash + Eq + ?Sized>(&self, m: &Mutator, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let (table, place) = self.find(key)?;
        self.changed();
        self.len.set(self.len() - 1);
        // SAFETY: the place has an entry.
        unsafe {
            let old = table.value(place);
            let is_empty = table.remove(m, place);
            self.left.set(self.left.get() + usize::from(is_empty));
            Some(old)
        }
    }

    /// Takes all entries away. The room stays.
    pub fn clear(&self, m: &Mutator) {
        if let Some(table) = self.table() {
            self.changed();
            self.len.set(0);
            table.clear(m);
            self.left.set(room(table.mask + 1));
        }
    }

    /// Makes room for `more` entries. May collect.
    ///
    /// # Panics
    /// As [`GcMap::insert`].
    pub fn reserve(&self, m: &Mutator, more: usize) {
        if more > self.left.get()
            && let Err(error) = self.grow(m, self.len().saturating_add(more))
        {
            m.fail(error);
        }
    }

    /// New arrays with room for so many entries, and a few more; those of deleted places are free again.
    #[cold]
    #[inline(never)]
    fn grow(&self, m: &Mutator, needed: usize) -> Result<(), AllocError> {
        let old = self.table();
        let room_now = old.map_or(0, |old| room(old.mask + 1));
        // If half of it is deleted, as much room as there was is enough.
        let wanted = if needed <= room_now / 2 { room_now } else { needed.max(room_now + 1) };
        let before = self.changes.get();
        let new = Table::new(m, wanted)?;
        for place in old.into_iter().flat_map(Table::places) {
            let Some(old) = old else { break };
            // SAFETY: the place has an entry, and `check` has seen that it still has.
            let (key, value) = unsafe { (old.key(place), old.value(place)) };
            let hash = self.hasher.hash_one(key);
            self.check(before);
            new.add(m, hash, key, value);
        }
        self.changed();
        self.control.set(m, Some(new.control));
        self.entries.set(m, Some(new.entries));
        self.mask.set(new.mask);
        self.left.set(room(new.mask + 1) - self.len());
        Ok(())
    }

    /// Adds entries. May collect. The iterator may allocate, and use this map.
    ///
    /// # Panics
    /// As [`GcMap::insert`].
    pub fn extend(&self, m: &Mutator, entries: impl IntoIterator<Item = (K, V)>) {
        let entries = entries.into_iter();
        self.reserve(m, entries.size_hint().0);
        entries.for_each(|(key, value)| _ = self.insert(m, key, value));
    }

    /// Keeps the entries of which `keep` says so. `keep` may change the map: what it adds may be asked about or not.
    ///
    /// # Panics
    /// As [`GcMap::remove`].
    pub fn retain(&self, m: &Mutator, mut keep: impl FnMut(K, V) -> bool) {
        for (key, value) in self.iter() {
            if !keep(key, value) {
                self.remove(m, &key);
            }
        }
    }
}

impl<K: Slot, V: Slot, S> GcMap<K, V, S> {
    /// Its entries, in no order.
    pub fn iter(&self) -> GcMapIter<'_, K, V> {
        GcMapIter { places: self.table().map(Table::places), _map: core::marker::PhantomData }
    }

    /// Its keys, in no order.
    pub fn keys(&self) -> impl Iterator<Item = K> {
        self.iter().map(|(key, _)| key)
    }

    /// Its values, in no order.
    pub fn values(&self) -> impl Iterator<Item = V> {
        self.iter().map(|(_, value)| value)
    }
}

/// The entries of a [`GcMap`], which may change meanwhile: it has the arrays of the moment when it was made, which stay as they are
/// when the map gets others.
pub struct GcMapIter<'a, K, V> {
    places: Option<Places<K, V>>,
    _map: core::marker::PhantomData<&'a GcMap<K, V>>,
}

impl<K, V> Clone for GcMapIter<'_, K, V> {
    fn clone(&self) -> Self {
        GcMapIter { places: self.places.clone(), ..*self }
    }
}

impl<K: Slot, V: Slot> Iterator for GcMapIter<'_, K, V> {
    type Item = (K, V);

    #[inline]
    fn next(&mut self) -> Option<(K, V)> {
        let places = self.places.as_mut()?;
        let place = places.next()?;
        // SAFETY: the place has an entry now.
        Some(unsafe { (places.table.key(place), places.table.value(place)) })
    }
}

impl<K, V> fmt::Debug for GcMapIter<'_, K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GcMapIter").finish_non_exhaustive()
    }
}

impl<'a, K: Slot, V: Slot, S> IntoIterator for &'a GcMap<K, V, S> {
    type Item = (K, V);
    type IntoIter = GcMapIter<'a, K, V>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<K, V, S: Default> Default for GcMap<K, V, S> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Slot + fmt::Debug, V: Slot + fmt::Debug, S> fmt::Debug for GcMap<K, V, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self).finish()
    }
}
