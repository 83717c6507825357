//! Lists of spans, linked through their descriptors, in order of arrival. Whoever holds a list owns the spans on it: the
//! holder of the central lock those of shared lists, a thread those of a list of its own. Invariant: the last span's link
//! is [`NO_SPAN`], and an empty list has neither head nor tail.

use crate::spans::lookup::Spans;
use crate::spans::span::NO_SPAN;
use heapwood_pages::PageIndex;

/// A list of spans.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SpanList {
    head: u32,
    tail: u32,
}

const _: () = assert!(NO_SPAN == 0, "a list of zero bytes is empty");

impl SpanList {
    pub(crate) const EMPTY: SpanList = SpanList { head: NO_SPAN, tail: NO_SPAN };

    pub(crate) fn is_empty(self) -> bool {
        self.head == NO_SPAN
    }

    /// The first span.
    pub(crate) fn first(self) -> Option<PageIndex> {
        (self.head != NO_SPAN).then_some(PageIndex(self.head as usize))
    }

    /// The last.
    pub(crate) fn last(self) -> Option<PageIndex> {
        (self.tail != NO_SPAN).then_some(PageIndex(self.tail as usize))
    }

    /// The list that begins with `first`, whose links lead to its end.
    pub(crate) fn linked_from(spans: &Spans, first: u32) -> Self {
        let mut tail = first;
        while tail != NO_SPAN && spans.numbered(tail).next() != NO_SPAN {
            tail = spans.numbered(tail).next();
        }
        SpanList { head: first, tail }
    }

    /// The spans that are linked from the last one back to the first.
    pub(crate) fn linked_back_from(spans: &Spans, last: u32) -> Self {
        let (mut at, mut head) = (last, NO_SPAN);
        while at != NO_SPAN {
            let span = spans.numbered(at);
            let before = span.next();
            span.set_next(head);
            (at, head) = (before, at);
        }
        SpanList { head, tail: last }
    }

    /// The number of the first span, for those who keep no more of a list than that.
    pub(crate) fn head(self) -> u32 {
        self.head
    }

    /// Adds a span at the end.
    pub(crate) fn push(&mut self, spans: &Spans, page: PageIndex) {
        spans.at(page).set_next(NO_SPAN);
        self.append(spans, SpanList { head: page.0 as u32, tail: page.0 as u32 });
    }

    /// Adds a list at the end.
    pub(crate) fn append(&mut self, spans: &Spans, other: SpanList) {
        if other.is_empty() {
            return;
        }
        if self.is_empty() {
            *self = other;
        } else {
            spans.numbered(self.tail).set_next(other.head);
            self.tail = other.tail;
        }
    }

    /// Adds a list before the first.
    pub(crate) fn prepend(&mut self, spans: &Spans, mut other: SpanList) {
        other.append(spans, *self);
        *self = other;
    }

    /// Takes the first span.
    pub(crate) fn pop(&mut self, spans: &Spans) -> Option<PageIndex> {
        let first = self.first()?;
        self.head = spans.at(first).next();
        if self.head == NO_SPAN {
            self.tail = NO_SPAN;
        }
        Some(first)
    }

    /// Takes up to `most` spans off the beginning.
    pub(crate) fn split(&mut self, spans: &Spans, most: u32) -> SpanList {
        let mut taken = SpanList { head: self.head, tail: NO_SPAN };
        for _ in 0..most {
            match self.pop(spans) {
                Some(page) => taken.tail = page.0 as u32,
                None => break,
            }
        }
        if taken.tail == NO_SPAN {
            return SpanList::EMPTY;
        }
        spans.numbered(taken.tail).set_next(NO_SPAN);
        taken
    }
}
