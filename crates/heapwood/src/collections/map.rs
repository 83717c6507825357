//! Values by keys: entries in a vector, in the order in which they came, and an index of them by hash with linear probing. Invariants: a
//! place of the index is zero, or has an entry's hash and one more than its number; each entry has one place, and between that and the
//! place where its hash belongs none is zero; at most half of the places is in use.

use super::GcVec;
use crate::access::Access;
use crate::gc_cell::CellValue;
use crate::trace::{Trace, TypeMap};
use core::borrow::Borrow;
use core::fmt;
use core::hash::{BuildHasher, Hash};
use core::marker::PhantomData;
use foldhash::fast::FixedState;

/// A `HashMap` in the heap: a value in an object, that leads to its entries. Keys are compared by content; by identity if they are
/// [`ById`](crate::ById).
///
/// Entries come in the order in which they were inserted, but a removal moves the last one. The hash is foldhash's with a fixed
/// seed: fast, and not safe against keys that an attacker chooses; `S` is another.
///
/// ```
/// use heapwood::{Config, Gc, GcMap, GcStr, Heap, Trace};
///
/// #[derive(Trace)]
/// struct Globals {
///     values: GcMap<Gc<GcStr>, u64>,
/// }
/// # // SAFETY: this program keeps no `Gc` but on the stack and in objects.
/// # let heap = unsafe { Heap::new(Config::default()) }?;
/// # let m = heap.attach()?;
/// let globals = m.alloc(Globals { values: GcMap::new() });
/// globals.values.insert(&m, m.alloc_str("answer"), 42);
/// assert_eq!(globals.values.get(&*m.alloc_str("answer")), Some(42));
/// assert_eq!(globals.values.remove(&m, &*m.alloc_str("answer")), Some(42));
/// # Ok::<(), heapwood::Error>(())
/// ```
pub struct GcMap<'gc, K: Copy, V: Copy, S = FixedState> {
    entries: GcVec<'gc, (K, V)>,
    index: GcVec<'gc, u64>,
    hasher: PhantomData<fn() -> S>,
}

