//! The collections of heaps without a session: those of sessions, with the brand `'static`.

/// A `Vec` in the heap.
pub type GcVec<T> = crate::collections::GcVec<'static, T>;

/// A `HashMap` in the heap.
pub type GcMap<K, V, S = foldhash::fast::FixedState> = crate::collections::GcMap<'static, K, V, S>;

/// A `String` in the heap.
pub type GcString = crate::collections::GcString<'static>;
