//! The time spent sweeping and recovering pages (returning empty spans to the page allocator), by thread kind. Both run
//! in batches of microseconds on any thread, so they are timed by the processor's tick counter, two or three reads a
//! batch: a system call for CPU time would cost more than the batch. The sweeping thread keeps its figures until it
//! next takes the lock of the span lists. Invariant: every sum only grows, is written under that lock (hence without a
//! read-modify-write), and may be read without it at any time, even while the process exits.

use core::ops::{Add, Sub};
use core::sync::atomic::{AtomicU64, Ordering};
use heapwood_os::threads::timed_lock::{TickClock, ticks};

/// The kind of thread that sweeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sweeping {
    /// A mutator that allocates, or a thread of the program that asks for memory to be released.
    Allocation,
    /// The heap's background thread.
    Background,
    /// The collecting thread, before it marks.
    Collector,
}

/// Totals of one kind of thread: spans, and nanoseconds.
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

/// Sweeping and page recovery so far. Each array is by kind of thread: allocation, background, collector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReclaimTimes {
    /// Spans swept.
    pub spans: [u64; 3],
    /// Nanoseconds of sweeping.
    pub sweep_ns: [u64; 3],
    /// Nanoseconds spent returning empty spans to the page allocator.
    pub recovery_ns: [u64; 3],
    /// Nanoseconds of central refills that the heap's size cut short, without their sweeping: the price of a small heap
    /// for allocation.
    pub starved_ns: u64,
}

impl ReclaimTimes {
    /// The time of all sweeps.
    pub fn sweep(&self) -> u64 {
        self.sweep_ns.iter().sum()
    }

    /// The time that the collecting thread swept and recovered.
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
    /// The time since `before`.
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

    /// Adds swept spans. The caller holds the lock of the span lists.
    pub(crate) fn add(&self, who: Sweeping, swept: Swept) {
        let sums = &self.sums[who as usize];
        add(&sums.spans, swept.spans.into());
        self.add_ticks(&sums.sweep, swept.sweep);
        self.add_ticks(&sums.recovery, swept.recovery);
    }

    /// Adds ticks of refills that were cut short. The caller holds the lock of the span lists.
    pub(crate) fn add_starved(&self, ticks: u64) {
        self.add_ticks(&self.starved, ticks);
    }

    /// Converts to nanoseconds at once: the measured length of a tick changes a little, and no sum may shrink.
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

/// Adds to a sum that has one writer at a time.
fn add(sum: &AtomicU64, more: u64) {
    if more != 0 {
        sum.store(sum.load(Ordering::Relaxed) + more, Ordering::Relaxed);
    }
}

/// Spans swept, and the ticks that it took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Swept {
    spans: u32,
    sweep: u64,
    recovery: u64,
}

impl Swept {
    /// The ticks of all of it.
    pub(crate) fn ticks(self) -> u64 {
        self.sweep + self.recovery
    }
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

/// The timer of one batch.
pub(crate) struct SweepTimer {
    since: u64,
    swept: Swept,
}

impl SweepTimer {
    /// Starts a batch.
    pub(crate) fn start() -> Self {
        SweepTimer { since: ticks(), swept: Swept::default() }
    }

    fn lap(&mut self) -> u64 {
        let now = ticks();
        // The counters of two processors may differ a little.
        now.saturating_sub(core::mem::replace(&mut self.since, now))
    }

    /// Ends sweeping `spans` spans.
    pub(crate) fn swept(&mut self, spans: u32) {
        self.swept.spans += spans;
        self.swept.sweep += self.lap();
    }

    /// Ends page recovery, and the batch.
    pub(crate) fn recovered(mut self) -> Swept {
        self.swept.recovery += self.lap();
        self.swept
    }

    /// Ends the batch.
    pub(crate) fn finish(self) -> Swept {
        self.swept
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::time::Duration;

    #[test]
    fn batches_are_counted_by_thread_and_in_two_parts() {
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
        assert!(first.sweep_ns[1] > 0 && first.recovery_ns[1] > 0, "{first:?}");
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
