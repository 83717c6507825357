//! What was measured of one heap: for every stream of operations the nanoseconds an operation, round by round.
//! Invariant: a series has one value a round, but for the first round, which only warms up and leaves behind how many
//! operations a pass has.

use crate::timing::{Enough, Pass};
use serde::Serialize;
use std::time::Duration;

/// A pass over a heap is long enough with this.
pub(super) const PASS: Enough = Enough { ns: 50_000.0, wall: Duration::MAX };

/// The states heaps are in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum State {
    /// No page was ever used.
    Fresh,
    /// Every page is in use.
    Full,
    /// Every other page is in use, but for the last 64, which are free.
    Checkerboard,
    /// 90 % of the pages are in use, each page drawn for itself.
    RandomPages,
    /// 90 % of the pages are in use, in runs of 1 to 16 pages.
    RandomRuns,
}

/// What is done over and over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum What {
    Allocate,
    /// An allocation, and a free of the same run: one operation.
    AllocateAndFree,
    FreeAscending,
    FreeRandom,
    FreeEveryOther,
    /// An operation is a page.
    FreeEveryOtherInBatches,
    /// A free of a random run, and an allocation of 1 to 16 pages: one operation.
    Mix,
}

/// By which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum How {
    /// The allocator alone: what a holder of the lock does.
    Bare,
    /// Taking and letting go an uncontended lock each time.
    Lock,
    /// Through a mutator's page cache.
    Cached,
}

/// Operations of one kind in one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Stream {
    pub(super) state: State,
    pub(super) what: What,
    /// How many pages at once.
    pub(super) pages: usize,
    pub(super) how: How,
}

/// A stream's passes.
pub(super) struct Series {
    pub(super) stream: Stream,
    /// Of a pass over one heap, however often that is repeated.
    pub(super) operations: usize,
    pub(super) ns: Vec<f64>,
}

/// All series of one heap, in the order in which they were first met.
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

    /// How many operations a pass of the stream has, if that is known.
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

    /// The stream was tried out.
    pub(super) fn tried(&mut self, stream: Stream, operations: usize) {
        if self.find(stream).is_none() {
            self.series.push(Series { stream, operations, ns: Vec::new() });
        }
    }

    /// The stream was timed.
    pub(super) fn timed(&mut self, stream: Stream, pass: Pass) {
        self.tried(stream, pass.operations);
        if self.measuring {
            self.series.iter_mut().filter(|series| series.stream == stream).for_each(|series| {
                series.ns.push(pass.ns);
            });
        }
    }
}
