//! How long sweeping takes, how long page recovery (free spans back to the page allocator), and by whom. Both come in
//! batches of microseconds, on whatever thread needs them, so that they are read in ticks of the processor's counter, twice
//! or three times a batch: system calls for CPU time would take longer than the batches. Who has swept keeps the figures until
//! it next takes the lock of the span lists. Invariant: every figure is a sum that only grows, written under that lock and so
//! without a read-modify-write, and may be read by anybody without it, a process that is ending included.

use core::ops::{Add, Sub};
use core::sync::atomic::{AtomicU64, Ordering};
use heapwood_os::timed_lock::{TickClock, ticks};

/// Who sweeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sweeping {
    /// A thread of the program, because it allocates, or asks for memory to be released.
    Allocation,
    /// The heap's own thread.
    Background,
    /// The thread that collects, before it marks.
    Collector,
}

/// One who sweeps: how many spans, and the nanoseconds that it took.
#[derive(Default)]
struct Sums {
    spans: AtomicU64,
    sweep: AtomicU64,
    recovery: AtomicU64,
}

/// The times of one space.
pub struct ReclaimClock {
    clock: TickClock,
    sums: [Sums; 3],
    starved: AtomicU64,
}

/// What sweeping and page recovery took so far, in nanoseconds: by allocation, in the background, by the collector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReclaimTimes {
    /// Spans swept.
    pub spans: [u64; 3],
    /// Sweeping them.
    pub sweep_ns: [u64; 3],
    /// Giving those that were empty to the page allocator.
    pub recovery_ns: [u64; 3],
    /// Visits to the span lists that brought less than the mutator would have taken with more room: what a small heap costs
    /// allocation. What is swept in them counts here, too.
    pub starved_ns: u64,
}

impl ReclaimTimes {
    /// The time of all sweeps.
    pub fn sweep(&self) -> u64 {
        self.sweep_ns.iter().sum()
    }

    /// What the collecting thread swept and recovered.
    pub fn by_collector(&self) -> u64 {
        self.sweep_ns[Sweeping::Collector as usize] + self.recovery_ns[Sweeping::Collector as usize]
    }

    /// The time of all page recovery.
    pub fn recovery(&self) -> u64 {
        self.recovery_ns.iter().sum()
    }
}

impl Sub for ReclaimTimes {
    type Output = Self;
    /// What was done since `before`.
    fn sub(self, before: Self) -> Self {
        let less = |a: [u64; 3], b: [u64; 3]| core::array::from_fn(|i| a[i].saturating_sub(b[i]));
        ReclaimTimes {
            spans: less(self.spans, before.spans),
            sweep_ns: less(self.sweep_ns, before.sweep_ns),
            recovery_ns: less(self.recovery_ns, before.recovery_ns),
            starved_ns: self.starved_ns.saturating_sub(before.starved_ns),
        }
    }
}

impl ReclaimClock {
    pub(crate) fn new() -> Self {
        ReclaimClock { clock: TickClock::start(), sums: Default::default(), starved: AtomicU64::new(0) }
    }

    /// Adds what was swept. The caller holds the lock of the span lists.
    pub(crate) fn add(&self, who: Sweeping, swept: Swept) {
        let sums = &self.sums[who as usize];
        add(&sums.spans, swept.spans.into());
        self.add_ticks(&sums.sweep, swept.sweep);
        self.add_ticks(&sums.recovery, swept.recovery);
    }

    /// Adds ticks of visits that brought too little. The caller holds the lock of the span lists.
    pub(crate) fn add_starved(&self, ticks: u64) {
        self.add_ticks(&self.starved, ticks);
    }

    /// In nanoseconds at once, since the measure of a tick changes by a little, and no sum may become less.
    fn add_ticks(&self, sum: &AtomicU64, ticks: u64) {
        if ticks != 0 {
            add(sum, self.clock.ns(ticks));
        }
    }

    /// The times so far.
    pub fn times(&self) -> ReclaimTimes {
        let each = |f: fn(&Sums) -> &AtomicU64| {
            core::array::from_fn::<u64, 3, _>(|who| f(&self.sums[who]).load(Ordering::Relaxed))
        };
        ReclaimTimes {
            spans: each(|sums| &sums.spans),
            sweep_ns: each(|sums| &sums.sweep),
            recovery_ns: each(|sums| &sums.recovery),
            starved_ns: self.starved.load(Ordering::Relaxed),
        }
    }
}

/// Adds to a sum that one thread at a time writes.
fn add(sum: &AtomicU64, more: u64) {
    if more != 0 {
        sum.store(sum.load(Ordering::Relaxed) + more, Ordering::Relaxed);
    }
}

/// What somebody swept, in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Swept {
    spans: u32,
    sweep: u64,
    recovery: u64,
}

impl Add for Swept {
    type Output = Self;
    fn add(self, more: Self) -> Self {
        Swept {
            spans: self.spans + more.spans,
            sweep: self.sweep + more.sweep,
            recovery: self.recovery + more.recovery,
        }
    }
}

/// One batch under way.
pub(crate) struct SweepTimer {
    since: u64,
    swept: Swept,
}

impl SweepTimer {
    /// Begins to time a batch.
    pub(crate) fn start() -> Self {
        SweepTimer { since: ticks(), swept: Swept::default() }
    }

    fn lap(&mut self) -> u64 {
        let now = ticks();
        // The counters of two processors may differ by a little.
        now.saturating_sub(core::mem::replace(&mut self.since, now))
    }

    /// Until here N spans were swept.
    pub(crate) fn swept(&mut self, spans: u32) {
        self.swept.spans += spans;
        self.swept.sweep += self.lap();
    }

    /// Since then pages went back, and that is all.
    pub(crate) fn recovered(mut self) -> Swept {
        self.swept.recovery += self.lap();
        self.swept
    }

    /// That is all.
    pub(crate) fn finish(self) -> Swept {
        self.swept
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::time::Duration;

    #[test]
    fn packs_are_told_by_whom_and_in_two_parts() {
        let clock = ReclaimClock::new();
        let nap = || std::thread::sleep(Duration::from_millis(2));
        let mut timer = SweepTimer::start();
        nap();
        timer.swept(64);
        nap();
        nap();
        clock.add(Sweeping::Background, timer.recovered());
        let first = clock.times();
        assert_eq!(first.spans, [0, 64, 0]);
        assert!(first.sweep_ns[1] > 0 && first.recovery_ns[1] > first.sweep_ns[1] / 2, "{first:?}");
        assert_eq!((first.sweep(), first.recovery()), (first.sweep_ns[1], first.recovery_ns[1]));
        let mut timer = SweepTimer::start();
        timer.swept(2);
        let two = timer.finish();
        clock.add(Sweeping::Collector, two + Swept { spans: 1, ..Swept::default() });
        let since = clock.times() - first;
        assert_eq!(since.spans, [0, 0, 3]);
        assert_eq!(since.recovery_ns[2], 0);
    }
}
