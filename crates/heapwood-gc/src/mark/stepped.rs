//! A full marking in small steps, between which mutators run: what tests the write barrier's half of concurrent marking, and is
//! one with a thread's patience of zero. It is a snapshot at the beginning: when it begins all that exists has its allocation bit,
//! and the roots are scanned; afterwards it follows edges to objects with that bit alone. Each step is a stop of its own, in which
//! mutators are where they polled: runs are begun, cells reserved for shared spans wait.
//! Invariant: between steps everything of the snapshot that is not marked can be reached by a path of unmarked objects from an edge
//! on the stacks, from an object that was marked and waits to be scanned, or from one of a flagged span.

use super::flagged::FlaggedSpans;
use super::mode::Stepped;
use super::queue::{Graph, Marked, Marker};
use super::roots::ScanRoots;
use super::stack::MarkStacks;
use crate::inject::FaultInjector;
use crate::state::{MarkingLog, State};
use heapwood_heap::{Collection, Stopped};
use heapwood_os::{KernelRef, OsError, Pagemap};

/// How many objects the lists of mutators have room for, if the stacks' size is not set.
const USUAL_LIST: usize = 1 << 20;

/// A marking under way, and what it has found so far.
pub(crate) struct SteppedMarking {
    stacks: MarkStacks,
    flagged: FlaggedSpans,
    found: Marked,
}

impl SteppedMarking {
    /// With stacks, and a list of what mutators shade, of so many entries if that is set.
    pub(super) fn new(kernel: KernelRef, edges: Option<usize>, state: &State) -> Result<Self, OsError> {
        let window = state.space().window_bytes();
        state.marking_log().begin(kernel, edges.unwrap_or(USUAL_LIST), USUAL_LIST)?;
        Ok(SteppedMarking {
            stacks: MarkStacks::sized(kernel, edges, window)?,
            flagged: FlaggedSpans::new(kernel, window)?,
            found: Marked::default(),
        })
    }

    /// Takes the snapshot: scans the roots that `roots` names, all of them, for they may be gone afterwards.
    pub(crate) fn begin(
        &mut self,
        state: &State,
        world: &Stopped<'_>,
        faults: &FaultInjector,
        roots: impl FnOnce(&mut dyn ScanRoots),
    ) {
        self.with_marker(state, world, faults, |marker| roots(marker));
    }

    /// Follows so many edges, or scans so many pieces of objects; whether something may be left.
    pub(crate) fn step(
        &mut self,
        state: &State,
        world: &Stopped<'_>,
        faults: &FaultInjector,
        edges: usize,
    ) -> bool {
        self.with_marker(state, world, faults, |marker| (0..edges).all(|_| marker.step(state.marking_log())))
    }

    /// So much was marked for it by others.
    pub(crate) fn add(&mut self, marked: Marked) {
        self.found = self.found.plus(Marked { late: false, ..marked });
    }

    /// Marks what is left; returns what was found altogether.
    pub(crate) fn finish(&mut self, state: &State, world: &Stopped<'_>, faults: &FaultInjector) -> Marked {
        while self.step(state, world, faults, usize::MAX) {}
        self.found
    }

    fn with_marker<R>(
        &mut self,
        state: &State,
        world: &Stopped<'_>,
        faults: &FaultInjector,
        f: impl FnOnce(&mut Marker<'_, Stepped>) -> R,
    ) -> R {
        let space = state.space();
        self.flagged.commit(space.extent());
        let graph = Graph::new((space, world, Collection::Full), &self.flagged, faults);
        let pagemap = Pagemap::new();
        let mut marker = Marker::new(graph, &mut self.stacks, &pagemap, Stepped);
        let result = f(&mut marker);
        let found = marker.found();
        self.add(found);
        result
    }
}

impl Marker<'_, Stepped> {
    /// Does one thing; false if there is nothing to do.
    fn step(&mut self, log: &MarkingLog) -> bool {
        if let Some(edge) = self.stacks.edges.pop() {
            self.follow_edge(edge);
        } else if let Some(shaded) = log.next_shaded() {
            self.visit_marked(shaded, self.entry(shaded));
        } else if self.next_range() {
            // The piece's edges are on the stack.
        } else if log.take_missed() {
            let (world, flagged) = (self.world, self.flagged);
            // At once: spans without a marked object may go between steps.
            world.for_each_span(|page, _| flagged.flag(page.0));
            self.rescan_overflowed();
        } else if self.flagged.any() {
            self.rescan_overflowed();
        } else {
            return false;
        }
        true
    }
}
