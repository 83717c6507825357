//! Keys by identity, for what compares by content itself. Invariant: two keys are equal if they are one object, and an object's hash
//! and order stay as they are, for objects never move.

use crate::gc_cell::{CellValue, OnePointer, word_of};
use crate::shared::Shared;
use crate::trace::{Trace, TypeMap};
use core::cmp::Ordering;
use core::hash::{Hash, Hasher};

/// A [`Gc`](crate::Gc), or a weak reference, that is compared, ordered and hashed by the address of its object, not by its contents.
/// `None` is less than all.
///
/// ```
/// # use heapwood::{ById, Config, Gc, Heap};
/// # use std::collections::HashSet;
/// # // SAFETY: this program keeps its objects alive by the stack.
/// # let heap = unsafe { Heap::new(Config::default()) }?;
/// # let m = heap.attach()?;
/// // A set in ordinary memory keeps nothing alive: this slice does.
/// let all = m.keep(m.alloc_slice(3, |_| m.alloc(7u64)));
/// let visited: HashSet<ById<Gc<u64>>> = all.iter().map(|&object| ById(object)).collect();
/// assert_eq!(visited.len(), 3, "equal, but not the same");
/// # Ok::<(), heapwood::HeapError>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct ById<P>(pub P);

// SAFETY: it holds its content and nothing else.
unsafe impl<P: Trace> Trace for ById<P> {
    const MAP: TypeMap = P::MAP;
}

// SAFETY: as above.
unsafe impl<'gc, P: CellValue<'gc>> CellValue<'gc> for ById<P> {}

// SAFETY: as above.
unsafe impl<P: Shared> Shared for ById<P> {}

impl<P: OnePointer> PartialEq for ById<P> {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        word_of(self.0) == word_of(other.0)
    }
}

impl<P: OnePointer> Eq for ById<P> {}

impl<P: OnePointer> PartialOrd for ById<P> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<P: OnePointer> Ord for ById<P> {
    fn cmp(&self, other: &Self) -> Ordering {
        word_of(self.0).cmp(&word_of(other.0))
    }
}

impl<P: OnePointer> Hash for ById<P> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        word_of(self.0).hash(state);
    }
}
