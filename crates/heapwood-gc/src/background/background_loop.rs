//! What the heap's own thread does at each step: a slice of each kind of work that is to be done and not resting. Invariant:
//! after a step something is left to be done only after what it returns, or once an event wakes the thread.

use super::figures::Figures;
use super::idle_cache_flusher::IdleCacheFlusher;
use super::idle_collector::IdleCollector;
use super::scavenger::Scavenger;
use super::sweeper::BackgroundSweeper;
use crate::arenas::release::ArenaReleaser;
use crate::collect::Collector;
use crate::state::State;
use core::time::Duration;
use heapwood_pages::Clock;

/// All that the thread does.
pub(super) struct BackgroundLoop<'h> {
    state: &'h State,
    collector: &'h Collector,
    figures: &'h Figures,
    sweeper: BackgroundSweeper,
    idle_cache_flusher: IdleCacheFlusher,
    idle: Option<IdleCollector<'h>>,
    scavenger: Scavenger,
    arenas: ArenaReleaser,
}

impl<'h> BackgroundLoop<'h> {
    /// For the heap that these are of; it is collected when it is `idle` if there is who does that.
    pub(super) fn new(
        state: &'h State,
        collector: &'h Collector,
        figures: &'h Figures,
        idle: Option<IdleCollector<'h>>,
    ) -> Self {
        BackgroundLoop {
            state,
            collector,
            figures,
            sweeper: BackgroundSweeper::new(),
            idle_cache_flusher: IdleCacheFlusher::new(),
            idle,
            scavenger: Scavenger::new(),
            arenas: ArenaReleaser::default(),
        }
    }

    /// Does a slice of what is to be done; how long to wait then, unless an event comes: `None` for it alone.
    pub(super) fn step(&mut self, clock: &impl Clock) -> Option<Duration> {
        let BackgroundLoop { state, collector, figures, .. } = *self;
        let (space, wakeup) = (state.space(), state.wakeup());
        // Who leaves the heap after this tells, and who has left before is seen.
        wakeup.set_wakes(true);
        let gate = state.fork_gate();
        collector.start_wanted_helpers(state);
        let emptied = gate.without_fork(|| self.idle_cache_flusher.step(clock, collector.registry()));
        if emptied.is_some() {
            // It looks again soon.
            wakeup.set_wakes(false);
        }
        let collected =
            self.idle.as_mut().and_then(|idle| idle.step(clock.now(), (state, collector, figures)));
        let swept = self.sweeper.step(clock, state, collector);
        let released =
            gate.without_fork(|| self.scavenger.step(clock, (space, state.cycles().goal(), figures)));
        let arenas = gate.without_fork(|| self.arenas.step(clock, state, figures));
        [emptied, collected, swept, released, arenas].into_iter().flatten().min()
    }
}
