//! The phase clock: the time of collections, in four phases that add up. *Prep* is the part of a collection before
//! marking, without sweeping: it asks the kernel, stops the threads and takes their runs. *Mark* lasts until they go
//! on. The thread that needs memory does *sweep* and *page recovery* before the next collection
//! (`heapwood-heap/src/reclaim/clock.rs`); the collecting thread's share of these counts there, not as prep. D's
//! collector times these phases under its PROFILING flag. Invariant: each moment of the collecting thread belongs to
//! one phase, and the sums are read without a lock.

use super::stats::Stats;
use crate::mark::MarkTotals;
use core::ops::Add;
use core::sync::atomic::{AtomicU64, Ordering};
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

impl Elapsed {
    /// A time measured in ticks, over batches so short that a thread is seldom interrupted in one: its CPU time is the
    /// same.
    fn of_batches(ns: u64) -> Self {
        Elapsed { wall: ns, cpu: ns }
    }

    fn less(self, ns: u64) -> Self {
        Elapsed { wall: self.wall.saturating_sub(ns), cpu: self.cpu.saturating_sub(ns) }
    }
}

impl Add for Elapsed {
    type Output = Elapsed;
    fn add(self, other: Elapsed) -> Elapsed {
        Elapsed { wall: self.wall + other.wall, cpu: self.cpu + other.cpu }
    }
}

/// The durations of the phases, of one collection or of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Phases {
    /// Includes the stop.
    pub(crate) prep: Elapsed,
    /// The stop alone.
    pub(crate) stop: Elapsed,
    pub(crate) mark: Elapsed,
    pub(crate) sweep: Elapsed,
    pub(crate) recovery: Elapsed,
}

impl Phases {
    /// The grand total.
    pub(crate) fn total(&self) -> Elapsed {
        self.prep + self.mark + self.sweep + self.recovery
    }

    /// Adds them to the statistics.
    pub(crate) fn add_to_stats(&self, stats: &mut Stats) {
        let total = self.total();
        stats.phase_prep_ns = self.prep.wall;
        stats.phase_prep_cpu_ns = self.prep.cpu;
        stats.phase_stop_ns = self.stop.wall;
        stats.phase_stop_cpu_ns = self.stop.cpu;
        stats.phase_mark_ns = self.mark.wall;
        stats.phase_mark_cpu_ns = self.mark.cpu;
        stats.phase_sweep_ns = self.sweep.wall;
        stats.phase_sweep_cpu_ns = self.sweep.cpu;
        stats.phase_recovery_ns = self.recovery.wall;
        stats.phase_recovery_cpu_ns = self.recovery.cpu;
        stats.phase_total_ns = total.wall;
        stats.phase_total_cpu_ns = total.cpu;
    }
}

/// A sum of durations.
#[derive(Default)]
struct Sum {
    wall: AtomicU64,
    cpu: AtomicU64,
}

impl Sum {
    fn add(&self, taken: Elapsed) {
        self.wall.fetch_add(taken.wall, Ordering::Relaxed);
        self.cpu.fetch_add(taken.cpu, Ordering::Relaxed);
    }

    fn get(&self) -> Elapsed {
        Elapsed { wall: self.wall.load(Ordering::Relaxed), cpu: self.cpu.load(Ordering::Relaxed) }
    }
}

/// The sums of all collections; those of sweep and recovery are in the space.
#[derive(Default)]
pub(crate) struct PhaseClock {
    prep: Sum,
    stop: Sum,
    mark: Sum,
}

impl PhaseClock {
    /// Adds a collection.
    pub(crate) fn add(&self, times: &Times) {
        self.prep.add(times.prep());
        self.stop.add(times.stop());
        self.mark.add(times.mark());
    }

    /// All phases so far; `reclaimed` are the space's times.
    pub(crate) fn phases(&self, reclaimed: &ReclaimTimes) -> Phases {
        Phases {
            prep: self.prep.get(),
            stop: self.stop.get(),
            mark: self.mark.get(),
            sweep: Elapsed::of_batches(reclaimed.sweep()),
            recovery: Elapsed::of_batches(reclaimed.recovery()),
        }
    }
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

    /// Prep: the time until marking begins, without the sweeping in it.
    pub(crate) fn prep(&self) -> Elapsed {
        let [before, after] = self.reclaimed;
        self.marking.since(self.began).less((after - before).by_collector())
    }

    /// The stop, a part of prep.
    pub(crate) fn stop(&self) -> Elapsed {
        self.stopped.since(self.requested)
    }

    /// Mark: the time until the mutators go on.
    pub(crate) fn mark(&self) -> Elapsed {
        let alone = self.ended.since(self.marking);
        Elapsed { cpu: alone.cpu + self.helped.0, ..alone }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(wall: u64, cpu: u64) -> Moment {
        Moment { wall, cpu }
    }

    #[test]
    fn every_moment_of_a_collection_is_in_one_phase() {
        let swept = |collector| ReclaimTimes {
            sweep_ns: [1000, 1000, collector],
            recovery_ns: [500, 0, 5],
            ..ReclaimTimes::default()
        };
        let times = Times {
            last_ended: 0,
            began: at(100, 10),
            requested: at(160, 60),
            stopped: at(190, 65),
            marking: at(200, 75),
            marked: at(290, 160),
            ended: at(300, 166),
            awaited: None,
            helped: (80, 1),
            reclaimed: [swept(7), swept(37)],
        };
        let clock = PhaseClock::default();
        clock.add(&times);
        let took = |wall, cpu| Elapsed { wall, cpu };
        let phases = clock.phases(&ReclaimTimes { sweep_ns: [0, 0, 30], ..ReclaimTimes::default() });
        assert_eq!((phases.prep, phases.stop), (took(70, 35), took(30, 5)));
        assert_eq!((phases.mark, phases.sweep), (took(100, 91 + 80), took(30, 30)));
        // The time of the collecting thread from its beginning to its end, and that of its helpers.
        assert_eq!(phases.total(), took(200, 156 + 80));
        clock.add(&times);
        assert_eq!(clock.phases(&ReclaimTimes::default()).total(), took(340, 2 * (35 + 171)));
    }
}
