//! What mutators share under one lock: the lists of spans by shape, and the cycle's budget. (Pages have a lock of their
//! own; who needs both takes this one first.)
//!
//! A mutator comes here once for several spans. Invariant: every span is on exactly one list here, or on one of a
//! mutator's bump, or is owned by it, or has just been taken by the thread that holds the lock.

use crate::shape_id::{MAX_SHAPES, ShapeId};
use crate::span::NO_SPAN;
use heapwood_os::region::Zeroed;
use heapwood_os::{KernelRef, MappedArray, OsError};
use heapwood_pages::PageIndex;

/// A list of spans linked through their descriptors, in order of arrival.
#[derive(Clone, Copy)]
pub(crate) struct SpanList {
    pub(crate) head: u32,
    pub(crate) tail: u32,
}

impl SpanList {
    pub(crate) const EMPTY: SpanList = SpanList { head: NO_SPAN, tail: NO_SPAN };

    pub(crate) fn is_empty(self) -> bool {
        self.head == NO_SPAN
    }
}

/// The spans of one shape that no mutator owns.
#[derive(Clone, Copy)]
pub(crate) struct ShapeLists {
    /// Not looked at since the last marking.
    pub(crate) unswept: SpanList,
    /// Full, or used up since.
    pub(crate) swept: SpanList,
}

// SAFETY: NO_SPAN is 0, so all-zero bytes are two empty lists.
unsafe impl Zeroed for ShapeLists {}

/// The state behind the heap's lock.
pub(crate) struct Central {
    /// Everything below has been grown or skipped; metadata is committed up to here.
    pub(crate) high_water: PageIndex,
    lists: MappedArray<ShapeLists>,
    /// Whether any unswept list may hold a span.
    pub(crate) unswept: bool,
    /// Bytes handed out since the last marking, and how many may be.
    pub(crate) allocated: usize,
    pub(crate) budget: usize,
    /// Bytes handed out since the heap was made.
    pub(crate) total_allocated: u64,
    /// Small-object spans handed out since the heap was made, and visits to this state in which none, one or many were.
    pub(crate) spans: u64,
    pub(crate) visits: u64,
}

impl Central {
    pub(crate) fn new(kernel: KernelRef) -> Result<Self, OsError> {
        let lists = MappedArray::new(kernel, MAX_SHAPES)?;
        lists.commit(0..MAX_SHAPES)?;
        Ok(Central {
            high_water: PageIndex(0),
            lists,
            unswept: false,
            allocated: 0,
            budget: usize::MAX,
            total_allocated: 0,
            spans: 0,
            visits: 0,
        })
    }

    pub(crate) fn lists(&mut self, shape: ShapeId) -> &mut ShapeLists {
        // SAFETY: all lists are committed, and `&mut self` means that the lock is held.
        unsafe { &mut *self.lists.at(shape.index()) }
    }

    /// Whether a collection should come before `bytes` more are handed out: they exceed the budget, and something
    /// was handed out since the last collection, so that one more may help.
    pub(crate) fn collection_due(&self, bytes: usize) -> bool {
        self.allocated > 0 && self.allocated.saturating_add(bytes) > self.budget
    }

    /// Notes that `bytes` were handed out.
    pub(crate) fn charge(&mut self, bytes: usize) {
        self.allocated += bytes;
        self.total_allocated += bytes as u64;
    }
}
