//! Memory that arenas have given up stays for the next arenas; what they have not needed for a second goes back to the kernel.
//! Invariant: as long as arenas have memory that they do not use, it looks again.

use crate::background::Figures;
use crate::policy::background::ARENA_PATIENCE;
use crate::state::State;
use core::time::Duration;
use heapwood_pages::Clock;

/// When it looks next.
#[derive(Debug, Default)]
pub(crate) struct ArenaReleaser {
    next: Option<Duration>,
}

impl ArenaReleaser {
    /// Gives back what was not needed since the last look, if it is time; how long until the next.
    pub(crate) fn step(&mut self, clock: &impl Clock, state: &State, figures: &Figures) -> Option<Duration> {
        let space = state.space();
        if !space.arenas().has_free() {
            state.wakeup().forget_arenas();
            // One may have been closed before that.
            if !space.arenas().has_free() {
                self.next = None;
                return None;
            }
        }
        let now = clock.now();
        let first = self.next.is_none();
        let next = *self.next.get_or_insert(now + ARENA_PATIENCE);
        if first || now >= next {
            // What was there at the first look has not been waiting for long.
            let released = space.arenas().release_idle(!first);
            figures.count_released(released);
            self.next = Some(now + ARENA_PATIENCE);
        }
        self.next.map(|next| next.saturating_sub(now))
    }
}
