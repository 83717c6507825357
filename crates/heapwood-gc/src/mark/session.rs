//! A mark session: a full concurrent marking in steps that a driver runs (today a test). It marks a snapshot at the
//! beginning: when it starts, every object has its allocation bit, and the roots are scanned; afterwards it follows
//! edges only to objects with that bit. Each step is a pause of its own. During it, mutators are where they polled: a
//! buffer may be partly used, and cells reserved for shared spans wait. Invariant: between steps, every unmarked object
//! of the snapshot can be reached by a path of unmarked objects from an edge on the stacks, from a marked object that
//! waits to be scanned, or from a marked object of a span in the rescan set.

use super::mode::{Alone, Composed, Snapshot, Unlimited};
use super::queue::{Graph, MarkTotals, Marker};
use super::rescan_set::RescanSet;
use super::stack::MarkStacks;
use crate::pause::Pause;
use crate::state::{MarkingLog, State};
use heapwood_heap::{Collection, Stopped};
use heapwood_os::{KernelRef, OsError, Pagemap};

/// Capacity of the list of shaded objects, if the option does not set the stacks' size.
const USUAL_LIST: usize = 1 << 20;

type SnapshotMode = Composed<Alone, Snapshot, Unlimited>;

/// An active marking, and its totals so far.
pub(crate) struct MarkSession {
    stacks: MarkStacks,
    rescan: RescanSet,
    totals: MarkTotals,
}

impl MarkSession {
    /// Allocates the stacks and the list of objects that mutators shade, with N entries each if the option is set.
    pub(super) fn new(kernel: KernelRef, edges: Option<usize>, state: &State) -> Result<Self, OsError> {
        let reservation = state.space().reservation_bytes();
        state.marking_log().begin(kernel, edges.unwrap_or(USUAL_LIST), USUAL_LIST)?;
        Ok(MarkSession {
            stacks: MarkStacks::sized(kernel, edges, reservation)?,
            rescan: RescanSet::new(kernel, reservation)?,
            totals: MarkTotals::default(),
        })
    }

    /// Takes the snapshot: scans all roots, since they may be gone later.
    pub(crate) fn take_snapshot(&mut self, pause: &Pause<'_>) {
        self.with_marker((pause.state(), pause.world()), |marker| pause.scan_roots(Collection::Full, marker));
    }

    /// Follows at most N edges, or scans N slices of objects; true if something may be left.
    pub(crate) fn step(&mut self, state: &State, world: &Stopped<'_>, edges: usize) -> bool {
        self.with_marker((state, world), |marker| (0..edges).all(|_| marker.step(state.marking_log())))
    }

    /// Adds objects that young collections have marked for this session.
    pub(crate) fn add(&mut self, marked: MarkTotals) {
        self.totals = self.totals.plus(MarkTotals { late: false, ..marked });
    }

    /// Marks everything that is left; returns the session's totals.
    pub(crate) fn finish(&mut self, state: &State, world: &Stopped<'_>) -> MarkTotals {
        while self.step(state, world, usize::MAX) {}
        self.totals
    }

    fn with_marker<R>(
        &mut self,
        (state, world): (&State, &Stopped<'_>),
        f: impl FnOnce(&mut Marker<'_, SnapshotMode>) -> R,
    ) -> R {
        self.rescan.commit(state.space().committed_end());
        let graph = Graph { state, world, rescan: &self.rescan };
        let (pagemap, mode) = (Pagemap::new(), Composed { team: Alone, scope: Snapshot, limit: Unlimited });
        let mut marker = Marker::new(graph, &mut self.stacks, &pagemap, mode);
        let result = f(&mut marker);
        let totals = marker.totals();
        self.add(totals);
        result
    }
}

impl Marker<'_, SnapshotMode> {
    /// Follows one edge or scans one slice; false if nothing is left.
    fn step(&mut self, log: &MarkingLog) -> bool {
        if let Some(edge) = self.stacks.edges.pop() {
            self.follow_edge(edge);
        } else if let Some(shaded) = log.next_shaded() {
            self.visit_marked(shaded, self.entry(shaded));
        } else if self.next_range() {
            // The slice's edges are on the stack.
        } else if log.take_missed() {
            let (world, rescan) = (self.world, self.rescan);
            // Scanned in this step: spans without a marked object may be freed between steps.
            world.for_each_span(|page, _| rescan.flag(page.0));
            self.rescan_overflowed();
        } else if self.rescan.any() {
            self.rescan_overflowed();
        } else {
            return false;
        }
        true
    }
}
