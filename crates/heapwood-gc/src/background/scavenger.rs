//! The background scavenger gives memory back while the program runs. It keeps what the heap will need until its next
//! collection and a tenth more, as Go's does, and releases what lies above, a millisecond at a time, resting so that it takes
//! no more than a hundredth of one CPU. Of a heap that has become far larger than what it needs, as after a spike, it no
//! longer spares after a second what was in use a moment ago. What arenas have is not its business (`arenas`). Invariant: it releases free pages only, and what is kept is
//! enough until the next collection.

use super::figures::Figures;
use crate::policy::{Release, ReleasePolicy, background::RELEASE_PART};
use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use heapwood_heap::Space;
use heapwood_pages::{Clock, Effort, PacedWork};

/// A space, the size at which its next collection is due, and where it is counted what was released.
type Scavenged<'h> = (&'h Space, &'h AtomicUsize, &'h Figures);

/// How far releasing is.
pub(super) struct Scavenger {
    pacing: PacedWork,
    policy: ReleasePolicy,
}

impl Scavenger {
    pub(super) fn new() -> Self {
        Scavenger { pacing: PacedWork::new(RELEASE_PART), policy: ReleasePolicy::default() }
    }

    /// Releases some, if there is more than what is kept; how long it rests then.
    pub(super) fn step(&mut self, clock: &impl Clock, heap: Scavenged<'_>) -> Option<Duration> {
        let (space, goal, figures) = heap;
        if self.decide(clock, heap) == Release::Nothing {
            return None;
        }
        let owed = self.pacing.owed(clock);
        if !owed.is_zero() {
            return Some(owed);
        }
        let effort = match self.decide(clock, heap) {
            Release::All => Effort::Full,
            Release::Gentle { .. } | Release::Nothing => Effort::Gentle,
        };
        let more = self.pacing.work_slice(clock, || {
            if ReleasePolicy::keeps(space.resident_outside_arenas(), goal.load(Ordering::Relaxed)) {
                return false;
            }
            let Some((bytes, true)) = space.release_some(effort) else { return false };
            figures.count_released(bytes);
            true
        });
        match self.decide(clock, heap) {
            _ if more => Some(self.pacing.owed(clock)),
            Release::Gentle { all_after } => all_after,
            Release::All | Release::Nothing => None,
        }
    }

    fn decide(&mut self, clock: &impl Clock, (space, goal, _): Scavenged<'_>) -> Release {
        self.policy.decide(space.resident_outside_arenas(), goal.load(Ordering::Relaxed), || clock.now())
    }
}
