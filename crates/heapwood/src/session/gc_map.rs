//! A hash map in a session's heap: that of the plain door, with a brand of its own, as [`GcVec`](super::GcVec) has.

use super::gc::Brand;
use super::mutation::Mutation;
use crate::place::Slot;
use crate::trace::{NoPointers, Trace, TypeMap};
use core::borrow::Borrow;
use core::fmt;
use core::hash::{BuildHasher, Hash};
use core::marker::PhantomData;
use heapwood_gc::AllocError;
use std::hash::RandomState;

/// A hash map in a session's heap, as a field of an object, or an object of its own; see [`crate::GcMap`].
///
/// ```
/// #![forbid(unsafe_code)]
/// use heapwood::session::{Gc, GcMap, Session};
/// use heapwood::{Config, GcStr, Rootable};
///
/// type Names<'gc> = GcMap<'gc, Gc<'gc, GcStr>, u64>;
/// let mut session = Session::<Rootable![Names<'_>]>::new(Config::default(), |_| GcMap::new())?;
/// session.mutate(|m, names| names.insert(m, m.alloc_str("Ada"), 1815));
/// session.collect();
/// assert_eq!(session.mutate(|_, names| names.get("Ada")), Some(1815));
/// # Ok::<(), heapwood::Error>(())
/// ```
#[repr(transparent)]
pub struct GcMap<'gc, K: 'gc, V: 'gc, S = RandomState>(crate::GcMap<K, V, S>, Brand<'gc>);

// SAFETY: it is a `GcMap`.
unsafe impl<K, V, S: NoPointers> Trace for GcMap<'_, K, V, S> {
    const MAP: TypeMap = <crate::GcMap<K, V, S> as Trace>::MAP;
}

impl<K, V, S> GcMap<'_, K, V, S> {
    /// An empty one that hashes with `hasher`.
    pub const fn with_hasher(hasher: S) -> Self {
        GcMap(crate::GcMap::with_hasher(hasher), PhantomData)
    }

    /// The number of entries.
    #[inline]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether it has none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// As many entries have room without other arrays.
    pub fn capacity(&self) -> usize {
        self.0.capacity()
    }
}

impl<K, V, S: Default> GcMap<'_, K, V, S> {
    /// An empty one, which has no arrays yet.
    pub fn new() -> Self {
        Self::with_hasher(S::default())
    }
}

impl<'gc, K: Slot + Hash + Eq, V: Slot, S: BuildHasher> GcMap<'gc, K, V, S> {
    /// One of these entries.
    ///
    /// # Panics
    /// As [`Mutation::alloc`]; so do all functions that add entries.
    pub fn from_iter(m: &Mutation<'gc>, entries: impl IntoIterator<Item = (K, V)>) -> Self
    where
        S: Default,
    {
        GcMap(crate::GcMap::from_iter(m.mutator(), entries), PhantomData)
    }

    /// The value of a key.
    #[inline]
    pub fn get<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.0.get(key)
    }

    /// The entry of a key.
    #[inline]
    pub fn get_key_value<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<(K, V)>
    where
        K: Borrow<Q>,
    {
        self.0.get_key_value(key)
    }

    /// Whether there is an entry of a key.
    #[inline]
    pub fn contains_key<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.0.contains_key(key)
    }

    /// Sets the value of a key, and returns the old one. The old key stays.
    #[inline]
    pub fn insert(&self, m: &Mutation<'gc>, key: K, value: V) -> Option<V> {
        self.0.insert(m.mutator(), key, value)
    }

    /// The same.
    ///
    /// # Errors
    /// As [`Mutation::try_alloc`]; the entries stay.
    #[inline]
    pub fn try_insert(&self, m: &Mutation<'gc>, key: K, value: V) -> Result<Option<V>, AllocError> {
        self.0.try_insert(m.mutator(), key, value)
    }

    /// The value of a key, which is that of `f` if there was none.
    pub fn get_or_insert_with(&self, m: &Mutation<'gc>, key: K, f: impl FnOnce() -> V) -> V {
        self.0.get_or_insert_with(m.mutator(), key, f)
    }

    /// Takes an entry out, and returns its value.
    #[inline]
    pub fn remove<Q: Hash + Eq + ?Sized>(&self, m: &Mutation<'gc>, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.0.remove(m.mutator(), key)
    }

    /// Takes all entries out.
    pub fn clear(&self, m: &Mutation<'gc>) {
        self.0.clear(m.mutator());
    }

    /// Makes room for `more` entries.
    pub fn reserve(&self, m: &Mutation<'gc>, more: usize) {
        self.0.reserve(m.mutator(), more);
    }

    /// Adds entries.
    pub fn extend(&self, m: &Mutation<'gc>, entries: impl IntoIterator<Item = (K, V)>) {
        self.0.extend(m.mutator(), entries);
    }

    /// Leaves those entries for which `keep` is true.
    pub fn retain(&self, m: &Mutation<'gc>, keep: impl FnMut(K, V) -> bool) {
        self.0.retain(m.mutator(), keep);
    }
}

impl<'gc, K: Slot, V: Slot, S> GcMap<'gc, K, V, S> {
    /// The entries, in no order. It may change meanwhile.
    pub fn iter(&self) -> impl Iterator<Item = (K, V)> + use<'_, 'gc, K, V, S> {
        self.0.iter()
    }

    /// The keys, in no order.
    pub fn keys(&self) -> impl Iterator<Item = K> + use<'_, 'gc, K, V, S> {
        self.iter().map(|(key, _)| key)
    }

    /// The values, in no order.
    pub fn values(&self) -> impl Iterator<Item = V> + use<'_, 'gc, K, V, S> {
        self.iter().map(|(_, value)| value)
    }
}

impl<K, V, S: Default> Default for GcMap<'_, K, V, S> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Slot + fmt::Debug, V: Slot + fmt::Debug, S> fmt::Debug for GcMap<'_, K, V, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
