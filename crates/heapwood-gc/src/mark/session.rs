//! A mark session: a full concurrent marking. It marks a snapshot at the beginning: when it starts, every object has its
//! allocation bit, and the roots are scanned; afterwards it follows edges only to objects with that bit. It goes on in
//! slices beside the program (`mark_beside`), or in steps of a stopped one, which tests count. Invariant: between slices,
//! every unmarked object of the snapshot can be reached by a path of unmarked objects from an edge on the stacks, from a
//! marked object that waits to be scanned, or from a marked object of a span in the rescan set.

use super::mode::{Alone, Composed, Concurrent, Mode, Snapshot, Unlimited, UntilAsked};
use super::queue::{Graph, MarkTotals, Marker};
use super::stack::MarkStacks;
use crate::pause::Pause;
use crate::policy::ConcurrentCycle;
use crate::state::{MarkingLog, ShadedChunk, State};
use heapwood_heap::{Collection, Stopped, prefetch};
use heapwood_os::process::clock;
use heapwood_os::{KernelRef, OsError, Pagemap};

/// Shaded objects whose memory is on its way while those before them are scanned.
const AHEAD: usize = 8;

type StoppedMode<'h> = Composed<Alone<'h>, Snapshot, Unlimited>;
type ConcurrentMode<'h> = Composed<Concurrent, Snapshot, UntilAsked<'h>>;

/// An active marking, and its totals so far.
pub(crate) struct MarkSession {
    stacks: MarkStacks,
    totals: MarkTotals,
    /// When it started, in nanoseconds of the monotonic clock, and the size of the heap then.
    began: (u64, usize),
    /// What young collections have marked or promoted since.
    since: MarkTotals,
}

impl MarkSession {
    /// Allocates the stacks, and the log of objects that mutators shade, with N entries each if the option is set.
    pub(super) fn new(kernel: KernelRef, edges: Option<usize>, state: &State) -> Result<Self, OsError> {
        let reservation = state.space().reservation_bytes();
        let stacks = MarkStacks::sized(kernel, edges, reservation)?;
        state.marking_log().begin(kernel, edges, (reservation, state.space().committed_end()))?;
        Ok(MarkSession { stacks, totals: MarkTotals::default(), began: (0, 0), since: MarkTotals::default() })
    }

    /// Takes the snapshot: scans all roots, since they may be gone later. The heap has so many bytes now.
    pub(crate) fn take_snapshot(&mut self, pause: &Pause<'_>, size: usize) {
        self.began = (clock::monotonic_ns(), size);
        self.stopped((pause.state(), pause.world()), |marker| pause.scan_roots(Collection::Full, marker));
    }

    /// Marks beside the program until it is `asked` to stop; whether nothing was left to mark then.
    ///
    /// # Safety
    /// 1. The marking is active, and no pause of the heap runs until this returns.
    pub(crate) unsafe fn mark_beside(&mut self, state: &State, asked: &dyn Fn() -> bool) -> bool {
        // It has bits for the snapshot, and only pauses may commit more.
        let rescan = state.marking_log().rescan();
        // SAFETY: contract 1.
        let view = unsafe { state.space().marking_view() };
        let graph = Graph { state, marks: view.mark_side(), view, world: None, rescan };
        let mode = Composed { team: Concurrent, scope: Snapshot, limit: UntilAsked(asked) };
        let pagemap = Pagemap::new();
        let mut marker = Marker::<ConcurrentMode<'_>>::new(graph, &mut self.stacks, &pagemap, mode);
        let done = marker.mark_all(state.marking_log(), asked);
        let totals = marker.totals();
        self.add(totals);
        done
    }

    /// Follows at most N edges, or scans N slices of objects; true if something may be left.
    pub(crate) fn step(&mut self, state: &State, world: &Stopped<'_>, edges: usize) -> bool {
        self.stopped((state, world), |marker| (0..edges).all(|_| marker.step(state.marking_log())))
    }

    /// Adds objects that young collections have marked for this session.
    pub(crate) fn add_young(&mut self, marked: MarkTotals) {
        self.since = self.since.plus(MarkTotals { late: false, ..marked });
    }

    fn add(&mut self, marked: MarkTotals) {
        self.totals = self.totals.plus(marked);
    }

    /// What it has done, when it ends.
    pub(crate) fn cycle(&self) -> ConcurrentCycle {
        ConcurrentCycle {
            marked: self.totals.bytes,
            ns: clock::monotonic_ns().saturating_sub(self.began.0),
            grown: self.since.bytes,
        }
    }

    /// Marks everything that is left; returns the session's totals.
    pub(crate) fn finish(&mut self, state: &State, world: &Stopped<'_>) -> MarkTotals {
        self.stopped((state, world), |marker| marker.mark_all(state.marking_log(), &|| false));
        self.totals.plus(self.since)
    }

    fn stopped<R>(
        &mut self,
        (state, world): (&State, &Stopped<'_>),
        f: impl FnOnce(&mut Marker<'_, StoppedMode<'_>>) -> R,
    ) -> R {
        let rescan = state.marking_log().rescan();
        rescan.commit(state.space().committed_end());
        let view = world.marking_view();
        let graph = Graph { state, marks: view.mark_side(), view, world: Some(world), rescan };
        let (pagemap, mode) =
            (Pagemap::new(), Composed { team: Alone::new(world), scope: Snapshot, limit: Unlimited });
        let mut marker = Marker::new(graph, &mut self.stacks, &pagemap, mode);
        let result = f(&mut marker);
        let totals = marker.totals();
        self.add(totals);
        result
    }
}

impl<M: Mode> Marker<'_, M> {
    /// Follows all edges, and scans all objects that barriers have shaded, until it is `asked` to stop; whether nothing
    /// is left. What only a stop can do is left by a marker beside the program.
    fn mark_all(&mut self, log: &MarkingLog, asked: &dyn Fn() -> bool) -> bool {
        loop {
            self.follow_all();
            if asked() {
                return false;
            }
            if let Some(shaded) = log.take_chunk() {
                self.visit_shaded(&shaded);
            } else if self.rescan.any() || self.world.is_some() && self.rescan.is_beyond() {
                self.rescan_overflowed();
            } else {
                return true;
            }
        }
    }

    /// Scans the objects of a chunk.
    fn visit_shaded(&mut self, shaded: &ShadedChunk<'_>) {
        for i in 0..shaded.len() {
            prefetch::for_read(shaded.get((i + AHEAD).min(shaded.len() - 1)) as *const u8);
            let object = shaded.get(i);
            self.visit_marked(object, self.entry(object));
        }
    }
}

impl Marker<'_, StoppedMode<'_>> {
    /// Follows one edge or scans one slice; false if nothing is left.
    fn step(&mut self, log: &MarkingLog) -> bool {
        if let Some(edge) = self.stacks.edges.pop() {
            self.follow_edge(edge);
        } else if let Some(shaded) = log.next_shaded() {
            self.visit_marked(shaded, self.entry(shaded));
        } else if self.next_range() {
            // The slice's edges are on the stack.
        } else if self.rescan.any() || self.rescan.is_beyond() {
            self.rescan_overflowed();
        } else {
            return false;
        }
        true
    }
}
