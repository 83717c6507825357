//! The goal: the size of the heap at which the next full collection is due. It is what is alive and its growth (`growth`), at
//! least the minimum heap and at most the limit. Invariant: a goal is at least what is alive, unless a limit is less.

use super::growth::GrowthBounds;
use super::tunables::goal::*;
use crate::heap::room::Room;
use crate::settings::options::Config;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// The bounds of the goal, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// No full collection is due below this size.
    least: usize,
    /// The heap may never be larger.
    limit: Option<usize>,
    /// The heap should not be larger, but a tenth of what is alive may be allocated in any case.
    soft: Option<usize>,
}

/// The goal after a full collection that found `live` bytes, beside `external` bytes outside the heap. The goal is for what
/// the heap has and what comes outside; the least and the limit are for all. Outside bytes belong to the process's memory
/// already, so the soft bound has them.
fn goal((live, external): (usize, usize), growth: usize, bounds: Bounds) -> usize {
    let mut goal = live.saturating_add(growth).max(bounds.least.saturating_sub(external));
    if let Some(soft) = bounds.soft {
        goal = goal.min(soft.max(live + live / 10));
    }
    if let Some(limit) = bounds.limit {
        goal = goal.min(limit.saturating_sub(external));
    }
    goal
}

/// When full collections of one heap are due.
pub(crate) struct GoalPacer {
    percent: AtomicU32,
    small_heap: usize,
    min_heap: AtomicUsize,
    /// [`NO_LIMIT`]: none.
    limit: AtomicUsize,
    room: Room,
}

/// No limit.
const NO_LIMIT: usize = usize::MAX;

impl GoalPacer {
    /// For a heap with these settings, in this process.
    pub(crate) fn new(config: &Config, room: Room) -> Self {
        GoalPacer {
            percent: AtomicU32::new(config.percent),
            small_heap: config.small_heap,
            min_heap: AtomicUsize::new(room.min_heap(config)),
            limit: AtomicUsize::new(config.limit.unwrap_or(NO_LIMIT)),
            room,
        }
    }

    /// Changes the growth percentage.
    pub(crate) fn set_percent(&self, percent: u32) {
        self.percent.store(percent, Ordering::Relaxed);
    }

    /// Changes the bytes below which no full collection is due; returns what counts, since little memory bounds it.
    pub(crate) fn set_min_heap(&self, bytes: usize) -> usize {
        let bytes = self.room.min_heap(&Config::DEFAULT.min_heap(bytes));
        self.min_heap.store(bytes, Ordering::Relaxed);
        bytes
    }

    /// Changes the limit.
    pub(crate) fn set_limit(&self, limit: Option<usize>) {
        self.limit.store(limit.unwrap_or(NO_LIMIT), Ordering::Relaxed);
    }

    fn limit(&self) -> Option<usize> {
        let limit = self.limit.load(Ordering::Relaxed);
        (limit != NO_LIMIT).then_some(limit)
    }

    /// The bounds of the goal of a heap with `backed` bytes of memory behind its pages. May ask the kernel.
    pub(crate) fn bounds(&self, backed: usize) -> Bounds {
        Bounds {
            least: self.min_heap.load(Ordering::Relaxed),
            limit: self.limit(),
            soft: self.room.goal(backed),
        }
    }

    /// The bounds of the heap's growth.
    pub(crate) fn growth_bounds(&self) -> GrowthBounds {
        GrowthBounds { percent: self.percent(), small_heap: self.small_heap }
    }

    /// The most that the heap may grow by, in hundredths of what is alive.
    pub(crate) fn percent(&self) -> u32 {
        self.percent.load(Ordering::Relaxed)
    }

    /// The goal after a full collection that found so many live bytes, beside so many outside the heap.
    pub(crate) fn goal(&self, live: (usize, usize), growth: usize, bounds: Bounds) -> usize {
        goal(live, growth, bounds)
    }

    /// Whether the last full collection found so much alive that little is left below what bounds the heap, with so many bytes
    /// outside it now.
    pub(crate) fn is_near_limit(&self, (live, external): (usize, usize)) -> bool {
        let near = |bytes: usize, bound: usize| bytes >= bound - bound / NEAR;
        match (self.limit(), self.room.most()) {
            (Some(limit), _) => near(live.saturating_add(external), limit),
            (None, Some(most)) => near(live, most),
            (None, None) => false,
        }
    }

    /// Whether half of what the last collection left has been handed out since, and that was not little; of a heap that may
    /// have `most` bytes without a limit.
    pub(crate) fn was_used_up(
        &self,
        most: usize,
        (live, external): (usize, usize),
        allocated: usize,
    ) -> bool {
        let most = self.limit().map_or(most, |limit| limit.saturating_sub(external));
        let left = most.saturating_sub(live);
        left > most / 8 && allocated >= left / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_goal_follows_live_bytes_between_its_bounds() {
        let c = Bounds { least: 1 << 20, limit: Some(100 << 20), soft: None };
        assert_eq!(goal((0, 0), 0, c), 1 << 20);
        assert_eq!(goal((10 << 20, 0), 10 << 20, c), 20 << 20);
        assert_eq!(goal((80 << 20, 0), 80 << 20, c), 100 << 20);
        let free = Bounds { least: 32 << 20, limit: None, soft: None };
        assert_eq!(goal((usize::MAX, 0), usize::MAX, free), usize::MAX);
        let soft = Bounds { soft: Some(50 << 20), ..free };
        assert_eq!(goal((10 << 20, 0), 10 << 20, soft), 32 << 20);
        assert_eq!(goal((30 << 20, 0), 30 << 20, soft), 50 << 20);
        assert_eq!(goal((50 << 20, 0), 50 << 20, soft), 55 << 20);
        // Bytes outside: they are a part of what a limit allows, and of the least heap.
        assert_eq!(goal((10 << 20, 5 << 20), 10 << 20, c), 20 << 20);
        assert_eq!(goal((80 << 20, 30 << 20), 80 << 20, c), 70 << 20);
        assert_eq!(goal((80 << 20, 200 << 20), 80 << 20, c), 0);
        assert_eq!(goal((1 << 20, 30 << 20), 1 << 20, free), 2 << 20);
        assert_eq!(goal((30 << 20, 30 << 20), 30 << 20, soft), 50 << 20);
    }

    #[test]
    fn bytes_outside_bring_a_heap_near_its_limit() {
        let pacer = |limit, memory| {
            let config = Config { limit, process_memory: memory, ..Config::DEFAULT };
            GoalPacer::new(&config, Room::find(&config).unwrap())
        };
        let limited = pacer(Some(160 << 20), None);
        assert!(!limited.is_near_limit((149 << 20, 0)) && limited.is_near_limit((149 << 20, 1 << 20)));
        // 100 MiB are left, of which half is taken; with 60 MiB outside 40.
        assert!(!limited.was_used_up(0, (60 << 20, 0), 49 << 20));
        assert!(limited.was_used_up(0, (60 << 20, 60 << 20), 20 << 20));
        // The memory of a control group has them, whatever is told.
        let grouped = pacer(None, Some(160 << 20));
        assert!(!grouped.is_near_limit((100 << 20, 100 << 20)) && grouped.is_near_limit((139 << 20, 0)));
    }
}
