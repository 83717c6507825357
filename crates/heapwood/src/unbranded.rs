//! The pointer of heaps without a session.

/// A pointer to an object of a heap that was made with [`Heap::new`](crate::Heap::new), which keeps it alive: a
/// [`session::Gc`](crate::session::Gc) without the brand of a session.
pub type Gc<T> = crate::gc::Gc<'static, T>;
