//! A mark session: a full concurrent marking. It marks a snapshot at the beginning: when it starts, every object has its
//! allocation bit, and the roots are scanned; afterwards it follows edges only to objects with that bit. It goes on in
//! slices beside the program (`mark_beside`), or in steps of a stopped one, which tests count. Invariant: between slices,
//! every unmarked object of the snapshot can be reached by a path of unmarked objects from an edge on the stacks, from a
//! marked object that waits to be scanned, or from a marked object of a span in the rescan set.

use super::bits::MarkBits;
use super::ephemerons::Pending;
use super::mode::{
    Alone, Composed, Concurrent, Mode, NextWork, Scope, Snapshot, Team, Unlimited, UntilAsked,
};
use super::mode::{Asked, turns_away};
use super::queue::{Graph, MarkTotals, Marker};
use super::shading::{FREED, MARK_ONLY};
use super::stack::MarkStacks;
use super::workers::{HelperTotals, Workers};
use crate::pause::Pause;
use crate::policy::MarkCycle;
use crate::state::rescan_set::RescanSet;
use crate::state::{MarkingLog, ShadedChunk, State};
use core::ops::Range;
use heapwood_heap::{Collection, ObjectRef, Stopped};
use heapwood_os::process::clock;
use heapwood_os::{KernelRef, Mapped, OsError, Pagemap};

/// Shaded objects whose memory is on its way while those before them are scanned.
const AHEAD: usize = 8;

/// Edges on the stack of a marking that ends late from which on helpers are worth their start.
const MANY_EDGES: usize = 256;

type StoppedMode<'h, S = Snapshot> = Composed<Alone<'h>, S, Unlimited>;
type ConcurrentMode<'h> = Composed<Concurrent, Snapshot, UntilAsked<'h>>;
type SettlingMode<'h> = Composed<Concurrent, Pending<'h, Snapshot>, UntilAsked<'h>>;

/// What a slice beside the program has done.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MarkedBeside {
    /// Nothing was left to mark when it ended.
    pub(crate) done: bool,
    /// CPU time of the helper threads, in nanoseconds.
    pub(crate) helpers_cpu_ns: u64,
}

/// An active marking, and its totals so far.
pub(crate) struct MarkSession {
    stacks: MarkStacks,
    totals: MarkTotals,
    /// When it started, in nanoseconds of the monotonic clock.
    began: u64,
    /// What young collections have marked or promoted since.
    since: MarkTotals,
    /// What it had done when its end began.
    cycle: MarkCycle,
}

impl MarkSession {
    /// With these empty stacks, and the log of objects that mutators shade, with N entries if the option is set.
    pub(super) fn new(
        kernel: KernelRef,
        edges: Option<usize>,
        state: &State,
        stacks: MarkStacks,
    ) -> Result<Self, OsError> {
        let reservation = state.space().reservation_bytes();
        state.marking_log().begin(kernel, edges, (reservation, state.space().committed_end()))?;
        let none = MarkTotals::default();
        Ok(MarkSession { stacks, totals: none, began: 0, since: none, cycle: MarkCycle { marked: 0, ns: 0 } })
    }

    /// Its stacks, which are empty before it starts and after it has ended.
    pub(super) fn into_stacks(self) -> MarkStacks {
        self.stacks
    }

    /// Takes the snapshot: scans all roots, since they may be gone later.
    pub(crate) fn take_snapshot(&mut self, pause: &Pause<'_>) {
        self.began = clock::monotonic_ns();
        pause.state().ephemerons().begin_marking(true);
        self.stopped((pause.state(), pause.world()), |marker| pause.scan_roots(Collection::Full, marker));
    }

