//! The reports of a heap on its collections and at its end (the option `trace`), and the phase clock, which always
//! runs. Invariant: nothing is reported while the world is stopped.

use super::at_exit::Totals;
use super::memory_parts::{MEMORY_PARTS, MemoryParts};
use super::phases::{Phases, Times};
use super::record::ConcurrentTotals;
use super::stats::Stats;
use super::trace_line::{RootBytes, TraceLine};
use crate::lock_order::TRACING;
use crate::settings::options::GcTrace;
use core::fmt;
use heapwood_heap::{ReclaimTimes, Space, SpaceStats};
use heapwood_os::diagnose::message::write_line;
use heapwood_os::process::clock::{monotonic_ns, process_cpu_ns};
use heapwood_os::{ForkLock, Lock};

/// Figures of a collection for its report, besides its times.
pub(crate) struct TracedCollection {
    /// Its number, from 1.
    pub(crate) number: u64,
    /// What its pause did, and why.
    pub(crate) kind: &'static str,
    pub(crate) cause: &'static str,
    /// The concurrent marking that it ended.
    pub(crate) ended: Option<ConcurrentTotals>,
    /// The heap's size in bytes when it began, and the live bytes.
    pub(crate) sizes: (usize, usize),
    /// The size at which it was due.
    pub(crate) goal: usize,
    /// Bytes of the scanned roots.
    pub(crate) roots: RootBytes,
    /// The program asked for it.
    pub(crate) forced: bool,
}

/// The phase clock of a heap, and its reports.
pub(crate) struct Tracing {
    what: GcTrace,
    totals: Totals,
    /// The time when the heap was made, and the CPU time of the process then.
    made: (u64, u64),
    /// The space's statistics at the last report.
    last: Lock<(SpaceStats, ReclaimTimes), TRACING>,
}

impl Tracing {
    /// For a heap with this option.
    pub(crate) fn new(what: Option<GcTrace>) -> Self {
        Tracing {
            what: what.unwrap_or(GcTrace::OFF),
            totals: Totals::new(),
            made: (monotonic_ns(), process_cpu_ns()),
            last: Lock::new(Default::default()),
        }
    }

    /// The lock of the last statistics, for a fork.
    pub(crate) fn fork_lock(&self) -> &impl ForkLock {
        &self.last
    }

    /// The heap is in its final place.
    ///
    /// # Safety
    /// 1. This and the space stay in place, and exist, until [`Tracing::end`] has returned.
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

    /// Whether each collection is reported.
    pub(crate) fn traces_collections(&self) -> bool {
        self.what.has(GcTrace::COLLECTIONS)
    }

    /// Whether full collections report where the memory is.
    pub(crate) fn traces_memory(&self) -> bool {
        self.what.has(GcTrace::MEMORY)
    }

    /// Reports where the memory was when the collection with this number began.
    #[cold]
    pub(crate) fn report_memory(&self, number: u64, parts: &MemoryParts) {
        write_line(format_args!("{}", MemoryLine { number, parts }));
    }

    fn phases(&self, space: &Space) -> Phases {
        self.totals.clock().phases(&space.reclaim_clock().times())
    }

    /// Adds a collection, after which the threads go on.
    pub(crate) fn add(&self, times: &Times) {
        self.totals.clock().add(times);
    }

    /// Reports a collection that was added.
    #[cold]
    pub(crate) fn report_collection(&self, space: &Space, times: &Times, collected: &TracedCollection) {
        let mut last = self.last.lock();
        let now = (space.stats(), space.reclaim_clock().times());
        let (before, reclaimed_before) = core::mem::replace(&mut *last, now);
        let line = TraceLine {
            number: collected.number,
            kind: collected.kind,
            cause: collected.cause,
            ended: collected.ended,
            at: times.began.wall.saturating_sub(self.made.0),
            collector: (self.phases(space), process_cpu_ns().saturating_sub(self.made.1)),
            times,
            sizes: collected.sizes,
            goal: collected.goal,
            roots: collected.roots,
            external: (space.external().told(), space.external().added()),
            forced: collected.forced,
            space: [now.0, before],
            reclaimed: [now.1, reclaimed_before],
        };
        write_line(format_args!("{line}"));
    }

    /// Adds the phases to the statistics.
    pub(crate) fn add_to_stats(&self, space: &Space, stats: &mut Stats) {
        self.phases(space).add_to_stats(stats);
    }
}

/// The line of the memory: the parts that are something, in KiB.
struct MemoryLine<'p> {
    number: u64,
    parts: &'p MemoryParts,
}

impl fmt::Display for MemoryLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "mem {}: KiB", self.number)?;
        let mut parts = MEMORY_PARTS.iter().zip(self.parts.values()).filter(|(_, bytes)| *bytes > 0);
        parts.try_for_each(|(part, bytes)| write!(f, " {}={}", part.name, bytes.div_ceil(1024)))
    }
}
