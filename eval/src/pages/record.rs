//! The measurements of one heap: nanoseconds an operation, for every stream of operations and round. Invariant: a
//! series has one value a round, except the first round, which warms up and determines the operations of a pass.

use crate::timing::{Pass, PassEnd};
use serde::Serialize;
use std::time::Duration;

/// The operations of a pass that is long enough.
pub(super) const PASS: PassEnd = PassEnd { ns: 50_000.0, wall: Duration::MAX };

/// The states of heaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum State {
    /// No page was ever used.
    Fresh,
    /// Every page is in use.
    Full,
    /// Every other page is in use, except the last 64, which are free.
    Checkerboard,
    /// 90 % of the pages are in use, each at random.
    RandomPages,
}

/// The repeated operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Operation {
    Allocate,
    /// An allocation, and a free of the same run: one operation.
    AllocateAndFree,
    FreeAscending,
    FreeRandom,
    FreeEveryOther,
    /// An operation is a page.
    FreeEveryOtherInBatches,
}

/// The path of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Access {
    /// The allocator alone: the work inside the lock.
    Bare,
    /// With an uncontended lock around each operation.
    Lock,
    /// Through a mutator's page cache.
    Cached,
}

/// Operations of one kind in one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Stream {
    pub(super) state: State,
    pub(super) what: Operation,
    /// The pages of one operation.
    pub(super) pages: usize,
    pub(super) how: Access,
}

/// A stream's passes.
pub(super) struct Series {
    pub(super) stream: Stream,
    /// The operations of one pass over one heap.
    pub(super) operations: usize,
    pub(super) ns: Vec<f64>,
}

/// All series of one heap, in the order of their first values.
#[derive(Default)]
pub(super) struct Record {
    series: Vec<Series>,
    measuring: bool,
}

impl Record {
    /// The warm-up is over.
    pub(super) fn measure(&mut self) {
        self.measuring = true;
    }

    /// The operations of a pass of the stream, if known.
    pub(super) fn operations(&self, stream: Stream) -> Option<usize> {
        self.find(stream).map(|series| series.operations)
    }

    pub(super) fn find(&self, stream: Stream) -> Option<&Series> {
        self.series.iter().find(|series| series.stream == stream)
    }

    /// All of them.
    pub(super) fn series(&self) -> &[Series] {
        &self.series
    }

    /// Records the trial of a stream.
    pub(super) fn tried(&mut self, stream: Stream, operations: usize) {
        if self.find(stream).is_none() {
            self.series.push(Series { stream, operations, ns: Vec::new() });
        }
    }

    /// Records a time of a stream.
    pub(super) fn timed(&mut self, stream: Stream, pass: Pass) {
        self.tried(stream, pass.operations);
        if self.measuring {
            self.series.iter_mut().filter(|series| series.stream == stream).for_each(|series| {
                series.ns.push(pass.ns);
            });
        }
    }
}
