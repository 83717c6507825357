//! The report of a heap on its collections (the option `trace`). Invariant: nothing is reported while the world is stopped.

use super::phases::Times;
use super::trace_line::{TraceLine, TracedCollection};
use crate::lock_order::TRACING;
use crate::settings::options::GcTrace;
use heapwood_heap::{ReclaimTimes, Space, SpaceStats};
use heapwood_os::diagnose::message::write_line;
use heapwood_os::process::clock::{monotonic_ns, process_cpu_ns};
use heapwood_os::{ForkLock, Lock};

/// The reports of a heap.
pub(crate) struct Tracing {
    is_on: bool,
    /// The time when the heap was made, and the CPU time of the process then.
    made: (u64, u64),
    /// The space's statistics at the last report.
    last: Lock<(SpaceStats, ReclaimTimes), TRACING>,
}

impl Tracing {
    /// For a heap with this option.
    pub(crate) fn new(trace: Option<GcTrace>) -> Self {
        Tracing {
            is_on: trace == Some(GcTrace::On),
            made: (monotonic_ns(), process_cpu_ns()),
            last: Lock::new(Default::default()),
        }
    }

    /// The lock of the last statistics, for a fork.
    pub(crate) fn fork_lock(&self) -> &impl ForkLock {
        &self.last
    }

    /// Whether each collection is reported.
    pub(crate) fn is_on(&self) -> bool {
        self.is_on
    }

    /// Reports a collection. All have taken `cpu_ns` of their threads so far.
    #[cold]
    pub(crate) fn report(&self, space: &Space, cpu_ns: u64, times: &Times, collected: &TracedCollection) {
        let mut last = self.last.lock();
        let now = (space.stats(), space.reclaim_clock().times());
        let (before, reclaimed_before) = core::mem::replace(&mut *last, now);
        let line = TraceLine {
            at: times.began.wall.saturating_sub(self.made.0),
            cpu: (cpu_ns, process_cpu_ns().saturating_sub(self.made.1)),
            collected,
            times,
            external: space.external().told(),
            space: [now.0, before],
            reclaimed: [now.1, reclaimed_before],
        };
        write_line(format_args!("{line}"));
    }
}
