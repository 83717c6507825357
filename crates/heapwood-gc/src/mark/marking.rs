//! The markings of a heap: their stacks and their helpers. `policy/help` decides from the measured speed whether
//! helpers take part; if the option sets the number of markers, they always do. Invariant: one marking at a time, by
//! the thread that has this borrowed.

use super::ephemerons::Pending;
use super::mode::Asked;
use super::mode::{Alone, Composed, Deadline, Full, Limit, Mode, Scope, Unlimited, Young, YoungInSnapshot};
use super::queue::{Graph, MarkTotals, Marker};
use super::session::{MarkSession, MarkedBeside};
use super::stack::MarkStacks;
use super::workers::Workers;
use crate::pause::Pause;
use crate::policy::HelpPolicy;
use crate::roots::ScanRoots;
use crate::settings::options::Config;
use crate::state::State;
use crate::state::rescan_set::RescanSet;
use core::ops::Range;
use heapwood_heap::{Collection, Space};
use heapwood_os::process::clock::monotonic_ns;
use heapwood_os::{KernelRef, Mapped, OsError, Pagemap, for_each_mapping_of, process::cores};

/// The markers of a heap.
pub(crate) struct Marking {
    kernel: KernelRef,
    stacks: MarkStacks,
    /// Those of the next concurrent marking: the last one has left them, so that no pause unmaps them.
    spare: Option<MarkStacks>,
    rescan: RescanSet,
    /// The configured capacity of each stack, if any.
    edges: Option<usize>,
    /// How many threads mark, if that was set.
    threads: Option<usize>,
    /// The most threads that mark.
    markers: usize,
    /// Helpers take part in every marking.
    always: bool,
    /// The most threads that mark beside the program, if it is more than one: a quarter of the cores, as in Go, or half of
    /// those that mark in a stop.
    beside: usize,
    /// Started, or rejected by the kernel.
    workers: Option<Option<Workers>>,
    /// Helpers of the next marking.
    helpers: usize,
    help: HelpPolicy,
}

/// Helpers that are to be started.
pub(crate) struct NewWorkers {
    kernel: KernelRef,
    edges: Option<usize>,
    reservation: usize,
    number: usize,
}

impl NewWorkers {
    /// Starts them, as many as the kernel grants.
    pub(crate) fn start(self) -> StartedWorkers {
        let NewWorkers { kernel, edges, reservation, number } = self;
        let stacks = || MarkStacks::sized(kernel, edges, reservation);
        StartedWorkers { workers: Workers::start(kernel, number, stacks).ok(), markers: number + 1 }
    }
}

/// Helpers that were started, for a marking by so many threads.
pub(crate) struct StartedWorkers {
    workers: Option<Workers>,
    markers: usize,
}

/// How many threads mark in a stop, and beside the program, if this many are set.
fn teams(threads: Option<usize>) -> (usize, usize) {
    let most = Config::MOST_MARK_THREADS as usize;
    let (markers, beside) = match threads {
        Some(threads) => (threads, threads / 2),
        None => (cores::available().min(most), cores::available() / 4),
    };
    (markers, beside.min(most))
}

impl Marking {
    /// For a heap with these options and this reservation.
    pub(crate) fn new(kernel: KernelRef, config: &Config, reservation: usize) -> Result<Self, OsError> {
        let edges = config.mark_stack.map(|edges| edges as usize);
        let (markers, beside) = teams(config.mark_threads);
        Ok(Marking {
            kernel,
            stacks: MarkStacks::sized(kernel, edges, reservation)?,
            spare: None,
            rescan: RescanSet::new(kernel, reservation)?,
            edges,
            threads: config.mark_threads,
            markers,
            always: config.mark_threads.is_some(),
            beside,
            workers: None,
            helpers: 0,
            help: HelpPolicy::default(),
        })
    }

    /// Takes over how many threads are to mark, if that has changed. No marking uses the helpers now.
    fn set_threads(&mut self, threads: Option<usize>) {
        if self.threads != threads {
            self.threads = threads;
            (self.markers, self.beside) = teams(threads);
            self.always = threads.is_some();
            // Others are started when they are needed.
            self.workers = None;
        }
    }

