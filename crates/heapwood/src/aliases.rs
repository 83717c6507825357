//! What leads to objects of heaps without a session, beside `Gc`: the types of sessions, with the brand `'static`.

/// A `Vec` in the heap.
pub type GcVec<T> = crate::collections::GcVec<'static, T>;

/// A `HashMap` in the heap.
pub type GcMap<K, V, S = foldhash::fast::FixedState> = crate::collections::GcMap<'static, K, V, S>;

/// A `String` in the heap.
pub type GcString = crate::collections::GcString<'static>;

/// A reference to an object that does not keep it alive.
pub type Weak<T> = crate::weak::Weak<'static, T>;

/// A pair of a key and a value that lives as long as the key.
pub type Ephemeron<K, V> = crate::weak::Ephemeron<'static, K, V>;

/// A map by the identity of its keys, which it does not keep alive.
pub type WeakMap<K, V> = crate::weak_map::WeakMap<'static, K, V>;

/// A set of objects that it does not keep alive.
pub type WeakSet<T> = crate::weak_map::WeakSet<'static, T>;
