//! The stack of an attached thread, whose words are ambiguous roots. Invariant: while its thread is stopped, every pointer
//! that the thread's functions hold lies in the words in use, for its registers were pushed before the lowest was noted.

use crate::error::HeapError;
use core::cell::Cell;
use core::ops::Range;
use heapwood_os::stack::StackBounds;

/// The stack that a thread was attached with.
#[derive(Clone, Debug)]
pub(crate) struct ThreadStack {
    /// The thread's own, if that is it.
    bounds: Cell<Option<StackBounds>>,
    /// One past the highest word that may hold pointers.
    end: usize,
    /// While stopped: the lowest word in use.
    lowest: Cell<usize>,
}

impl ThreadStack {
    /// The stack of the calling thread, up to `end` if that is given.
    pub(crate) fn here(end: Option<usize>) -> Result<Self, HeapError> {
        let here = 0u8;
        let own =
            StackBounds::current().filter(|own| (own.low..own.high).contains(&(&raw const here as usize)));
        let end = end.or(own.map(|own| own.high)).ok_or(HeapError::UnknownStack)?;
        Ok(ThreadStack { bounds: Cell::new(own.filter(|own| end <= own.high)), end, lowest: Cell::new(end) })
    }

    /// Whether a stack pointer is in it. Of a stack that is not the thread's own only the end is known.
    fn contains(&self, pointer: usize) -> bool {
        let inside = |mut bounds: StackBounds| {
            let inside = bounds.contains(pointer);
            // The first thread's stack may have become longer.
            self.bounds.set(Some(bounds));
            inside
        };
        pointer < self.end && self.bounds.get().is_none_or(inside)
    }

    /// Notes the lowest word in use; false if that is not in this stack.
    pub(crate) fn note(&self, lowest: usize) -> bool {
        let inside = self.contains(lowest);
        if inside {
            self.lowest.set(lowest);
        }
        inside
    }

    /// The same for a thread that may be on another stack: of one of which only the end is known, that the thread is on it is
    /// known from its being on `beside`, if that has the same end.
    pub(crate) fn note_beside(&self, lowest: usize, beside: Option<&ThreadStack>) -> bool {
        let known = self.bounds.get().is_some() || beside.is_some_and(|other| other.end == self.end);
        known && self.note(lowest)
    }

    /// Nothing of it is in use any more.
    pub(crate) fn clear(&self) {
        self.lowest.set(self.end);
    }

    /// The words in use, while its thread is stopped.
    pub(super) fn in_use(&self) -> Range<usize> {
        self.lowest.get()..self.end
    }
}
