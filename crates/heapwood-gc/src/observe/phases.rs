//! The moments of one collection, which divide its time into phases. *Prep* is the part of a collection before
//! marking, without sweeping: it asks the kernel, stops the threads and takes what they hand in. *Mark* lasts until they go
//! on. The thread that needs memory does *sweep* and *page recovery* before the next collection
//! (`heapwood-heap/src/reclaim/clock.rs`); the collecting thread's share of these counts there, not as prep. D's
//! collector times these phases under its PROFILING flag. Invariant: each moment of the collecting thread belongs to
//! one phase.

use crate::mark::MarkTotals;
use heapwood_heap::{ReclaimTimes, Space};
use heapwood_os::process::clock::{monotonic_ns, thread_cpu_ns};

/// A moment of the collecting thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    /// Nanoseconds of the monotonic clock.
    pub(crate) wall: u64,
    /// Nanoseconds of the thread's CPU time.
    pub(crate) cpu: u64,
}

impl Moment {
    pub(crate) fn now() -> Self {
        Moment { wall: monotonic_ns(), cpu: thread_cpu_ns() }
    }

    /// The time from `earlier` to this.
    pub(super) fn since(self, earlier: Moment) -> Elapsed {
        Elapsed { wall: self.wall.saturating_sub(earlier.wall), cpu: self.cpu.saturating_sub(earlier.cpu) }
    }
}

/// The thread for which a stop waited last: when it was seen to have stopped, all others had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AwaitedThread {
    /// The system's number of the thread.
    pub(crate) thread: u32,
    /// Nanoseconds from the first request until then.
    pub(crate) ns: u64,
}

/// The moments of one collection; each is set by the phase that ends with it.
pub(crate) struct Times {
    /// The end of the last collection, in nanoseconds of the monotonic clock.
    pub(crate) last_ended: u64,
    /// The collection begins to sweep the rest of the last cycle; no thread waits yet.
    pub(crate) began: Moment,
    /// It asks the mutators to stop.
    pub(crate) requested: Moment,
    /// All have stopped.
    pub(crate) stopped: Moment,
    /// Marking begins.
    pub(crate) marking: Moment,
    /// Marking has ended.
    pub(crate) marked: Moment,
    /// The mutators go on.
    pub(crate) ended: Moment,
    /// The thread that was waited for last, if any was.
    pub(crate) awaited: Option<AwaitedThread>,
    /// CPU time of the helpers in nanoseconds, and their number.
    pub(crate) helped: (u64, u32),
    /// The reclaim times when the collection began, and when marking began.
    pub(crate) reclaimed: [ReclaimTimes; 2],
}

/// The duration of a phase, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Elapsed {
    pub(crate) wall: u64,
    pub(crate) cpu: u64,
}

impl Times {
    /// The times of a collection that begins now.
    pub(crate) fn begin(space: &Space, last_ended: u64) -> Self {
        let (now, reclaimed) = (Moment::now(), space.reclaim_clock().times());
        Times {
            last_ended,
            began: now,
            requested: now,
            stopped: now,
            marking: now,
            marked: now,
            ended: now,
            awaited: None,
            helped: (0, 0),
            reclaimed: [reclaimed, reclaimed],
        }
    }

    /// Marking begins now.
    pub(crate) fn begin_marking(&mut self, space: &Space) {
        (self.marking, self.reclaimed[1]) = (Moment::now(), space.reclaim_clock().times());
    }

    /// Marking ends now.
    pub(crate) fn end_marking(&mut self, marked: &MarkTotals) {
        self.marked = Moment::now();
        self.helped = (marked.helpers_cpu_ns, marked.helpers);
    }

    /// Nanoseconds from the end of the last collection to the beginning of this.
    pub(crate) fn since_last(&self) -> u64 {
        self.began.wall.saturating_sub(self.last_ended)
    }

    /// Nanoseconds of prep: the time until marking begins, without the sweeping in it.
    pub(crate) fn prep(&self) -> u64 {
        let [before, after] = self.reclaimed;
        self.marking.since(self.began).wall.saturating_sub(after.collector_ns - before.collector_ns)
    }

    /// Nanoseconds of the stop, a part of prep.
    pub(crate) fn stop(&self) -> u64 {
        self.stopped.since(self.requested).wall
    }

    /// Nanoseconds of mark: the time until the mutators go on.
    pub(crate) fn mark(&self) -> u64 {
        self.ended.since(self.marking).wall
    }

    /// Nanoseconds of the pause: the time in which mutators cannot go on.
    pub(crate) fn pause(&self) -> u64 {
        self.ended.since(self.requested).wall
    }
}
