//! Pacing: how much may be allocated before the next collection. The goal is what is alive plus the configured
//! percentage of it, at least the minimum heap, at most the limit; the budget is what lies between.

use crate::config::Config;

/// When the next collection is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// The size of the heap at which it is due, in bytes.
    pub goal: usize,
    /// What may be allocated until then.
    pub budget: usize,
}

/// Headroom below which collecting is hopeless: a 64th of the limit.
const HOPELESS: usize = 64;

/// The pace after a collection that found `live` bytes.
pub fn pace(live: usize, percent: u32, config: &Config) -> Pace {
    let growth = (live as u128 * percent as u128 / 100).min(usize::MAX as u128) as usize;
    let mut goal = live.saturating_add(growth).max(config.min_heap);
    if let Some(limit) = config.limit {
        goal = goal.min(limit);
    }
    // Even at the limit something can be tried before the next collection.
    Pace { goal, budget: goal.saturating_sub(live).max(64 << 10) }
}

/// Whether what is alive leaves too little under the limit for going on to be worth it.
pub fn hopeless(live: usize, config: &Config) -> bool {
    config.limit.is_some_and(|limit| live > limit - limit / HOPELESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_goal_follows_live_bytes_between_its_bounds() {
        let c = Config { min_heap: 1 << 20, limit: Some(100 << 20), ..Config::DEFAULT };
        assert_eq!(pace(0, 100, &c), Pace { goal: 1 << 20, budget: 1 << 20 });
        assert_eq!(pace(10 << 20, 100, &c), Pace { goal: 20 << 20, budget: 10 << 20 });
        assert_eq!(pace(10 << 20, 50, &c).goal, 15 << 20);
        assert_eq!(pace(80 << 20, 100, &c), Pace { goal: 100 << 20, budget: 20 << 20 });
        assert_eq!(pace(usize::MAX, u32::MAX, &Config::DEFAULT).goal, usize::MAX);
        assert!(hopeless(99 << 20, &c) && !hopeless(90 << 20, &c));
    }
}