    /// Before the stop of a full collection: decides how many helpers take part; `threads` are to mark, if that was set. Returns
    /// helpers that are to be started, the first time.
    pub(crate) fn prepare(&mut self, space: &Space, threads: Option<usize>) -> Option<NewWorkers> {
        self.set_threads(threads);
        let helps =
            self.markers > 1 && (self.always || self.help.wants_help(space.memory().resident_bytes()));
        self.helpers = if helps { self.markers - 1 } else { 0 };
        self.new_workers(space, helps)
    }

    fn new_workers(&mut self, space: &Space, helps: bool) -> Option<NewWorkers> {
        if self.workers.iter().flatten().any(Workers::are_gone) {
            // A forked child starts its own.
            self.workers = None;
        }
        (helps && self.workers.is_none()).then(|| NewWorkers {
            kernel: self.kernel,
            edges: self.edges,
            reservation: space.reservation_bytes() / self.markers,
            number: self.markers - 1,
        })
    }

    /// Takes helpers that were started; [`Workers`] that are not wanted any more end.
    pub(crate) fn set_workers(&mut self, started: StartedWorkers) {
        if self.workers.is_none() && self.markers == started.markers {
            self.workers = Some(started.workers);
        }
    }

    /// Marks every object that can be reached from the roots.
    pub(crate) fn mark_full(&mut self, pause: &Pause<'_>) -> MarkTotals {
        pause.state().ephemerons().begin_marking(false);
        let began = monotonic_ns();
        let (marked, helped) =
            self.mark_from(pause, |marker: &mut dyn ScanRoots| pause.scan_roots(Collection::Full, marker));
        let marked = marked.plus(self.settle(pause, Full, Unlimited));
        self.help.after_marking(marked.bytes, monotonic_ns() - began, helped);
        marked
    }

    /// Marks every object that can be reached from what `begin` names, with the helpers of a full marking; whether they helped.
    pub(super) fn mark_from(
        &mut self,
        pause: &Pause<'_>,
        begin: impl FnOnce(&mut dyn ScanRoots),
    ) -> (MarkTotals, bool) {
        let graph = graph(&mut self.rescan, pause, Collection::Full);
        let workers = self.workers.iter().flatten().find(|workers| self.helpers > 0 && workers.are_here());
        match workers {
            Some(workers) => {
                let (marked, markers) = workers.mark((graph, false), &mut self.stacks, self.helpers, begin);
                (marked, markers > 1)
            }
            None => {
                let (pagemap, mode) = (
                    Pagemap::new(),
                    Composed { team: Alone::new(pause.world()), scope: Full, limit: Unlimited },
                );
                let mut marker = Marker::new(graph, &mut self.stacks, &pagemap, mode);
                begin(&mut marker);
                (marker.drain(), false)
            }
        }
    }

    /// What a marking of one thread works with.
    pub(super) fn parts(&mut self) -> (&mut MarkStacks, &mut RescanSet) {
        (&mut self.stacks, &mut self.rescan)
    }

    /// Follows what ephemerons hold, after a marking of the same scope has ended; the bytes and objects that it has added.
    pub(super) fn settle<S: Scope, L: Limit>(&mut self, pause: &Pause<'_>, scope: S, limit: L) -> MarkTotals {
        let ephemerons = pause.state().ephemerons();
        if !ephemerons.of(S::SNAPSHOT).are_undecided() {
            return MarkTotals::default();
        }
        let graph = graph(&mut self.rescan, pause, S::KIND);
        let mode =
            Composed { team: Alone::new(pause.world()), scope: Pending::new(scope, ephemerons), limit };
        let pagemap = Pagemap::new();
        let mut marker = Marker::new(graph, &mut self.stacks, &pagemap, mode);
        let late = !marker.settle(ephemerons);
        MarkTotals { late, ..marker.totals() }
    }

    /// Marks the young objects that can be reached from the roots and the remembered set, until a deadline in
    /// nanoseconds of the monotonic clock. Objects that are not marked by then are left. The time that the roots take
    /// does not count: even a late marking looks at all of them.
    pub(crate) fn mark_young(&mut self, pause: &Pause<'_>, deadline: u64) -> MarkTotals {
        self.mark_until(pause, deadline, Young)
    }

    /// The same while a concurrent marking is active: each survivor is marked for both.
    pub(crate) fn mark_young_in_snapshot(&mut self, pause: &Pause<'_>, deadline: u64) -> MarkTotals {
        let full = pause.world().mark_side(Collection::Full);
        self.mark_until(pause, deadline, YoungInSnapshot::new(full, pause.state().faults()))
    }