// SAFETY: its fields.
unsafe impl<K: Copy, V: Copy, S> Trace for GcMap<'_, K, V, S> {
    const MAP: TypeMap = TypeMap::of_fields([
        (core::mem::offset_of!(Self, entries), <GcVec<'static, (K, V)> as Trace>::MAP),
        (core::mem::offset_of!(Self, index), <GcVec<'static, u64> as Trace>::MAP),
    ]);
}

/// The places of the smallest index.
const LEAST: usize = 8;

/// The places of an index of a length that is a power of two, or zero, in the order in which those of this hash are looked at.
#[inline]
fn places(len: usize, hash: u32) -> impl Iterator<Item = usize> {
    (0..len).map(move |step| (hash as usize).wrapping_add(step) & (len - 1))
}

/// An entry found, and the place of the index that leads to it.
struct Found {
    place: usize,
    entry: usize,
}

impl<'gc, K: CellValue<'gc> + Eq + Hash, V: CellValue<'gc>, S: BuildHasher + Default> GcMap<'gc, K, V, S> {
    /// Without entries or memory.
    pub const fn new() -> Self {
        GcMap { entries: GcVec::new(), index: GcVec::new(), hasher: PhantomData }
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The value of a key.
    #[inline]
    pub fn get<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let found = self.find(hash_of::<S>(key), key).ok()?;
        Some(self.entries.get(found.entry)?.1)
    }

    /// Whether there is an entry of this key.
    pub fn contains_key<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.find(hash_of::<S>(key), key).is_ok()
    }

    /// Sets the value of a key, and returns the old one. An equal key that was there stays. May collect.
    ///
    /// # Panics
    /// As [`Mutator::alloc`](crate::Mutator::alloc); or there are 2^32 - 1 entries.
    pub fn insert(&self, m: &impl Access<'gc>, key: K, value: V) -> Option<V> {
        let hash = hash_of::<S>(&key);
        let free = match self.find(hash, &key) {
            Ok(Found { entry, .. }) => {
                let (key, _) = self.entries.get(entry)?;
                return Some(self.entries.set(m, entry, (key, value)).1);
            }
            Err(free) => free,
        };
        assert!(self.len() < u32::MAX as usize, "a GcMap has at most 2^32 - 1 entries");
        // First what may fail.
        let grows = (self.len() + 1) * 2 > self.index.len();
        if grows {
            self.grow(m);
        }
        self.entries.push(m, (key, value));
        let place = place_of(hash, self.len() - 1);
        match free.and_then(|free| self.index.cells().get(free)) {
            Some(cell) if !grows && cell.get() == 0 => cell.set(place),
            _ => self.put(place),
        }
        None
    }

    /// Removes the entry of a key, and returns its value.
    pub fn remove<Q: Eq + Hash + ?Sized>(&self, m: &impl Access<'gc>, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let Found { place, entry } = self.find(hash_of::<S>(key), key).ok()?;
        let last = self.len().checked_sub(1)?;
        // The entry that will move, and its place. The hash is the program's function, so it comes before the first change.
        let hash = hash_of::<S>(&self.entries.get(last)?.0);
        let index = self.index.cells();
        let is_of =
            |place: usize, entry| index.get(place).is_some_and(|place| entry_of(place.get()) == Some(entry));
        let moved = places(index.len(), hash).find(|&at| is_of(at, last))?;
        // The comparison, or the hash, may have changed the map.
        if !is_of(place, entry) || self.len() != last + 1 {
            return None;
        }
        index[moved].set(place_of((index[moved].get() >> 32) as u32, entry));
        let removed = self.entries.swap_remove(m, entry);
        self.vacate(place);
        Some(removed.1)
    }

    /// Drops all entries, and their memory.
    pub fn clear(&self, m: &impl Access<'gc>) {
        self.index.clear(m);
        self.entries.clear(m);
    }

    /// The entries.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (K, V)> + use<'_, 'gc, K, V, S> {
        self.entries.iter()
    }

    /// The entry of a key, or the free place where its own would be put; of an empty map none.
    #[inline]
    fn find<Q: Eq + ?Sized>(&self, hash: u32, key: &Q) -> Result<Found, Option<usize>>
    where
        K: Borrow<Q>,
    {
        let index = self.index.cells();
        for place in places(index.len(), hash) {
            let found = index[place].get();
            let Some(entry) = entry_of(found) else { return Err(Some(place)) };
            // The comparison may change the map: what was read of it is memory of the heap still, and nothing of it is believed afterwards.
            let is_it = |(other, _): (K, V)| other.borrow() == key;
            if (found >> 32) as u32 == hash && self.entries.get(entry).is_some_and(is_it) {
                return Ok(Found { place, entry });
            }
        }
        Err(None)
    }

    /// Puts an entry's place into the index, which has room.
    fn put(&self, place: u64) {
        let index = self.index.cells();
        let free = places(index.len(), (place >> 32) as u32).find(|&at| index[at].get() == 0);
        index[free.expect("half of the places is free")].set(place);
    }

    /// Empties a place, and moves those behind it that would not be found any more.
    fn vacate(&self, mut hole: usize) {
        let index = self.index.cells();
        let mask = index.len() - 1;
        let mut at = hole;
        loop {
            at = (at + 1) & mask;
            let place = index[at].get();
            if place == 0 {
                break;
            }
            let home = (place >> 32) as usize & mask;
            // It may go to the hole unless it belongs between that and here.
            if at.wrapping_sub(home) & mask >= at.wrapping_sub(hole) & mask {
                index[hole].set(place);
                hole = at;
            }
        }
        index[hole].set(0);
    }

    /// Makes the index twice as long.
    #[cold]
    fn grow(&self, m: &impl Access<'gc>) {
        let places = (self.index.len() * 2).max(LEAST);
        let old = self.index.replace(m, places);
        old.iter().filter(|&place| place != 0).for_each(|place| self.put(place));
    }
}

fn hash_of<S: BuildHasher + Default>(key: &(impl Hash + ?Sized)) -> u32 {
    let hash = S::default().hash_one(key);
    (hash ^ hash >> 32) as u32
}

fn place_of(hash: u32, entry: usize) -> u64 {
    u64::from(hash) << 32 | (entry as u64 + 1)
}

fn entry_of(place: u64) -> Option<usize> {
    (place as u32).checked_sub(1).map(|entry| entry as usize)
}

impl<'gc, K: CellValue<'gc> + Eq + Hash, V: CellValue<'gc>, S: BuildHasher + Default> Default
    for GcMap<'gc, K, V, S>
{
    fn default() -> Self {
        Self::new()
    }
}

impl<'gc, K, V, S> fmt::Debug for GcMap<'gc, K, V, S>
where
    K: CellValue<'gc> + Eq + Hash + fmt::Debug,
    V: CellValue<'gc> + fmt::Debug,
    S: BuildHasher + Default,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}
