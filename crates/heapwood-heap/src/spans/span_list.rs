//! Lists of spans in order of arrival, as chains of batches (as in tcmalloc). The spans of a batch are linked, and its
//! first span records the end of the batch and the next one. So whole batches move between lists by a few stores, and
//! taking a few spans reads few of them. The holder of a list owns the spans on it: the holder of the central lock
//! those of central lists, a thread those of its own lists. Invariant: a batch has 1 to [`MOST_IN_BATCH`] spans; the
//! link of its last span, and the next batch of the last batch, are [`NO_SPAN`]; an empty list is all zeros.

use crate::spans::lookup::Spans;
use crate::spans::span::{Batch, NO_SPAN};
use heapwood_pages::PageIndex;

/// The most spans of a batch.
pub(crate) const MOST_IN_BATCH: u8 = 16;

/// A list of spans.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SpanList {
    /// The first span, which is the first of the first batch.
    head: u32,
    /// The first span of the last batch.
    last_batch: u32,
    len: u32,
}

const _: () = assert!(NO_SPAN == 0, "a list of zero bytes is empty");

impl SpanList {
    pub(crate) const EMPTY: SpanList = SpanList { head: NO_SPAN, last_batch: NO_SPAN, len: 0 };

    pub(crate) fn is_empty(self) -> bool {
        self.head == NO_SPAN
    }

    /// The number of spans.
    pub(crate) fn len(self) -> u32 {
        self.len
    }

    /// The first span.
    pub(crate) fn first(self) -> Option<PageIndex> {
        (self.head != NO_SPAN).then_some(PageIndex(self.head as usize))
    }

    /// Adds a span at the end.
    pub(crate) fn push(&mut self, spans: &Spans, page: PageIndex) {
        let number = page.0 as u32;
        let span = spans.own(page);
        span.set_next(NO_SPAN);
        span.set_batch(Batch { next: NO_SPAN, last: number, len: 1 });
        self.append(spans, SpanList { head: number, last_batch: number, len: 1 });
    }

    /// Adds a list at the end; two small batches become one where they meet.
    pub(crate) fn append(&mut self, spans: &Spans, other: SpanList) {
        if other.is_empty() {
            return;
        }
        if self.is_empty() {
            *self = other;
            return;
        }
        self.len += other.len;
        let last = spans.numbered(self.last_batch);
        let (batch, theirs) = (last.batch(), spans.numbered(other.head).batch());
        if batch.len + theirs.len > MOST_IN_BATCH {
            last.set_batch(Batch { next: other.head, ..batch });
            self.last_batch = other.last_batch;
            return;
        }
        spans.numbered(batch.last).set_next(other.head);
        last.set_batch(Batch { next: theirs.next, last: theirs.last, len: batch.len + theirs.len });
        if other.last_batch != other.head {
            self.last_batch = other.last_batch;
        }
    }

    /// Adds a list at the front.
    pub(crate) fn prepend(&mut self, spans: &Spans, mut other: SpanList) {
        other.append(spans, *self);
        *self = other;
    }

    /// Takes the first span.
    pub(crate) fn pop(&mut self, spans: &Spans) -> Option<PageIndex> {
        let first = self.first()?;
        let span = spans.own(first);
        let (batch, next) = (span.batch(), span.next());
        self.len -= 1;
        if next == NO_SPAN {
            self.head = batch.next;
            if self.head == NO_SPAN {
                self.last_batch = NO_SPAN;
            }
        } else {
            spans.numbered(next).set_batch(Batch { len: batch.len - 1, ..batch });
            if self.last_batch == self.head {
                self.last_batch = next;
            }
            self.head = next;
        }
        Some(first)
    }

    /// Takes up to `most` spans off the front: whole batches, or a part of the first.
    pub(crate) fn split(&mut self, spans: &Spans, most: u32) -> SpanList {
        let mut taken = SpanList { head: self.head, ..SpanList::EMPTY };
        while self.head != NO_SPAN {
            let batch = spans.numbered(self.head).batch();
            if taken.len + batch.len as u32 > most {
                break;
            }
            taken.last_batch = self.head;
            taken.len += batch.len as u32;
            self.len -= batch.len as u32;
            self.head = batch.next;
        }
        if taken.len == 0 {
            return self.split_batch(spans, most);
        }
        let last = spans.numbered(taken.last_batch);
        last.set_batch(Batch { next: NO_SPAN, ..last.batch() });
        if self.head == NO_SPAN {
            self.last_batch = NO_SPAN;
        }
        taken
    }

    /// Takes `most` spans of the first batch, which has more.
    fn split_batch(&mut self, spans: &Spans, most: u32) -> SpanList {
        let mut taken = SpanList::EMPTY;
        for _ in 0..most {
            match self.pop(spans) {
                Some(page) => taken.push(spans, page),
                None => break,
            }
        }
        taken
    }

    /// All spans in order, each with whether batches and counts are correct so far; for the last one, this includes
    /// the length.
    pub(crate) fn walk(self, spans: &Spans) -> impl Iterator<Item = (PageIndex, bool)> {
        let (mut at, mut in_batch, mut seen) = (self.head, 0, 0);
        let mut batch = None;
        core::iter::from_fn(move || {
            if at == NO_SPAN || at as usize >= spans.end().0 {
                return None;
            }
            let page = PageIndex(at as usize);
            let (here, mut right) = (spans.own(page), true);
            let first = *batch.get_or_insert_with(|| here.batch());
            (in_batch, seen) = (in_batch + 1, seen + 1);
            at = here.next();
            if at == NO_SPAN {
                right = first.last as usize == page.0 && first.len == in_batch && in_batch <= MOST_IN_BATCH;
                (at, in_batch, batch) = (first.next, 0, None);
            }
            right &= (at == NO_SPAN) == (seen == self.len);
            if seen > self.len {
                at = NO_SPAN;
            }
            Some((page, right))
        })
    }
}
