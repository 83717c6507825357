//! The collector of a heap: what it collects with, and who may collect when.
//!
//! The thread that collects holds the lock of the marking's memory from before the first request to stop until after the
//! last resume; so one collection runs at a time, and whoever waited for it finds out whether it is still needed. It counts as
//! stopped itself from before it waits for the lock, so it need have no mutator. Invariant: one collection at a time.

use super::cause::Cause;
use super::concurrent_rule::ConcurrentRule;
use super::concurrent_work::ConcurrentWork;
use super::hook::CollectionHook;
use super::session::Session;
use super::turns::Turns;
use crate::error::Misuse;
use crate::lock_order::{COLLECTION, RECORD, SWEEPING};
use crate::mark::Marking;
use crate::mutator::registry::{Member, Members, Registry, StopTimeout};
use crate::mutator::{Mutator, ThreadState};
use crate::observe::PageSnapshots;
use crate::observe::{AwaitedThread, Record, SlowThreads, Stats, Tracing, Verify};
use crate::policy::{GoalPacer, Growth, Nursery};
use crate::roots::{CollectionPhases, Roots};
use crate::settings::options::Config;
use crate::state::{MarkerPause, State};
use core::ffi::c_int;
use core::ops::Range;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use heapwood_heap::{Collection, Space, Sweeping};
use heapwood_os::{ForkLock, Lock, LockGuard, Mapped, for_each_mapping_of, process::clock};

/// What one collection at a time works with.
pub(crate) struct Work {
    pub(super) marking: Marking,
    pub(super) nursery: Nursery,
    pub(super) growth: Growth,
    /// CPU time of collections since the last full one, and that of the process when it ended.
    pub(super) spent: u64,
    /// Nanoseconds of pauses in which something was marked, since the last full collection.
    pub(super) stopped: u64,
    pub(super) spent_by_all: u64,
    /// What visits had taken then that brought too little for lack of room ([`heapwood_heap::ReclaimTimes`]).
    pub(super) starved: u64,
    /// Bytes that arenas have left to the collector before the young collections since the last full one.
    pub(super) left_by_arenas: usize,
    /// When the last collection ended, in nanoseconds of the monotonic clock.
    pub(super) last_ended: u64,
    /// A concurrent marking, if there is one.
    pub(super) session: Session,
    /// Notes for markings beside the program.
    pub(super) concurrent: ConcurrentWork,
    /// What the program has called in each pause.
    hook: Option<CollectionHook>,
    /// Who has a part in each collection.
    client: Option<&'static dyn CollectionPhases>,
}

impl Work {
    pub(crate) fn new(marking: Marking, config: &Config) -> Self {
        Work {
            marking,
            nursery: Nursery::new(config.generational),
            growth: Growth::new(config.min_heap),
            spent: 0,
            stopped: 0,
            spent_by_all: clock::process_cpu_ns(),
            starved: 0,
            left_by_arenas: 0,
            last_ended: clock::monotonic_ns(),
            session: Session::None,
            concurrent: ConcurrentWork::new(config),
            hook: None,
            client: None,
        }
    }

    /// Ends the session of a concurrent marking, or gives up its start. Its memory is kept.
    pub(super) fn end_session(&mut self) {
        if let Some(session) = self.session.take() {
            self.marking.keep(session);
        }
    }

    /// What the program has called in each pause.
    pub(super) fn hook(&self) -> Option<CollectionHook> {
        self.hook
    }

