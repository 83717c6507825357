//! Keys by identity: a pointer that compares, hashes and sorts by the address of its object, not by the contents.
//! Invariant: two are equal exactly if they point to the same object. Objects never move, so the hash of a live one stays.

use crate::gc_cell::Pointer;
use crate::shared::Shared;
use crate::trace::{Trace, TypeMap};
use core::cmp::Ordering;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::ops::Deref;

/// A pointer as a key by identity: `ById<Gc<T>>`, `ById<Option<Gc<T>>>`, `ById<Weak<T>>`.
///
/// It is seen by the collector where its pointer would be. `ById` in a `HashSet` keeps nothing alive, like a `Gc` there.
///
/// ```
/// # use heapwood::{ById, Config, Gc, Heap, Slice};
/// # use std::collections::HashSet;
/// # // SAFETY: this program keeps each `Gc` on the stack, too.
/// # let heap = unsafe { Heap::new(Config::default()) }?;
/// # let m = heap.attach()?;
/// fn distinct(objects: &Slice<Gc<u64>>) -> usize {
///     objects.iter().map(|&object| ById(object)).collect::<HashSet<_>>().len()
/// }
/// let seven = m.alloc(7);
/// let objects = m.keep(m.alloc_slice(3, |i| if i == 0 { m.alloc(7) } else { seven }));
/// assert_eq!(distinct(&objects), 2);
/// # Ok::<(), heapwood::HeapError>(())
/// ```
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct ById<P>(pub P);

// SAFETY: it is its pointer.
unsafe impl<P: Pointer> Trace for ById<P> {
    const MAP: TypeMap = P::MAP;
}

// SAFETY: it is its pointer.
unsafe impl<P: Pointer + Shared> Shared for ById<P> {}

impl<P: Pointer> PartialEq for ById<P> {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.0.into_word() == other.0.into_word()
    }
}

impl<P: Pointer> Eq for ById<P> {}

impl<P: Pointer> PartialOrd for ById<P> {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The order of addresses. It means nothing, and stays.
impl<P: Pointer> Ord for ById<P> {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.into_word().cmp(&other.0.into_word())
    }
}

impl<P: Pointer> Hash for ById<P> {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.into_word().hash(state);
    }
}

impl<P> Deref for ById<P> {
    type Target = P;
    #[inline]
    fn deref(&self) -> &P {
        &self.0
    }
}

impl<P: Pointer> From<P> for ById<P> {
    #[inline]
    fn from(pointer: P) -> Self {
        ById(pointer)
    }
}

/// Shows the address.
impl<P: Pointer> fmt::Debug for ById<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ById({:#x})", self.0.into_word())
    }
}
