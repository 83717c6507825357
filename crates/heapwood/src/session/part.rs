//! What a session has beside its root: the thread's seat in the heap, and the values that are dropped for it. Invariant: the values
//! go before the seat, on the session's thread.

use super::owned::Values;
use super::seat::{Seat, Visit};
use crate::heap::Inner;
use heapwood_gc::{Heap, HeapError};
use heapwood_heap::Collection;
use std::sync::Arc;

pub(super) struct Part {
    seat: Seat,
    values: Values,
}

impl Part {
    /// Attaches the thread to a heap, in which nobody else has a part if it `is_alone`.
    pub(super) fn new(inner: &Arc<Inner>, is_alone: bool) -> Result<Self, HeapError> {
        Ok(Part { seat: Seat::new(inner)?, values: Values::new(is_alone) })
    }

    pub(super) fn heap(&self) -> &Heap {
        self.seat.heap()
    }

    /// Enters the heap until the visit is dropped.
    #[inline]
    pub(super) fn enter(&self) -> Visit<'_> {
        self.seat.enter()
    }

    /// Collects what is due, and drops the values of what was found dead; whether it has collected.
    #[inline]
    pub(super) fn collect_owed(&self) -> bool {
        let collected = self.seat.collect_owed();
        self.values.drop_dead(&self.seat);
        collected
    }

    /// Collects now, and drops those values.
    pub(super) fn collect(&self, kind: Collection) {
        self.seat.collect(kind);
        self.values.drop_dead(&self.seat);
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        self.values.end(&self.seat);
    }
}