    /// Who has a part in each collection.
    pub(super) fn client(&self) -> Option<&'static dyn CollectionPhases> {
        self.client
    }

    /// Whether a collection calls functions of the program, so that no thread of the heap's own may make one.
    pub(super) fn calls_program(&self) -> bool {
        self.hook.is_some() || self.client.is_some()
    }

    /// The size of the heap when the last collection ended: what is alive, and what arenas have left; and what has come
    /// outside it since the last full collection.
    pub(super) fn size(&self, state: &State) -> usize {
        state.cycles().live() + self.left_by_arenas + state.space().external().rose_since_full()
    }

    /// How many bytes may be allocated in a new heap before its first collection, whether stores are remembered from the
    /// beginning, and how many.
    pub(crate) fn begin(&mut self, goal: usize) -> (usize, bool, u64) {
        let budget = self.nursery.budget(0, goal, 1);
        self.nursery.begin_cycle(true);
        (budget, self.nursery.remembers(), self.nursery.most_stores())
    }
}

/// A turn with the collector's lock.
pub(crate) struct CollectorTurn<'c> {
    work: LockGuard<'c, Work, COLLECTION>,
}

impl CollectorTurn<'_> {
    pub(super) fn work(&self) -> &Work {
        &self.work
    }
}

impl Mapped for Work {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        for_each_mapping_of(&[&self.marking, &self.session], f);
    }
}

/// What collections of a heap need beside what mutators see of it.
pub(crate) struct Collector {
    registry: Registry<Mutator>,
    roots: Roots,
    work: Lock<Work, COLLECTION>,
    /// Who waits for it.
    turns: Turns,
    /// Which full collections mark beside the program.
    concurrent: ConcurrentRule,
    pacer: GoalPacer,
    /// Held by the background sweeper while it has a batch of spans in hand, and by a collection from before its stop.
    pub(super) sweeping: Lock<(), SWEEPING>,
    /// Stacks are scanned.
    stacks: bool,
    /// The signal that stops threads, unless they poll.
    signal: Option<c_int>,
    slow_threads: SlowThreads,
    /// Collections call functions of the program: a copy of what the work has, for threads without its lock.
    calls_program: AtomicBool,
    /// A collection was, as the process forked, and has left marks.
    was_given_up: AtomicBool,
    /// Helpers are to be started.
    wants_helpers: AtomicBool,
    record: Lock<Record, RECORD>,
    tracing: Tracing,
    verify: Option<Verify>,
    snapshots: PageSnapshots,
}

impl Collector {
    pub(crate) fn new(
        roots: Roots,
        work: Work,
        pacer: GoalPacer,
        config: &Config,
        verify: Option<Verify>,
    ) -> Self {
        Collector {
            registry: Registry::new(),
            roots,
            work: Lock::new(work),
            turns: Turns::default(),
            concurrent: ConcurrentRule::new(config),
            pacer,
            sweeping: Lock::new(()),
            stacks: config.conservative_stacks,
            signal: config.signal(),
            slow_threads: SlowThreads { verifies: config.verify, after: config.report_wait },
            calls_program: AtomicBool::new(false),
            was_given_up: AtomicBool::new(false),
            wants_helpers: AtomicBool::new(false),
            record: Lock::new(Record::new()),
            tracing: Tracing::new(config.trace),
            verify,
            snapshots: PageSnapshots::new(),
        }
    }

    pub(crate) fn registry(&self) -> &Registry<Mutator> {
        &self.registry
    }

    pub(crate) fn roots(&self) -> &Roots {
        &self.roots
    }

    pub(crate) fn pacer(&self) -> &GoalPacer {
        &self.pacer
    }

    pub(crate) fn snapshots(&self) -> &PageSnapshots {
        &self.snapshots
    }

    /// Sets the hook, or removes it: from the next pause on. Returns the one before.
    pub(crate) fn set_hook(&self, state: &State, hook: Option<CollectionHook>) -> Option<CollectionHook> {
        self.set_call(state, |work| core::mem::replace(&mut work.hook, hook))
    }

    /// The same of who has a part in each collection.
    pub(crate) fn set_client(&self, state: &State, client: Option<&'static dyn CollectionPhases>) {
        self.set_call(state, |work| work.client = client);
    }

