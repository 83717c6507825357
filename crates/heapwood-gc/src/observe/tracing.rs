//! What a heap tells of its collections as they come, and when it ends (the option `trace`), and the phase clock, which
//! runs in any case. Invariant: nothing is told while the world is stopped.

use super::at_exit::Totals;
use super::phases::{Phases, Times};
use super::stats::Stats;
use super::trace_line::{RootBytes, TraceLine};
use crate::options::GcTrace;
use heapwood_heap::{Collection, ReclaimTimes, Space, SpaceStats};
use heapwood_os::clock::{monotonic_ns, process_cpu_ns};
use heapwood_os::message::write_line;
use heapwood_os::{ForkLock, Lock};

/// What is to be told of a collection beside its times.
pub(crate) struct TracedCollection {
    /// Its number, from 1.
    pub(crate) number: u64,
    pub(crate) kind: Collection,
    /// The heap's size in bytes when it began, and what was found alive.
    pub(crate) sizes: (usize, usize),
    /// The size at which it was due.
    pub(crate) goal: usize,
    /// What roots were looked at.
    pub(crate) roots: RootBytes,
    /// The program asked for it.
    pub(crate) forced: bool,
}

/// The clock of a heap's phases, and what it tells of them.
pub(crate) struct Tracing {
    what: GcTrace,
    totals: Totals,
    /// When the heap was made, and the CPU time of the process then.
    made: (u64, u64),
    /// The space's figures after the last collection that was told of.
    last: Lock<(SpaceStats, ReclaimTimes)>,
}

impl Tracing {
    /// A heap is made that is to tell this.
    pub(crate) fn new(what: Option<GcTrace>) -> Self {
        Tracing {
            what: what.unwrap_or(GcTrace::OFF),
            totals: Totals::new(),
            made: (monotonic_ns(), process_cpu_ns()),
            last: Lock::new(Default::default()),
        }
    }

    /// The lock of what was told last, for a process that forks.
    pub(crate) fn fork_lock(&self) -> &impl ForkLock {
        &self.last
    }

    /// The heap is where it will stay.
    ///
    /// # Safety
    /// 1. This and the space stay where they are, and exist, until [`Tracing::end`] has returned.
    pub(crate) unsafe fn begin(&self, space: &Space) {
        if self.what.has(GcTrace::PHASES) {
            // SAFETY: contract 1.
            unsafe { self.totals.report_at_exit(space.reclaim_clock()) };
        }
    }

    /// The heap ends.
    pub(crate) fn end(&self) {
        self.totals.end();
    }

    /// Whether each collection is told of.
    pub(crate) fn traces_collections(&self) -> bool {
        self.what.has(GcTrace::COLLECTIONS)
    }

    fn phases(&self, space: &Space) -> Phases {
        self.totals.clock().phases(&space.reclaim_clock().times())
    }

    /// A collection has ended, and the threads go on.
    pub(crate) fn add(&self, times: &Times) {
        self.totals.clock().add(times);
    }

    /// Tells of a collection that has been added.
    #[cold]
    pub(crate) fn report_collection(&self, space: &Space, times: &Times, collected: &TracedCollection) {
        let mut last = self.last.lock();
        let now = (space.stats(), space.reclaim_clock().times());
        let (before, reclaimed_before) = core::mem::replace(&mut *last, now);
        let line = TraceLine {
            number: collected.number,
            kind: collected.kind,
            at: times.began.wall.saturating_sub(self.made.0),
            collector: (self.phases(space), process_cpu_ns().saturating_sub(self.made.1)),
            times,
            sizes: collected.sizes,
            goal: collected.goal,
            roots: collected.roots,
            forced: collected.forced,
            space: [now.0, before],
            reclaimed: [now.1, reclaimed_before],
        };
        write_line(format_args!("{line}"));
    }

    /// Writes the phases into the figures.
    pub(crate) fn tell(&self, space: &Space, stats: &mut Stats) {
        self.phases(space).tell(stats);
    }
}
