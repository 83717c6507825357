//! Threads that are blocked return what they have cached. The thread that is in a blocking region is stopped for anyone who sets
//! its poll and sees it not running, so this thread can do it for them. One that was in the same region at two looks in a row
//! is idle. Invariant: while some mutator holds something in a region that is new, another look follows; otherwise none,
//! until one that has set something aside tells that it blocks.

use crate::mutator::Mutator;
use crate::mutator::region::Found;
use crate::mutator::registry::{Member, Registry};
use crate::policy::background::{CACHE_LOOK_HOLD, CACHE_LOOKS};
use core::time::Duration;
use heapwood_pages::Clock;

/// The looks.
pub(super) struct IdleCacheFlusher {
    /// The number of the last; never 0.
    look: u32,
    /// When the next is due, if it is.
    next: Option<Duration>,
}

impl IdleCacheFlusher {
    pub(super) fn new() -> Self {
        IdleCacheFlusher { look: 0, next: None }
    }

    /// Looks, if it is time; when it looks again, if that is not when someone tells.
    pub(super) fn step(&mut self, clock: &impl Clock, registry: &Registry<Mutator>) -> Option<Duration> {
        let now = clock.now();
        if let Some(next) = self.next
            && now < next
        {
            return Some(next - now);
        }
        self.look = self.look.wrapping_add(1).max(1);
        let mut again = false;
        while self.look_for_a_while(clock, registry, &mut again) {}
        self.next = again.then_some(now + CACHE_LOOKS);
        again.then_some(CACHE_LOOKS)
    }

    /// Goes through the mutators until it has held the lock for long; whether it has. `again` if one is worth another look.
    fn look_for_a_while(&self, clock: &impl Clock, registry: &Registry<Mutator>, again: &mut bool) -> bool {
        // A collection holds the lock as long as it lasts, and in a piece of work that is not waited for.
        let Some(members) = registry.try_lock() else {
            *again = true;
            return false;
        };
        let began = clock.now();
        for mutator in members.iter() {
            let regions = mutator.regions();
            match regions.look(self.look, mutator.gate().is_blocked()) {
                Found::Nothing => {}
                Found::Recent => *again = true,
                Found::Idle => {
                    if members.with_stopped(mutator, Member::flush) {
                        regions.emptied();
                    }
                    if clock.now().saturating_sub(began) >= CACHE_LOOK_HOLD {
                        return true;
                    }
                }
            }
        }
        false
    }
}