    fn set_call<R>(&self, state: &State, set: impl FnOnce(&mut Work) -> R) -> R {
        let mut work = self.lock_work();
        let before = set(&mut work);
        self.calls_program.store(work.calls_program(), Ordering::Relaxed);
        // Threads of the heap's own look again who makes its pauses.
        state.posted().cancel();
        drop(work);
        state.wakeup().collected();
        before
    }

    /// Whether collections call functions of the program, or did a moment ago. Then none is made on a thread of the heap's own.
    pub(crate) fn calls_program(&self) -> bool {
        self.calls_program.load(Ordering::Relaxed)
    }

    /// Which full collections mark beside the program.
    pub(super) fn concurrent(&self) -> ConcurrentRule {
        self.concurrent
    }

    /// The collector's lock. A marker beside the program gives it up for whoever waits.
    pub(super) fn lock_work(&self) -> LockGuard<'_, Work, COLLECTION> {
        self.turns.take(|| self.work.lock())
    }

    /// The turn of somebody who looks at a heap that nobody uses: no collection and no marker touches it meanwhile.
    pub(crate) fn turn(&self) -> CollectorTurn<'_> {
        CollectorTurn { work: self.lock_work() }
    }

    /// The collector's lock for the marker, after those who waited for it.
    pub(super) fn lock_work_after_others(&self) -> LockGuard<'_, Work, COLLECTION> {
        self.turns.wait_for_others();
        self.work.lock()
    }

    /// The collector's lock, if nobody has it.
    pub(super) fn try_lock_work(&self) -> Option<LockGuard<'_, Work, COLLECTION>> {
        self.work.try_lock()
    }

    /// Whether somebody waits for the collector's lock.
    #[inline]
    pub(super) fn is_awaited(&self) -> bool {
        self.turns.is_awaited()
    }

    pub(super) fn record(&self) -> &Lock<Record, RECORD> {
        &self.record
    }

    pub(crate) fn verify(&self) -> Option<&Verify> {
        self.verify.as_ref()
    }

    /// Whether stacks are scanned.
    pub(super) fn scans_stacks(&self) -> bool {
        self.stacks
    }

    /// Calls `f` with the locks of the statistics and what is told.
    pub(crate) fn for_each_lock(&self, f: &mut dyn FnMut(&dyn ForkLock)) {
        f(&self.record);
        f(self.tracing.fork_lock());
        f(self.snapshots.fork_lock());
    }

    /// In a forked child: no collection is under way; one that had stopped threads is given up.
    ///
    /// # Safety
    /// 1. The process has no other thread, and this one has no guard of these locks.
    pub(crate) unsafe fn free_in_child(&self, gives_up: bool) {
        // SAFETY: contract 1; the work is changed in pieces and in markings, which are given up.
        unsafe {
            self.work.free_in_child();
            self.sweeping.free_in_child();
        }
        // The pause that was to start a marking was the parent's. A collection of the child's would take its snapshot instead of
        // what it is to do.
        self.work.lock().session.forget_start();
        self.turns.forget();
        self.was_given_up.fetch_or(gives_up, Ordering::Relaxed);
    }

    /// Forgets what a collection had marked that was given up as the process forked.
    pub(crate) fn forget_given_up(&self, state: &State, work: &mut Work) {
        // During a concurrent marking a fork finds only young collections that wait for threads: they have marked nothing, and
        // the marking goes on in the child.
        if self.was_given_up.swap(false, Ordering::Relaxed) && !work.session.is_active() {
            work.marking.give_up();
            state.ephemerons().give_up();
            // SAFETY: this process has never marked, and what was to be swept has been.
            unsafe { state.space().forget_marks() };
        }
    }

    /// Notes that a collection is made without helpers that would be of use. Where signals stop threads the collecting thread starts none:
    /// it may have the loader's lock, in a callback of `dl_iterate_phdr`, and a new thread may need what another one holds that
    /// waits for that lock.
    pub(super) fn ask_for_helpers(&self) {
        self.wants_helpers.store(true, Ordering::Relaxed);
    }

    /// Starts helpers that a collection would have used, if there are any. The caller has no lock of the loader's.
    pub(crate) fn start_wanted_helpers(&self, state: &State) {
        if !self.wants_helpers.load(Ordering::Relaxed) || !self.wants_helpers.swap(false, Ordering::Relaxed) {
            return;
        }
        let wanted = self.lock_work().marking.prepare(state.space(), state.mark_threads());
        if let Some(wanted) = wanted {
            // Whoever collects meanwhile does not wait for it.
            let started = state.fork_gate().without_fork(|| wanted.start());
            self.lock_work().marking.set_workers(started);
        }
    }

    /// Whether threads are stopped by signals.
    pub(super) fn stops_by_signals(&self) -> bool {
        self.signal.is_some()
    }

    /// Its reports.
    pub(crate) fn tracing(&self) -> &Tracing {
        &self.tracing
    }

    /// Writes what it knows into the statistics.
    pub(crate) fn add_to_stats(&self, space: &Space, stats: &mut Stats) {
        self.record.lock().add_to_stats(stats, &space.reclaim_clock().times());
        stats.barrier_violations = self.verify.as_ref().map_or(0, Verify::violations);
    }

    /// Collects if it is still `wanted` when no other collection runs, because an allocation needs it or because the program
    /// asks for it; whether it has.
    ///
    /// # Errors
    /// The mutator cannot be used now, or its thread's stack cannot be scanned.
    #[cold]
    #[inline(never)]
    pub(crate) fn collect_if(
        &self,
        state: &State,
        me: &Mutator,
        wanted: impl Fn() -> bool,
        cause: Cause,
    ) -> Result<bool, Misuse> {
        me.check()?;
        // The thread waits, and then collects, stopped in all its heaps; the lock is held until it runs again, so that one
        // that collects gets its turn before the next collection.
        let (collected, _work) = me.away(ThreadState::AtSafepoint, || self.collect(state, wanted, cause))?;
        Ok(collected)
    }

    /// The same on a thread without a running mutator: one that is parked in all its heaps, or has none. While the lock is
    /// held that is returned no other collection begins.
    pub(crate) fn collect(
        &self,
        state: &State,
        wanted: impl Fn() -> bool,
        cause: Cause,
    ) -> (bool, LockGuard<'_, Work, COLLECTION>) {
        let mut work = self.lock_work();
        if cause == Cause::Program(Collection::Young) {
            work.nursery.ask();
        }
        if state.space().collections_off() != 0 || !wanted() || self.starts_marking(state, &mut work, cause) {
            return (false, work);
        }
        if self.starts_late(state, &mut work, cause) {
            return (true, work);
        }
        let cpu = clock::thread_cpu_ns();
        let ends = work.session.is_active() && cause.expected(state, &work.nursery, true) == Collection::Full;
        if ends {
            // A concurrent marking ends first, in a stop.
            work.concurrent.overtaken_by = Some(cause);
            self.run_stopped(state, Cause::FinishMarking { at_once: true }, &mut work);
        }
        // Its end frees what was dead when it started. Who asks for a collection, or finds no room, wants all.
        if !(ends && matches!(cause, Cause::BudgetExhausted(_))) {
            self.run_stopped(state, cause, &mut work);
        }
        self.record.lock().add_cpu(clock::thread_cpu_ns() - cpu);
        (true, work)
    }

    /// Collects an idle heap, on its thread for slow work, or asks the marker to; whether it has. It begins only while no mutator
    /// runs: one that neither polls nor blocks would keep all waiting that come. One that comes later is waited for, as in any
    /// collection. `has_marker` tells whether there is a marker thread, and may start it.
    pub(crate) fn collect_idle(&self, state: &State, has_marker: impl FnOnce() -> bool) -> bool {
        let is_beside = self.marks_concurrently(state) && has_marker();
        let Some(mut work) = self.try_lock_work() else { return false };
        // The program is not called on this thread.
        if state.space().collections_off() != 0 || work.session.is_active() || work.calls_program() {
            return false;
        }
        let nobody_runs = || {
            let members = self.registry.try_lock();
            members.is_some_and(|members| members.iter().all(|mutator| !mutator.gate().is_running()))
        };
        if !state.fork_gate().without_fork(nobody_runs) {
            return false;
        }
        match is_beside {
            true => state.marking_requests().start(),
            false => self.collect_beside(state, Cause::Idle, &mut work),
        }
        true
    }

    /// Waits until no collection is under way; one that marks beside the program is ended now, in a stop. Called on a thread
    /// without a running mutator, when collections are off.
    pub(crate) fn end_collections(&self, state: &State) {
        let mut work = self.lock_work();
        if work.session.is_active() {
            self.run_stopped(state, Cause::FinishMarking { at_once: true }, &mut work);
        }
    }

    /// Whether a budget ended where a concurrent marking is to start. Then that is asked for, and nothing is collected: there is
    /// room up to the goal.
    fn starts_marking(&self, state: &State, work: &mut Work, cause: Cause) -> bool {
        let Cause::BudgetExhausted(bytes) = cause else { return false };
        if !core::mem::take(&mut work.concurrent.starts_next) || !work.session.is_none() {
            return false;
        }
        // What has come outside the heap in this cycle counts as allocated in it.
        let rose = state.space().external().change().rose;
        let room = (state.cycles().goal().load(Ordering::Relaxed) + rose).saturating_sub(work.size(state));
        let allocated = state.space().stats().allocated_in_cycle + rose;
        let starts = allocated.saturating_add(bytes) < room;
        if starts {
            state.space().set_budget(room);
            state.marking_requests().start();
        }
        starts
    }

    /// Starts a marking beside the program in place of a full collection, if the marker has not come to it yet.
    fn starts_late(&self, state: &State, work: &mut Work, cause: Cause) -> bool {
        let is_due = matches!(cause, Cause::BudgetExhausted(_))
            && work.session.is_none()
            && state.marking_requests().is_served()
            && cause.expected(state, &work.nursery, false) == Collection::Full
            && self.marks_concurrently(state);
        if is_due {
            let before = state.cycles().collections();
            self.make_for_marker(state, work, MarkerPause::Start { at_once: true });
            state.marking_requests().go_on();
            return state.cycles().collections() != before;
        }
        false
    }

    /// Stops the mutators, and returns the thread that it waited for last.
    ///
    /// # Errors
    /// A mutator has not stopped `at_most` so long. Then all go on.
    pub(super) fn stop(
        &self,
        members: &Members<'_, Mutator>,
        at_most: Option<Duration>,
    ) -> Result<Option<AwaitedThread>, StopTimeout> {
        let last = members.stop(self.stops_by_signals(), at_most, |mutator, seconds| {
            self.slow_threads.report(mutator.thread(), seconds, self.signal);
        })?;
        Ok(last.map(|(mutator, ns)| AwaitedThread { thread: mutator.thread(), ns }))
    }

    /// Sweeps some spans for the marker thread, after whoever sweeps or collects now; false if there are none.
    pub(super) fn sweep_some_beside(&self, state: &State) -> bool {
        // A fork need not wait for who waits here.
        let _hand = self.sweeping.lock();
        state.fork_gate().without_fork(|| state.space().sweep_some(Sweeping::Background))
    }

    /// Sweeps some spans in the background; false if there are none, or a collection is about to stop the world.
    pub(crate) fn sweep_some(&self, state: &State) -> bool {
        let _no_fork = state.fork_gate().no_fork();
        self.sweeping.try_lock().is_some_and(|_hand| state.space().sweep_some(Sweeping::Background))
    }
}