    /// Marks beside the program until it is `asked` to stop, with at most so many helpers. Returns the helpers' part.
    ///
    /// # Safety
    /// 1. The marking is active, and no pause of the heap runs until this returns.
    pub(super) unsafe fn mark_beside(
        &mut self,
        state: &State,
        asked: &Asked<'_>,
        workers: Option<(&mut Workers, usize)>,
    ) -> MarkedBeside {
        // It has bits for the snapshot, and only pauses may commit more.
        let rescan = state.marking_log().rescan();
        // SAFETY: contract 1.
        let view = unsafe { state.space().marking_view() };
        let graph = Graph { state, marks: view.mark_side(), view, world: None, rescan };
        let mut helped = HelperTotals::default();
        let ephemerons = state.ephemerons().of(true);
        if ephemerons.is_settling() {
            return self.settle_beside(state, graph, asked, helped);
        }
        if let Some((workers, helpers)) = workers {
            let mine;
            (mine, helped) = workers.mark_beside(graph, &mut self.stacks, helpers, asked);
            self.add(mine.plus(helped.marked));
        }
        // Alone it takes what barriers have shaded since.
        let turns_away = turns_away(state.marking_log(), asked);
        let mode = Composed { team: Concurrent, scope: Snapshot, limit: UntilAsked(&turns_away) };
        let pagemap = Pagemap::new();
        let mut marker = Marker::<ConcurrentMode<'_>>::new(graph, &mut self.stacks, &pagemap, mode);
        let done = marker.mark_all(state.marking_log(), asked) && marker.stacks.are_empty();
        let totals = marker.totals();
        drop(marker);
        self.add(totals);
        if done && ephemerons.are_undecided() {
            ephemerons.begin_settling();
            return self.settle_beside(state, graph, asked, helped);
        }
        MarkedBeside { done, helpers_cpu_ns: helped.cpu_ns }
    }

    /// Goes on with the fixed point of ephemerons, by the marker thread alone.
    fn settle_beside(
        &mut self,
        state: &State,
        graph: Graph<'_>,
        asked: &Asked<'_>,
        helped: HelperTotals,
    ) -> MarkedBeside {
        let turns_away = turns_away(state.marking_log(), asked);
        let scope = Pending::new(Snapshot, state.ephemerons());
        let mode = Composed { team: Concurrent, scope, limit: UntilAsked(&turns_away) };
        let pagemap = Pagemap::new();
        let mut marker = Marker::<SettlingMode<'_>>::new(graph, &mut self.stacks, &pagemap, mode);
        let done = marker.settle_beside(state, asked) && marker.stacks.are_empty();
        let totals = marker.totals();
        drop(marker);
        self.add(totals);
        MarkedBeside { done, helpers_cpu_ns: helped.cpu_ns }
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

    /// The bytes that it has marked so far.
    pub(crate) fn marked(&self) -> usize {
        self.totals.bytes
    }

    /// What it has done before its last pause, which may have marked much if it was late.
    pub(crate) fn cycle(&self) -> MarkCycle {
        self.cycle
    }

    /// The bytes that its last pause has marked.
    pub(crate) fn marked_in_end(&self) -> usize {
        self.totals.bytes - self.cycle.marked
    }

    /// The bytes that young collections have marked or promoted since it started.
    pub(crate) fn promoted(&self) -> usize {
        self.since.bytes
    }

    /// Marks everything that is left, with so many helpers if that is much; returns the session's totals.
    pub(super) fn finish(
        &mut self,
        state: &State,
        world: &Stopped<'_>,
        workers: Option<(&Workers, usize)>,
    ) -> MarkTotals {
        let ns = clock::monotonic_ns().saturating_sub(self.began);
        self.cycle = MarkCycle { marked: self.totals.bytes, ns };
        if let Some((workers, helpers)) = workers.filter(|_| self.stacks.edges.len() >= MANY_EDGES) {
            let rescan = state.marking_log().rescan();
            state.marking_log().commit_sets(state.space().committed_end());
            let view = world.marking_view();
            let graph = Graph { state, marks: view.mark_side(), view, world: Some(world), rescan };
            let (marked, _) = workers.mark((graph, true), &mut self.stacks, helpers, |_| ());
            self.add(marked);
        }
        // What barriers have noted, and what that leads to.
        self.stopped((state, world), |marker| marker.mark_all(state.marking_log(), &|| false));
        let ephemerons = state.ephemerons();
        if ephemerons.of(true).are_undecided() || ephemerons.of(true).is_settling() {
            self.stopped_in((state, world), Pending::new(Snapshot, ephemerons), |marker| {
                marker.look_again(ephemerons);
                marker.settle(ephemerons)
            });
        }
        self.totals.plus(self.since)
    }

    fn stopped<'h, R>(
        &mut self,
        stopped: (&'h State, &'h Stopped<'_>),
        f: impl FnOnce(&mut Marker<'_, StoppedMode<'h>>) -> R,
    ) -> R {
        self.stopped_in(stopped, Snapshot, f)
    }

    fn stopped_in<'h, S: Scope, R>(
        &mut self,
        (state, world): (&'h State, &'h Stopped<'_>),
        scope: S,
        f: impl FnOnce(&mut Marker<'_, StoppedMode<'h, S>>) -> R,
    ) -> R {
        let rescan = state.marking_log().rescan();
        state.marking_log().commit_sets(state.space().committed_end());
        let view = world.marking_view();
        let graph = Graph { state, marks: view.mark_side(), view, world: Some(world), rescan };
        let (pagemap, mode) = (Pagemap::new(), Composed { team: Alone::new(world), scope, limit: Unlimited });
        let mut marker = Marker::new(graph, &mut self.stacks, &pagemap, mode);
        let result = f(&mut marker);
        let totals = marker.totals();
        drop(marker);
        self.add(totals);
        result
    }
}

impl<M: Mode> Marker<'_, M> {
    /// Follows all edges, and scans all objects that barriers have shaded, until it is `asked` to stop; whether nothing
    /// is left. What only a stop can do is left by a marker beside the program.
    pub(super) fn mark_all(&mut self, log: &MarkingLog, asked: &dyn Fn() -> bool) -> bool {
        self.mark_shared(log, asked, false)
    }