    fn mark_until(&mut self, pause: &Pause<'_>, deadline: u64, scope: impl Scope + Copy) -> MarkTotals {
        let ephemerons = pause.state().ephemerons();
        ephemerons.begin_marking(false);
        let graph = graph(&mut self.rescan, pause, Collection::Young);
        let (pagemap, mode) = (
            Pagemap::new(),
            Composed { team: Alone::new(pause.world()), scope, limit: Deadline::at(deadline) },
        );
        let mut marker = Marker::new(graph, &mut self.stacks, &pagemap, mode);
        // A deadline that has passed already is noticed before the first root.
        marker.is_late();
        let began = monotonic_ns();
        pause.scan_roots(Collection::Young, &mut marker);
        marker.mode.limit_mut().extend(monotonic_ns() - began);
        pause.scan_remembered(&mut marker);
        let mut marked = marker.drain();
        marked.late = marker.mode.limit().was_late();
        let deadline = marker.mode.limit().time();
        drop(marker);
        if !marked.late {
            marked = marked.plus(self.settle(pause, scope, Deadline::at(deadline)));
        }
        if marked.late {
            ephemerons.give_up();
            self.rescan.forget();
        }
        marked
    }

    /// A concurrent marking, with memory of its own.
    pub(crate) fn new_session(&mut self, state: &State) -> Result<MarkSession, OsError> {
        let stacks = match self.spare.take() {
            Some(stacks) => stacks,
            None => MarkStacks::sized(self.kernel, self.edges, state.space().reservation_bytes())?,
        };
        MarkSession::new(self.kernel, self.edges, state, stacks)
    }

    /// Keeps the memory of a marking that has ended, or has not started.
    pub(crate) fn keep(&mut self, session: MarkSession) {
        self.spare = Some(session.into_stacks());
    }

    /// In a forked child: abandons a marking at whatever point it had reached.
    pub(crate) fn give_up(&mut self) {
        self.stacks.clear();
        self.rescan.forget();
    }

    /// Marks everything that a concurrent marking has left, with helpers if it has left much. Returns its totals.
    pub(crate) fn finish_session(&self, session: &mut MarkSession, pause: &Pause<'_>) -> MarkTotals {
        let workers = self.workers.iter().flatten().find(|workers| self.helpers > 0 && workers.are_here());
        session.finish(pause.state(), pause.world(), workers.map(|workers| (workers, self.helpers)))
    }

    /// Marks beside the program until it is `asked` to stop.
    ///
    /// # Safety
    /// 1. The session is active, and no pause of the heap runs until this returns.
    pub(crate) unsafe fn mark_beside(
        &mut self,
        session: &mut MarkSession,
        state: &State,
        asked: &Asked<'_>,
    ) -> MarkedBeside {
        let helpers = self.beside.saturating_sub(1);
        if let Some(new) = self.new_workers(state.space(), helpers > 0) {
            self.set_workers(new.start());
        }
        let workers = self.workers.iter_mut().flatten().find(|workers| helpers > 0 && workers.are_here());
        // SAFETY: contract 1.
        unsafe { session.mark_beside(state, asked, workers.map(|workers| (workers, helpers))) }
    }

    /// Gives memory back after a deep marking.
    pub(crate) fn trim(&mut self) {
        self.stacks.trim();
        self.spare.iter_mut().for_each(MarkStacks::trim);
        self.workers.iter_mut().flatten().filter(|workers| workers.are_here()).for_each(Workers::trim);
    }
}

/// What is marked in a pause, on the side for a collection of this kind.
pub(super) fn graph<'h>(rescan: &'h mut RescanSet, pause: &'h Pause<'_>, kind: Collection) -> Graph<'h> {
    rescan.commit(pause.space().committed_end());
    let world = pause.world();
    let (marks, view) = (world.mark_side(kind), world.marking_view());
    Graph { state: pause.state(), marks, view, world: Some(world), rescan }
}

impl Mapped for Marking {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        for_each_mapping_of(&[&self.stacks, &self.spare, &self.rescan], f);
        self.workers.iter().flatten().for_each(|workers| workers.for_each_mapping(f));
    }
}
