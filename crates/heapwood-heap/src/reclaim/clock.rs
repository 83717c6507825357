//! The time spent sweeping and recovering pages (returning empty spans to the page allocator). Both run
//! in batches of microseconds on any thread, so they are timed by the processor's tick counter, two or three reads a
//! batch: a system call for CPU time would cost more than the batch. The sweeping thread keeps its figures until it
//! next takes the lock of the span lists. Invariant: every sum only grows, is written under that lock (hence without a
//! read-modify-write), and may be read without it at any time, even while the process exits.

use core::ops::Add;
use core::sync::atomic::{AtomicU64, Ordering};
use heapwood_os::process::ticks::{TickClock, ticks};

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

/// The times of one space.
pub struct ReclaimClock {
    clock: TickClock,
    sweep: AtomicU64,
    recovery: AtomicU64,
    collector: AtomicU64,
    starved: AtomicU64,
    /// Spans that each kind of thread has swept.
    spans: [AtomicU64; 3],
}

/// Sweeping and page recovery so far, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReclaimTimes {
    /// Sweeping, by any thread.
    pub sweep_ns: u64,
    /// Returning empty spans to the page allocator, by any thread.
    pub recovery_ns: u64,
    /// The part of both by the collecting thread.
    pub collector_ns: u64,
    /// Central refills that the heap's size cut short, without their sweeping: the price of a small heap for allocation.
    pub starved_ns: u64,
}

impl ReclaimClock {
    pub(crate) fn new() -> Self {
        ReclaimClock {
            clock: TickClock::start(),
            sweep: AtomicU64::new(0),
            recovery: AtomicU64::new(0),
            collector: AtomicU64::new(0),
            starved: AtomicU64::new(0),
            spans: Default::default(),
        }
    }

    /// Adds swept spans. The caller holds the lock of the span lists.
    pub(crate) fn add(&self, who: Sweeping, swept: Swept) {
        add(&self.spans[who as usize], swept.spans.into());
        self.add_ticks(&self.sweep, swept.sweep);
        self.add_ticks(&self.recovery, swept.recovery);
        if who == Sweeping::Collector {
            self.add_ticks(&self.collector, swept.ticks());
        }
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
        ReclaimTimes {
            sweep_ns: self.sweep.load(Ordering::Relaxed),
            recovery_ns: self.recovery.load(Ordering::Relaxed),
            collector_ns: self.collector.load(Ordering::Relaxed),
            starved_ns: self.starved.load(Ordering::Relaxed),
        }
    }

    /// The spans that threads of this kind have swept, as they have reported them.
    pub fn swept_by(&self, who: Sweeping) -> u64 {
        self.spans[who as usize].load(Ordering::Relaxed)
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
