//! The share of the time that collections may take in a heap near its limit, where each frees little: at most half.
//! Invariant: the debt never exceeds the most credit and one collection.

use super::tunables::share::*;
use core::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

/// The share, kept as credit in nanoseconds, as Go's limiter keeps its bucket. The program earns the time that it runs, up to a
/// twentieth of a second, and a collection costs what it takes. Without credit a collection is put off until nothing fits any
/// more, and an allocation that then fails is rejected without collecting first. A thread whose allocation was rejected may have
/// dropped something before it tries again: it may collect on credit, up to the same amount and one collection.
#[derive(Debug)]
pub(crate) struct CollectorShare {
    credit: AtomicI64,
    /// The time up to which the credit is computed.
    as_of: AtomicU64,
    /// The time of the last collection.
    last: AtomicU64,
    second_chance: AtomicBool,
}

impl CollectorShare {
    /// Full credit at this time.
    pub(crate) fn new(now: u64) -> Self {
        CollectorShare {
            credit: AtomicI64::new(MOST_CREDIT_NS),
            as_of: AtomicU64::new(now),
            last: AtomicU64::new(0),
            second_chance: AtomicBool::new(false),
        }
    }

    fn at(&self, now: u64) -> i64 {
        let earned = now.saturating_sub(self.as_of.load(Ordering::Relaxed)) as i64;
        self.credit.load(Ordering::Relaxed).saturating_add(earned).min(MOST_CREDIT_NS)
    }

    /// A collection took from `began` to `ended`.
    pub(crate) fn collected(&self, began: u64, ended: u64) {
        let took = ended.saturating_sub(began);
        self.credit.store(self.at(began).saturating_sub(took as i64), Ordering::Relaxed);
        self.last.store(took, Ordering::Relaxed);
        self.as_of.store(ended, Ordering::Relaxed);
    }

    /// An allocation was refused.
    pub(crate) fn refused(&self) {
        self.second_chance.store(true, Ordering::Relaxed);
    }

    /// Whether there may be a collection.
    pub(crate) fn allows(&self, now: u64) -> bool {
        let credit = self.at(now);
        let most_owed = MOST_CREDIT_NS + self.last.load(Ordering::Relaxed) as i64;
        credit > 0 || credit > -most_owed && self.second_chance.swap(false, Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collections_take_at_most_half_of_the_time_but_for_what_was_saved() {
        const MS: u64 = 1_000_000;
        let share = CollectorShare::new(0);
        // A program that needs a collection of 30 ms for each millisecond it runs.
        let (mut now, mut collecting) = (0, 0);
        while now < 10_000 * MS {
            now += MS;
            if share.allows(now) {
                share.collected(now, now + 30 * MS);
                now += 30 * MS;
                collecting += 30;
            }
        }
        assert!((4_900..5_100).contains(&collecting), "{collecting} of 10000 ms");
        // One that was refused and dropped something is not refused for that.
        while share.allows(now) {
            share.collected(now, now + 30 * MS);
            now += 30 * MS;
        }
        share.refused();
        assert!(share.allows(now) && !share.allows(now));
        // What it owes has an end, too.
        let mut on_credit = 0;
        loop {
            share.refused();
            if !share.allows(now) {
                break;
            }
            share.collected(now, now + 30 * MS);
            now += 30 * MS;
            on_credit += 1;
        }
        assert!((1..5).contains(&on_credit), "{on_credit}");
        assert!(share.allows(now + 600 * MS));
    }
}