    /// The same for one of several markers: the collector's, or a helper, which the pool counts as waiting at first. A helper
    /// takes no spans: neither those of which something was shaded without a place in the log, nor unasked those with deferred
    /// objects.
    pub(super) fn mark_shared(&mut self, log: &MarkingLog, asked: &dyn Fn() -> bool, helps: bool) -> bool {
        if helps && !self.goes_on() {
            return true;
        }
        loop {
            self.follow_all();
            if asked() {
                while M::Team::SEVERAL && self.goes_on() {}
                return false;
            }
            if let Some(shaded) = log.take_chunk() {
                self.take_chunk(&shaded);
            } else if !helps && (log.unlogged().any() || self.world.is_some() && log.unlogged().is_beyond()) {
                self.shade_spans(log.unlogged());
            } else if !helps && (self.rescan.any() || self.world.is_some() && self.rescan.is_beyond()) {
                self.rescan_overflowed();
            } else if !self.goes_on() {
                return true;
            }
        }
    }

    /// Waits for work; false if there is none: all others wait, too.
    fn goes_on(&mut self) -> bool {
        match self.next_work() {
            NextWork::Edges => true,
            NextWork::Rescan => {
                self.rescan_overflowed();
                true
            }
            NextWork::None => false,
        }
    }

    /// Marks and scans the objects of a chunk.
    fn take_chunk(&mut self, shaded: &ShadedChunk<'_>) {
        for i in 0..shaded.len() {
            self.marks.prefetch(shaded.get((i + AHEAD).min(shaded.len() - 1)));
            self.take_shaded(shaded.get(i));
        }
    }

    /// Marks and scans an object that a mutator has shaded, or marks a cell in which it has made one, if it has. A freed
    /// object has its words only if its free has shaded it: a stray word may have led the barrier to a cell that a mutator
    /// was about to use, and that has gone back to its chain, with a link in it.
    fn take_shaded(&mut self, shaded: usize) {
        let object = shaded & !(MARK_ONLY | FREED);
        let keeps_words = shaded & FREED != 0;
        if !keeps_words && self.space.is_freed(ObjectRef::new(object)) {
            return;
        }
        // SAFETY: shaded objects are bases of objects, and all markers set bits in compatible ways.
        if !unsafe { M::Bits::set_at_once(self.marks, object) } {
            return;
        }
        self.mode.scope().marked(object);
        if shaded & MARK_ONLY == 0 {
            self.visit_marked(object, self.entry(object));
        }
    }

    /// Shades all old objects of spans of which some were shaded without a place in the log. Such a span stays until the
    /// marking ends.
    #[cold]
    fn shade_spans(&mut self, spans: &RescanSet) {
        spans.take_all(self.world, |page| {
            for cell in self.space.span(page).iter() {
                if self.space.is_unmarked(cell.into()) {
                    self.take_shaded(cell.get());
                }
            }
        });
    }
}

impl Marker<'_, StoppedMode<'_>> {
    /// Follows one edge or scans one slice; false if nothing is left.
    fn step(&mut self, log: &MarkingLog) -> bool {
        if let Some(edge) = self.stacks.edges.pop() {
            self.follow_edge(edge);
        } else if let Some(shaded) = log.next_shaded() {
            self.take_shaded(shaded);
        } else if self.next_range() {
            // The slice's edges are on the stack.
        } else if log.unlogged().any() || log.unlogged().is_beyond() {
            self.shade_spans(log.unlogged());
        } else if self.rescan.any() || self.rescan.is_beyond() {
            self.rescan_overflowed();
        } else {
            return false;
        }
        true
    }
}

impl Mapped for MarkSession {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        self.stacks.for_each_mapping(f);
    }
}
