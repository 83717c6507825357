//! The marking of a heap: what it is done with, and whether workers help. They come late, and who is not alone writes marks
//! more slowly, so markings of two milliseconds become longer by help; on some machines all do whose objects lie in order
//! (docs/design/parallel-marking.md). So it is measured: workers are called only if one thread would take longer than
//! [`WORTH`], and then if a marking with them was faster than one without by [`GAIN`]; now and then the other way is tried
//! again. If the number of markers is set, they always help.
//! Invariant: one marking at a time, by whoever has this borrowed.

use super::mode::{Alone, Composed, Deadline, Full, Limit, Mode, Scope, Unlimited, Young, YoungInSnapshot};
use super::queue::{Graph, MarkTotals, Marker};
use super::rescan_set::RescanSet;
use super::session::MarkSession;
use super::stack::MarkStacks;
use super::workers::Workers;
use crate::options::Config;
use crate::pause::Pause;
use crate::roots::ScanRoots;
use crate::state::State;
use heapwood_heap::{Collection, Space};
use heapwood_os::clock::monotonic_ns;
use heapwood_os::{KernelRef, OsError, Pagemap, cores};

/// A marking that takes one thread so many nanoseconds is worth waking another.
const WORTH: u64 = 8_000_000;
/// The bytes in use from which on the first marking is.
const WORTH_BYTES: usize = 256 << 20;
/// By how much help must make a marking faster, for all threads together take more: two that are half as fast again as one
/// take a third more CPU time.
const GAIN: f64 = 1.5;
/// One in so many markings that are worth help is done the other way.
const TRY_EVERY: u32 = 16;

/// The markers of a heap.
pub(crate) struct Marking {
    kernel: KernelRef,
    stacks: MarkStacks,
    rescan: RescanSet,
    /// So many edges each stack holds, if that is set.
    edges: Option<usize>,
    /// How many threads may mark.
    markers: usize,
    /// They always do.
    always: bool,
    /// Started, or refused by the kernel.
    workers: Option<Option<Workers>>,
    /// How many are to help with the next marking.
    helpers: usize,
    speed: Speed,
}

/// How fast markings were, in bytes a nanosecond: the last by one thread, and the last with help.
#[derive(Debug, Default)]
struct Speed {
    alone: Option<f64>,
    helped: Option<f64>,
    /// The bytes that the last found alive.
    bytes: usize,
    /// Markings that were worth help since the other way was tried.
    since: u32,
}

impl Speed {
    /// Whether workers are to help with the next marking of a heap with so many bytes in use.
    fn wants_help(&mut self, in_use: usize) -> bool {
        let Some(alone) = self.alone else { return self.helped.is_none() && in_use >= WORTH_BYTES };
        if (self.bytes as f64) < alone * WORTH as f64 {
            return false;
        }
        let Some(helped) = self.helped else { return true };
        self.since += 1;
        let tries = self.since >= TRY_EVERY;
        if tries {
            self.since = 0;
        }
        (helped > alone * GAIN) != tries
    }

    /// A marking has taken so long.
    fn marked(&mut self, bytes: usize, ns: u64, helped: bool) {
        let speed = Some(bytes as f64 / ns.max(1) as f64);
        *(if helped { &mut self.helped } else { &mut self.alone }) = speed;
        self.bytes = bytes;
    }
}

impl Marking {
    /// For a heap with these settings and this window.
    pub(crate) fn new(kernel: KernelRef, config: &Config, window: usize) -> Result<Self, OsError> {
        let edges = config.mark_stack.map(|edges| edges as usize);
        let most = Config::MOST_MARK_THREADS as usize;
        Ok(Marking {
            kernel,
            stacks: MarkStacks::sized(kernel, edges, window)?,
            rescan: RescanSet::new(kernel, window)?,
            edges,
            markers: config.mark_threads.unwrap_or_else(|| cores::available().min(most)),
            always: config.mark_threads.is_some(),
            workers: None,
            helpers: 0,
            speed: Speed::default(),
        })
    }

    /// Before the world is stopped for a collection of everything: decides how many threads help, and starts them the first
    /// time.
    pub(crate) fn prepare(&mut self, space: &Space) {
        let helps = self.markers > 1 && (self.always || self.speed.wants_help(space.resident_bytes()));
        self.helpers = if helps { self.markers - 1 } else { 0 };
        if self.workers.iter().flatten().any(Workers::are_gone) {
            // A forked child starts its own.
            self.workers = None;
        }
        if self.helpers > 0 && self.workers.is_none() {
            let (kernel, edges, window) = (self.kernel, self.edges, space.window_bytes() / self.markers);
            let stacks = || MarkStacks::sized(kernel, edges, window);
            self.workers = Some(Workers::start(kernel, self.markers - 1, stacks).ok());
        }
    }

