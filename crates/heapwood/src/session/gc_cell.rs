//! A value in an object that may change, inside calls of `mutate`. Invariant: every change goes through the write barrier of the
//! heap in which the object lies, whose brand the stored value has.

use super::mutation::Mutation;
use crate::gc_cell::Pointer;
use crate::place::Slot;
use crate::shared::Shared;
use crate::trace::{Trace, TypeMap};
use core::fmt;

/// A changeable value in an object of a session: a [`Gc`](super::Gc) or a [`Weak`](super::Weak), or a [`Slot`](crate::Slot) of up to four
/// words, such as an enum with pointers in it.
///
/// ```
/// #![forbid(unsafe_code)]
/// use heapwood::session::{Gc, GcCell, Session};
/// use heapwood::{Config, Rootable, Trace};
///
/// #[derive(Trace)]
/// struct Ring<'gc>(GcCell<Option<Gc<'gc, Ring<'gc>>>>);
///
/// let mut session = Session::<Rootable![Gc<'_, Ring<'_>>]>::new(Config::default(), |m| {
///     let ring = m.alloc(Ring(GcCell::default()));
///     ring.0.set(m, Some(ring));
///     ring
/// })?;
/// session.collect();
/// assert!(session.mutate(|_, ring| Gc::ptr_eq(ring.0.get().unwrap(), *ring)));
/// # Ok::<(), heapwood::Error>(())
/// ```
#[repr(transparent)]
pub struct GcCell<V: Slot>(crate::GcCell<V>);

// SAFETY: it is a `GcCell`.
unsafe impl<V: Slot> Trace for GcCell<V> {
    const MAP: TypeMap = <crate::GcCell<V> as Trace>::MAP;
}

// SAFETY: as that of the cell in it.
unsafe impl<V: Pointer + Shared> Shared for GcCell<V> {}

impl<V: Slot> GcCell<V> {
    /// A cell for a new object.
    #[inline]
    pub fn new(value: V) -> Self {
        GcCell(crate::GcCell::new(value))
    }

    /// The value.
    #[inline(always)]
    pub fn get(&self) -> V {
        self.0.get()
    }

    /// Stores `value`.
    // `V: 'gc` binds the brands: a pointer of another call has a lifetime of which nothing is known, so it does not outlive this one.
    #[inline(always)]
    pub fn set<'gc>(&self, m: &Mutation<'gc>, value: V)
    where
        V: 'gc,
    {
        self.0.set(m.mutator(), value);
    }

    /// Stores `value` and returns the old value.
    #[inline]
    pub fn replace<'gc>(&self, m: &Mutation<'gc>, value: V) -> V
    where
        V: 'gc,
    {
        self.0.replace(m.mutator(), value)
    }
}

impl<V: Slot + Default> GcCell<V> {
    /// Stores the default value, and returns the old value.
    #[inline]
    pub fn take<'gc>(&self, m: &Mutation<'gc>) -> V
    where
        V: 'gc,
    {
        self.replace(m, V::default())
    }
}

impl<V: Slot + Default> Default for GcCell<V> {
    /// A cell of the default value.
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
