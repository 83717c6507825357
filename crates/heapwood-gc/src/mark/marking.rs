//! The marking of a heap: what it is done with, and whether workers help. They come late, and who is not alone writes marks
//! more slowly, so markings of two milliseconds become longer by help. So workers are called only if the last marking took
//! one thread, or would have taken it, longer than [`WORTH`]; before the first, if the heap has grown to [`WORTH_BYTES`]
//! (docs/design/parallel-marking.md). If the number of markers is set, they always help.
//! Invariant: one marking at a time, by whoever has this borrowed.

use super::flagged::FlaggedSpans;
#[cfg(feature = "stepped")]
use super::mode::Beside;
use super::mode::{Alone, Young};
use super::queue::{Graph, Marked, Marker};
use super::roots::ScanRoots;
use super::stack::MarkStacks;
#[cfg(feature = "stepped")]
use super::stepped::SteppedMarking;
use super::workers::Workers;
use crate::inject::FaultInjector;
use crate::options::Config;
use crate::state::State;
use heapwood_heap::{Collection, Space, Stopped};
use heapwood_os::clock::monotonic_ns;
use heapwood_os::{KernelRef, OsError, Pagemap, cores};

/// A marking that takes one thread so many nanoseconds is worth waking another.
const WORTH: u64 = 8_000_000;
/// The bytes in use from which on the first marking is.
const WORTH_BYTES: usize = 256 << 20;

/// The markers of a heap.
pub(crate) struct Marking {
    kernel: KernelRef,
    stacks: MarkStacks,
    flagged: FlaggedSpans,
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
    /// How long the last marking took, or would have taken one thread.
    last_ns: Option<u64>,
}

impl Marking {
    /// For a heap with these settings and this window.
    pub(crate) fn new(kernel: KernelRef, config: &Config, window: usize) -> Result<Self, OsError> {
        let edges = config.mark_stack.map(|edges| edges as usize);
        let most = Config::MOST_MARK_THREADS as usize;
        Ok(Marking {
            kernel,
            stacks: MarkStacks::sized(kernel, edges, window)?,
            flagged: FlaggedSpans::new(kernel, window)?,
            edges,
            markers: config.mark_threads.unwrap_or_else(|| cores::available().min(most)),
            always: config.mark_threads.is_some(),
            workers: None,
            helpers: 0,
            last_ns: None,
        })
    }

    /// Before the world is stopped for a collection of everything: decides how many threads help, and starts them the first
    /// time.
    pub(crate) fn prepare(&mut self, space: &Space) {
        self.helpers = match (self.always, self.last_ns) {
            _ if self.markers == 1 => 0,
            (true, _) => self.markers - 1,
            (false, Some(last)) => (self.markers - 1).min((last / WORTH) as usize),
            (false, None) if space.resident_bytes() >= WORTH_BYTES => self.markers - 1,
            (false, None) => 0,
        };
        if self.helpers > 0 && self.workers.is_none() {
            let (kernel, edges, window) = (self.kernel, self.edges, space.window_bytes() / self.markers);
            let stacks = || MarkStacks::sized(kernel, edges, window);
            self.workers = Some(Workers::start(kernel, self.markers - 1, stacks).ok());
        }
    }

    /// Marks what can be reached from the roots, which `roots` names.
    pub(crate) fn mark(
        &mut self,
        state: &State,
        world: &Stopped<'_>,
        faults: &FaultInjector,
        roots: impl FnOnce(&mut dyn ScanRoots),
    ) -> Marked {
        let space = state.space();
        self.flagged.commit(space.extent());
        let graph = Graph::new((space, world, Collection::Full), &self.flagged, faults);
        let began = monotonic_ns();
        let workers = self.workers.iter().flatten().find(|workers| self.helpers > 0 && workers.are_here());
        let (marked, markers) = match workers {
            Some(workers) => workers.mark((graph, state), &mut self.stacks, self.helpers, roots),
            None => {
                let pagemap = Pagemap::new();
                let mut marker = Marker::new(graph, &mut self.stacks, &pagemap, Alone);
                roots(&mut marker);
                (marker.drain(), 1)
            }
        };
        self.last_ns = Some((monotonic_ns() - began) * markers);
        marked
    }

    /// Marks what is young and can be reached from the roots and what is remembered, which `roots` names; until a time, in
    /// nanoseconds of the monotonic clock, and what is not marked then is left.
    pub(crate) fn mark_young(
        &mut self,
        state: &State,
        world: &Stopped<'_>,
        faults: &FaultInjector,
        deadline: u64,
        roots: impl FnOnce(&mut dyn ScanRoots),
    ) -> Marked {
        let space = state.space();
        self.flagged.commit(space.extent());
        let graph = Graph::new((space, world, Collection::Young), &self.flagged, faults);
        let pagemap = Pagemap::new();
        let mut marker = Marker::new(graph, &mut self.stacks, &pagemap, Young::until(deadline));
        roots(&mut marker);
        let marked = marker.drain();
        let late = marker.mode.was_late();
        if late {
            self.flagged.forget();
        }
        Marked { late, ..marked }
    }

    /// The same while a full marking is under way: what this marks, that has marked.
    #[cfg(feature = "stepped")]
    pub(crate) fn mark_young_beside(
        &mut self,
        state: &State,
        world: &Stopped<'_>,
        faults: &FaultInjector,
        deadline: u64,
        roots: impl FnOnce(&mut dyn ScanRoots),
    ) -> Marked {
        let space = state.space();
        self.flagged.commit(space.extent());
        let graph = Graph::new((space, world, Collection::Young), &self.flagged, faults);
        let mode = Beside::new(Young::until(deadline), world.mark_side(Collection::Full), faults);
        let pagemap = Pagemap::new();
        let mut marker = Marker::new(graph, &mut self.stacks, &pagemap, mode);
        roots(&mut marker);
        let marked = marker.drain();
        let late = marker.mode.young.was_late();
        if late {
            self.flagged.forget();
        }
        Marked { late, ..marked }
    }

    /// Memory for a marking in steps.
    #[cfg(feature = "stepped")]
    pub(crate) fn stepped(&self, state: &State) -> Result<SteppedMarking, OsError> {
        SteppedMarking::new(self.kernel, self.edges, state)
    }

    /// Gives memory back after a deep marking.
    pub(crate) fn settle(&mut self) {
        self.stacks.settle();
    }
}