    /// Marks everything that can be reached from the roots.
    pub(crate) fn mark_full(&mut self, pause: &Pause<'_>) -> MarkTotals {
        let graph = graph(&mut self.rescan, pause);
        let began = monotonic_ns();
        let workers = self.workers.iter().flatten().find(|workers| self.helpers > 0 && workers.are_here());
        let (marked, helped) = match workers {
            Some(workers) => {
                let (marked, markers) = workers.mark(graph, pause, &mut self.stacks, self.helpers);
                (marked, markers > 1)
            }
            None => {
                let (pagemap, mode) =
                    (Pagemap::new(), Composed { team: Alone, scope: Full, limit: Unlimited });
                let mut marker = Marker::new(graph, &mut self.stacks, &pagemap, mode);
                pause.scan_roots(Collection::Full, &mut marker);
                (marker.drain(), false)
            }
        };
        self.speed.marked(marked.bytes, monotonic_ns() - began, helped);
        marked
    }

    /// Marks what is young and can be reached from the roots and the remembered set, until a deadline in nanoseconds of the
    /// monotonic clock. What is not marked then is left.
    pub(crate) fn mark_young(&mut self, pause: &Pause<'_>, deadline: u64) -> MarkTotals {
        self.mark_until(pause, deadline, Young)
    }

    /// The same while a concurrent marking is active: survivors are marked for both.
    pub(crate) fn mark_young_in_snapshot(&mut self, pause: &Pause<'_>, deadline: u64) -> MarkTotals {
        let full = pause.world().mark_side(Collection::Full);
        self.mark_until(pause, deadline, YoungInSnapshot::new(full, pause.state().faults()))
    }

    fn mark_until(&mut self, pause: &Pause<'_>, deadline: u64, scope: impl Scope) -> MarkTotals {
        let graph = graph(&mut self.rescan, pause);
        let (pagemap, mode) =
            (Pagemap::new(), Composed { team: Alone, scope, limit: Deadline::at(deadline) });
        let mut marker = Marker::new(graph, &mut self.stacks, &pagemap, mode);
        // Few roots and edges are marked before it looks at the time.
        marker.is_late();
        pause.scan_roots(Collection::Young, &mut marker);
        pause.scan_remembered(&mut marker);
        let marked = marker.drain();
        let late = marker.mode.limit().was_late();
        if late {
            self.rescan.forget();
        }
        MarkTotals { late, ..marked }
    }

    /// Memory for a concurrent marking.
    pub(crate) fn new_session(&self, state: &State) -> Result<MarkSession, OsError> {
        MarkSession::new(self.kernel, self.edges, state)
    }

    /// In a forked child: a marking was given up at whatever it was doing.
    pub(crate) fn give_up(&mut self) {
        self.stacks.clear();
        self.rescan.forget();
    }

    /// Gives memory back after a deep marking.
    pub(crate) fn trim(&mut self) {
        self.stacks.trim();
    }
}

fn graph<'h>(rescan: &'h mut RescanSet, pause: &'h Pause<'_>) -> Graph<'h> {
    rescan.commit(pause.space().extent());
    Graph { state: pause.state(), world: pause.world(), rescan }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Markings of a heap of so many bytes, by one thread at a byte a nanosecond and with help at `helped` times that: which of
    /// them had help.
    fn play(speed: &mut Speed, bytes: usize, helped: f64, times: usize) -> Vec<bool> {
        let mut mark = || {
            let helps = speed.wants_help(0);
            let ns = if helps { bytes as f64 / helped } else { bytes as f64 };
            speed.marked(bytes, ns as u64, helps);
            helps
        };
        (0..times).map(|_| mark()).collect()
    }

    #[test]
    fn workers_help_where_that_was_faster() {
        let mut speed = Speed::default();
        assert_eq!(play(&mut speed, 1 << 20, 2.0, 3), [false; 3], "too short");
        let long = 16_000_000;
        let helped = play(&mut speed, long, 1.7, 2 + 3 * TRY_EVERY as usize);
        let alone = helped.iter().filter(|&&helps| !helps).count();
        assert_eq!((helped[1], alone), (true, 4), "the first, and three tries");
        // The program has changed: help does no good any more.
        let helped = play(&mut speed, long, 0.8, 4 * TRY_EVERY as usize);
        assert_eq!(helped[TRY_EVERY as usize..].iter().filter(|&&helps| helps).count(), 3);
        // The first marking of a large heap has help.
        assert!(Speed::default().wants_help(WORTH_BYTES) && !Speed::default().wants_help(0));
    }
}
