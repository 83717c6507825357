//! Pacing: how much may be allocated before the next collection. The goal is what is alive plus the configured
//! percentage of it, at least the minimum heap, at most the limit; the budget is what lies between. Near a limit, where each
//! collection finds little, a share of the time bounds them instead.

use core::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

/// When the next collection is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// The size of the heap at which it is due, in bytes.
    pub goal: usize,
    /// What may be allocated until then.
    pub budget: usize,
}

/// What bounds the goal.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// No collection is due below this size.
    pub least: usize,
    /// The heap may never be larger.
    pub limit: Option<usize>,
    /// It had better not be larger; but a tenth of what is alive may be allocated in any case.
    pub soft: Option<usize>,
}

/// The pace after a collection that found `live` bytes.
pub fn pace(live: usize, percent: u32, bounds: Bounds) -> Pace {
    let growth = (live as u128 * percent as u128 / 100).min(usize::MAX as u128) as usize;
    let mut goal = live.saturating_add(growth).max(bounds.least);
    if let Some(soft) = bounds.soft {
        goal = goal.min(soft.max(live + live / 10));
    }
    if let Some(limit) = bounds.limit {
        goal = goal.min(limit);
    }
    // Even at the limit something can be tried before the next collection.
    Pace { goal, budget: goal.saturating_sub(live).max(64 << 10) }
}

/// The collector's share of the time of a heap that is near its limit: at most half.
///
/// It is kept as credit, in nanoseconds, as Go's limiter keeps its bucket: the program earns what it runs, up to a
/// twentieth of a second, and a collection costs what it takes. Without credit a collection that would find little is put
/// off, until nothing fits any more; what then is refused, is refused without collecting first. But who was refused may
/// have dropped something before trying again: that one may collect on credit, up to as much and a collection of it.
#[derive(Debug)]
pub struct CollectorShare {
    credit: AtomicI64,
    /// When the credit was last put right.
    as_of: AtomicU64,
    /// What the last collection took.
    last: AtomicU64,
    second_chance: AtomicBool,
}

/// The most that can be saved, and owed beside a collection.
const MOST_CREDIT_NS: i64 = 50_000_000;

impl CollectorShare {
    /// All credit, from now on.
    pub fn new(now: u64) -> Self {
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
    pub fn collected(&self, began: u64, ended: u64) {
        let took = ended.saturating_sub(began);
        self.credit.store(self.at(began).saturating_sub(took as i64), Ordering::Relaxed);
        self.last.store(took, Ordering::Relaxed);
        self.as_of.store(ended, Ordering::Relaxed);
    }

    /// An allocation was refused.
    pub fn refused(&self) {
        self.second_chance.store(true, Ordering::Relaxed);
    }

    /// Whether there may be a collection.
    pub fn allows(&self, now: u64) -> bool {
        let credit = self.at(now);
        let most_owed = MOST_CREDIT_NS + self.last.load(Ordering::Relaxed) as i64;
        credit > 0 || credit > -most_owed && self.second_chance.swap(false, Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_goal_follows_live_bytes_between_its_bounds() {
        let c = Bounds { least: 1 << 20, limit: Some(100 << 20), soft: None };
        assert_eq!(pace(0, 100, c), Pace { goal: 1 << 20, budget: 1 << 20 });
        assert_eq!(pace(10 << 20, 100, c), Pace { goal: 20 << 20, budget: 10 << 20 });
        assert_eq!(pace(10 << 20, 50, c).goal, 15 << 20);
        assert_eq!(pace(80 << 20, 100, c), Pace { goal: 100 << 20, budget: 20 << 20 });
        let free = Bounds { least: 32 << 20, limit: None, soft: None };
        assert_eq!(pace(usize::MAX, u32::MAX, free).goal, usize::MAX);
        let soft = Bounds { soft: Some(50 << 20), ..free };
        assert_eq!(pace(10 << 20, 100, soft).goal, 32 << 20);
        assert_eq!(pace(30 << 20, 100, soft).goal, 50 << 20);
        assert_eq!(pace(50 << 20, 100, soft), Pace { goal: 55 << 20, budget: 5 << 20 });
    }

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
