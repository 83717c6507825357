//! What mutators share under one lock: the page allocator, the lists of spans by shape, and the cycle's budget.
//!
//! A mutator comes here when its span is exhausted, not for every run in it. Invariant: every span is on exactly
//! one list, or is owned by one mutator's bump, or has just been taken by the thread that holds the lock.

use crate::shape::{MAX_SHAPES, ShapeId};
use crate::span::NO_SPAN;
use heapwood_os::region::Zeroed;
use heapwood_os::{KernelRef, MappedArray, OsError};
use heapwood_pages::{Bits48, NewError, PageAllocator, PageCount, PageIndex};

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
    pub(crate) pages: PageAllocator<Bits48>,
    /// Everything below has been grown or skipped; metadata is committed up to here.
    pub(crate) high_water: PageIndex,
    lists: MappedArray<ShapeLists>,
    /// Whether any unswept list may hold a span.
    pub(crate) unswept: bool,
    /// Which cycle's sweep spans are measured against.
    pub(crate) cycle: u32,
    /// Bytes handed out since the last marking, and how many may be.
    pub(crate) allocated: usize,
    pub(crate) budget: usize,
    /// Bytes handed out since the heap was made.
    pub(crate) total_allocated: u64,
    pub(crate) pages_in_use: PageCount,
    pub(crate) limit: Option<usize>,
}

impl Central {
    pub(crate) fn new(kernel: KernelRef, window: PageCount) -> Result<Self, OsError> {
        let lists = MappedArray::new(kernel, MAX_SHAPES)?;
        lists.commit(0..MAX_SHAPES)?;
        Ok(Central {
            pages: match PageAllocator::new(kernel, window) {
                Ok(pages) => pages,
                Err(NewError::Refused(e)) => return Err(e),
                Err(NewError::WindowTooLarge { .. }) => unreachable!("windows are clamped to MAX_WINDOW"),
            },
            high_water: PageIndex(0),
            lists,
            unswept: false,
            cycle: 1,
            allocated: 0,
            budget: usize::MAX,
            total_allocated: 0,
            pages_in_use: PageCount(0),
            limit: None,
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
