//! The background scavenger gives memory back while the program runs. It keeps what the heap will need until its next
//! collection and a tenth more, as Go's does, and releases what lies above, a millisecond at a time, resting so that it takes
//! no more than a hundredth of one CPU. Of a heap that has become far larger than what it needs, as after a spike, it no
//! longer spares after a second what was in use a moment ago. What arenas have is not its business (`arenas`). Invariant: it releases free pages only, and what is kept is
//! enough until the next collection.

use super::figures::Figures;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use heapwood_heap::Space;
use heapwood_pages::{Clock, Effort, PacedWork};

/// One CPU in so many.
const SHARE: u32 = 100;
/// After so long, memory that was in use a moment ago goes, too.
const LONG_ABOVE: Duration = Duration::from_secs(1);

/// A space, the size at which its next collection is due, and where it is counted what was released.
type Scavenged<'h> = (&'h Space, &'h AtomicUsize, &'h Figures);

/// How far releasing is.
pub(super) struct Scavenger {
    pacing: PacedWork,
    /// Since when the heap has been far larger than what it needs until its next collection: since it was half as large
    /// again, until no more is left of that than a heap keeps.
    far_since: Option<Duration>,
}

impl Scavenger {
    pub(super) fn new() -> Self {
        Scavenger { pacing: PacedWork::new(SHARE), far_since: None }
    }

    /// Releases some, if there is more than what is kept; how long it rests then.
    pub(super) fn step(&mut self, clock: &impl Clock, heap: Scavenged<'_>) -> Option<Duration> {
        let (space, goal, figures) = heap;
        self.look(clock, heap);
        if space.resident_outside_arenas() <= kept(goal) {
            return None;
        }
        let owed = self.pacing.owed(clock);
        if !owed.is_zero() {
            return Some(owed);
        }
        let far = self.look(clock, heap);
        let effort = if far.is_some_and(|since| since >= LONG_ABOVE) { Effort::Full } else { Effort::Gentle };
        let more = self.pacing.work_slice(clock, || {
            if space.resident_outside_arenas() <= kept(goal) {
                return false;
            }
            let Some((bytes, true)) = space.release_some(effort) else { return false };
            figures.count_released(bytes);
            true
        });
        match self.look(clock, heap) {
            _ if more => Some(self.pacing.owed(clock)),
            Some(since) if since < LONG_ABOVE => Some(LONG_ABOVE - since),
            _ => None,
        }
    }

    /// How long the heap has been far larger than it needs; `None` if it is not.
    fn look(&mut self, clock: &impl Clock, (space, goal, _): Scavenged<'_>) -> Option<Duration> {
        let (backed, next) = (space.resident_outside_arenas(), goal.load(Ordering::Relaxed));
        if backed <= kept(goal) {
            self.far_since = None;
        } else if self.far_since.is_some() || backed > next.saturating_add(next / 2) {
            let now = clock.now();
            return Some(now.saturating_sub(*self.far_since.get_or_insert(now)));
        }
        None
    }
}

/// What is kept behind the pages of a heap (what may stay resident): what it needs until its next collection, and a tenth.
fn kept(goal: &AtomicUsize) -> usize {
    let goal = goal.load(Ordering::Relaxed);
    goal.saturating_add(goal / 10)
}
