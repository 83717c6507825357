//! The collector, and one collection: stop the mutators, mark from the roots, let them go. Sweeping is left to allocation. A
//! young collection is the same, but that it marks beside what is old (docs/design/young.md).
//!
//! The thread that collects holds the lock of the marking's memory from before the first request to stop until after the
//! last resume, and the registry's while the world is stopped; so one collection runs at a time, and threads that want
//! to attach wait. It counts as stopped itself from before it waits for the lock, so it need have no mutator. Invariant: from the first request to the last
//! resume no ordinary allocator is called, for a stopped thread may be inside one.

use super::growth::{Growth, Spent};
use super::nursery::{Nursery, Yield};
use super::pace::Pacer;
use super::stepped::Stepping;
use crate::error::MisuseError;
use crate::mark::{Marked, Marking, ScanRoots};
use crate::mutator::registry::{Members, Registry};
use crate::mutator::{Mutator, Rest};
#[cfg(feature = "inspect")]
use crate::observe::PageSnapshots;
use crate::observe::{Collected, Moment, Record, RootBytes, Stats, Times, Tracing, Verify};
use crate::options::Config;
use crate::roots::{LockedRoots, Roots, Source};
use crate::state::State;
use crate::state::barrier_bits::{MARK, YOUNG};
use core::convert::Infallible;
use core::fmt;
use core::sync::atomic::Ordering;
use core::time::Duration;
use heapwood_heap::{Collection, Space, Stopped};
use heapwood_os::message::write_line;
use heapwood_os::task::describe_task;
use heapwood_os::timed_lock::TickClock;
use heapwood_os::{Lock, LockGuard, clock};

/// How long a collection of an idle heap waits for mutators that run.
const PATIENCE: Duration = Duration::from_millis(1);

/// Even at the limit something can be tried before the next collection.
const LEAST_BUDGET: usize = 64 << 10;

/// What became of the try to collect an idle heap.
pub(crate) enum Tried {
    Collected,
    /// It is being collected, or was.
    NotNeeded,
    /// The mutator of this thread runs, and did not stop.
    Withdrawn(u32),
}

/// Why there is a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// An allocation of so many bytes, after as much as may be allocated between collections.
    Due(usize),
    /// An allocation that found no room.
    NoRoom,
    /// The program, for everything or for what is young.
    Program(Collection),
    /// The heap had nothing to do.
    Idle,
    /// A marking in steps begins, with a young one, or ends.
    #[cfg_attr(not(feature = "stepped"), allow(dead_code, reason = "nothing else marks in steps"))]
    Stepped(Collection),
}

impl Cause {
    fn is_allocation(self) -> bool {
        matches!(self, Cause::Due(_) | Cause::NoRoom)
    }

    pub(super) fn is_stepped(self) -> bool {
        matches!(self, Cause::Stepped(_))
    }

    /// Whether the collection is a young one, if nothing else comes between.
    fn is_for_young(self, state: &State, nursery: &Nursery) -> bool {
        match self {
            // A large object may take the place of one that is old.
            Cause::Due(bytes) => {
                nursery.is_next()
                    && state.live().saturating_add(bytes) <= state.goal().load(Ordering::Relaxed)
            }
            Cause::Program(of) => of == Collection::Young && nursery.is_on(),
            Cause::Stepped(of) => of == Collection::Young,
            Cause::NoRoom | Cause::Idle => false,
        }
    }
}

/// What one collection at a time works with.
pub(crate) struct Work {
    pub(super) marking: Marking,
    nursery: Nursery,
    growth: Growth,
    /// CPU time of collections since the last full one, and that of the process when it ended.
    spent: u64,
    spent_by_all: u64,
    /// When the last collection ended, in nanoseconds of the monotonic clock.
    ended: u64,
    /// A full marking that goes on while mutators run.
    pub(super) stepping: Stepping,
}

impl Work {
    pub(crate) fn new(marking: Marking, config: &Config) -> Self {
        Work {
            marking,
            nursery: Nursery::new(config.generational),
            growth: Growth::new(config.min_heap),
            spent: 0,
            spent_by_all: clock::process_cpu_ns(),
            ended: clock::monotonic_ns(),
            stepping: Stepping::new(),
        }
    }

    /// How many bytes may be allocated in a new heap before its first collection, whether stores are remembered from the
    /// beginning, and how many.
    pub(crate) fn begin(&mut self, goal: usize) -> (usize, bool, u64) {
        (self.nursery.budget(0, goal), self.nursery.is_on(), self.nursery.most_stores())
    }
}

/// What collections of a heap need beside what mutators see of it.
pub(crate) struct Collector {
    registry: Registry<Mutator>,
    roots: Roots,
    pub(super) work: Lock<Work>,
    pacer: Pacer,
    /// Held by the background sweeper while it has a pack of spans in hand, and by a collection from before its stop.
    pub(super) sweeping: Lock<()>,
    /// Stacks are scanned.
    stacks: bool,
    record: Lock<Record>,
    tracing: Tracing,
    verify: Option<Verify>,
    #[cfg(feature = "inspect")]
    snapshots: PageSnapshots,
}

/// What a thread is doing, in the system's words.
struct Task(u32);

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        describe_task(self.0, f)
    }
}

impl Collector {
    pub(crate) fn new(
        roots: Roots,
        work: Work,
        pacer: Pacer,
        config: &Config,
        verify: Option<Verify>,
    ) -> Self {
        Collector {
            registry: Registry::new(),
            roots,
            work: Lock::new(work),
            pacer,
            sweeping: Lock::new(()),
            stacks: config.conservative_stacks,
            record: Lock::new(Record::new()),
            tracing: Tracing::new(config.trace),
            verify,
            #[cfg(feature = "inspect")]
            snapshots: PageSnapshots::new(),
        }
    }

    pub(crate) fn registry(&self) -> &Registry<Mutator> {
        &self.registry
    }

    pub(crate) fn roots(&self) -> &Roots {
        &self.roots
    }

    pub(crate) fn pacer(&self) -> &Pacer {
        &self.pacer
    }

    #[cfg(feature = "inspect")]
    pub(crate) fn snapshots(&self) -> &PageSnapshots {
        &self.snapshots
    }

    /// The phase clock, and what is told of it.
    pub(crate) fn tracing(&self) -> &Tracing {
        &self.tracing
    }

    /// What it knows of the figures, the longest holds of locks by this clock.
    pub(crate) fn tell(&self, space: &Space, stats: &mut Stats, clock: &TickClock) {
        self.record.lock().tell(stats);
        self.tracing.tell(space, stats);
        stats.hold_threads_max_ns = clock.ns(self.registry.longest_hold());
        stats.hold_roots_max_ns = clock.ns(self.roots.table().longest_hold());
        stats.hold_handles_max_ns = clock.ns(self.roots.handles().longest_hold());
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
    ) -> Result<bool, MisuseError> {
        me.check()?;
        // The thread waits, and then collects, stopped in all its heaps; the lock is held until it runs again, so that one
        // that collects gets its turn before the next collection.
        let (collected, _work) = me.away(Rest::Parked, || self.collect(state, wanted, cause))?;
        Ok(collected)
    }

    /// The same on a thread without a running mutator: one that is parked in all its heaps, or has none. While the lock is
    /// held that is returned no other collection begins.
    pub(crate) fn collect(
        &self,
        state: &State,
        wanted: impl Fn() -> bool,
        cause: Cause,
    ) -> (bool, LockGuard<'_, Work>) {
        let mut work = self.work.lock();
        if !wanted() {
            return (false, work);
        }
        let (cpu, began) = (clock::thread_cpu_ns(), clock::monotonic_ns());
        // Those that the program asks for, and those that find enough, are not held against it.
        let counts = cause.is_allocation() && self.pacer.is_near_limit(state);
        if work.stepping.is_under_way() && !cause.is_for_young(state, &work.nursery) {
            // A marking that is under way ends first.
            let Ok(()) = self.run_stopped(state, Cause::Stepped(Collection::Full), &mut work);
        }
        let Ok(()) = self.run_stopped(state, cause, &mut work);
        if counts {
            self.pacer.share().collected(began, clock::monotonic_ns());
        }
        self.record.lock().add_cpu(clock::thread_cpu_ns() - cpu);
        (true, work)
    }

    /// Collects if it is still `wanted`, nobody else does, and all mutators are stopped already, or soon are. Called on a
    /// thread without a running mutator.
    pub(crate) fn try_collect(&self, state: &State, wanted: impl Fn() -> bool) -> Tried {
        let Some(mut work) = self.work.try_lock() else { return Tried::NotNeeded };
        if !wanted() || work.stepping.is_under_way() {
            return Tried::NotNeeded;
        }
        let cpu = clock::thread_cpu_ns();
        let run = self.run(state, Cause::Idle, &mut work, |members| {
            let until = clock::monotonic_ns() + PATIENCE.as_nanos() as u64;
            let left = || Duration::from_nanos(until.saturating_sub(clock::monotonic_ns()));
            members.try_stop(left).map_err(Mutator::thread)
        });
        self.record.lock().add_cpu(clock::thread_cpu_ns() - cpu);
        run.map_or_else(Tried::Withdrawn, |()| Tried::Collected)
    }

    /// One collection.
    pub(super) fn run_stopped(&self, state: &State, cause: Cause, work: &mut Work) -> Result<(), Infallible> {
        self.run(state, cause, work, |members| {
            self.stop(members);
            Ok(())
        })
    }

    /// Stops the mutators, however long that takes.
    pub(super) fn stop(&self, members: &Members<'_, Mutator>) {
        members.stop(|mutator, seconds| self.name_late(mutator, seconds));
    }

    /// Sweeps some spans in the background; false if there are none, or a collection is about to stop the world.
    pub(crate) fn sweep_some(&self, space: &Space) -> bool {
        self.sweeping.try_lock().is_some_and(|_hand| space.sweep_some())
    }

    /// One collection, if `stop` stops the mutators.
    fn run<E>(
        &self,
        state: &State,
        cause: Cause,
        Work { marking, nursery, growth, spent, spent_by_all, ended: last, stepping }: &mut Work,
        stop: impl FnOnce(&Members<'_, Mutator>) -> Result<(), E>,
    ) -> Result<(), E> {
        let space = state.space();
        let (began, reclaimed) = (Moment::now(), space.reclaim_clock().times());
        // What is left to sweep is swept before anyone waits, and the kernel is asked what it has to be asked.
        space.finish_sweep();
        // If the background sweeper has a pack in hand, that is waited for now; it takes no other.
        let _sweeping = self.sweeping.lock();
        let is_young = cause.is_for_young(state, nursery);
        let bounds = self.pacer.bounds(space.resident_bytes());
        marking.prepare(space);

        let requested = Moment::now();
        let members = self.registry.lock();
        stop(&members)?;
        let stopped = Moment::now();
        let stores = members.iter().map(Mutator::close_stores).sum();
        // What is missing from the remembered set only a full collection finds, or a promotion wholesale.
        let overflowed = state.remembered().has_overflowed();
        let is_young = is_young && (stepping.is_concerned(cause) || !overflowed);
        let of = if is_young { Collection::Young } else { Collection::Full };

        // SAFETY: all have stopped, and none attaches while the registry's lock is held; one thread collects.
        let world = unsafe { space.stopped() };
        members.owners().for_each(|owner| owner.publish());
        #[cfg(feature = "inspect")]
        self.snapshots.before_marking(space);
        if let (Some(verify), Some(stores)) = (&self.verify, state.stores()) {
            verify.before_marking((space, &world), stores, &self.roots, &members);
        }
        let roots = match self.tracing.tells_collections() {
            true => self.root_bytes(of, &members),
            false => RootBytes::default(),
        };
        let (old, goal) = (state.live(), state.goal().load(Ordering::Relaxed));
        let (began_marking, reclaimed) = (Moment::now(), [reclaimed, space.reclaim_clock().times()]);
        let deadline = match state.is_late_at_once() {
            true => 0,
            false => began_marking.wall + nursery.most_time(began.wall.saturating_sub(*last)),
        };
        let mut marked = state.while_marking(|| match stepping.is_concerned(cause) {
            false => self.mark(state, &world, marking, &members, of, deadline),
            true => {
                let until = if cause.is_stepped() { u64::MAX } else { deadline };
                let finds_young = (nursery.is_on() && !overflowed).then_some(until);
                self.mark_stepped((state, &world), (marking, stepping), &members, of, finds_young)
            }
        });
        if marked.late && !stepping.is_concerned(cause) {
            let (objects, bytes) = world.promote(members.owners());
            (marked.objects, marked.bytes) = (marked.objects + objects, marked.bytes + bytes);
        }
        state.faults().forget_young_large(&world, of);
        let marked_at = Moment::now();
        let handed_out = world.handed_out(members.owners());
        let survived = marked.bytes;
        let live = match of {
            Collection::Full => marked.bytes,
            // What was handed out is less what was freed, of which some was old.
            Collection::Young if space.has_explicit_frees() => old + survived.min(handed_out),
            Collection::Young => old + survived,
        };
        *spent += marked_at.cpu.saturating_sub(began.cpu) + marked.helpers_cpu_ns;
        let goal_now = if is_young {
            goal
        } else {
            state.set_live_in_full(live);
            let now = clock::process_cpu_ns();
            let since = Spent {
                collecting_ns: *spent,
                all_ns: now.saturating_sub(*spent_by_all),
                in_vain: (old + handed_out).saturating_sub(live) < (old + handed_out) / 4,
            };
            (*spent, *spent_by_all) = (0, now);
            self.pacer.goal(live, growth.after_full(live, self.pacer.percent(), since), bounds)
        };
        state.set_sizes(live, goal_now);
        let result = Yield {
            allocated: handed_out,
            freed: (old + handed_out).saturating_sub(live),
            ns: marked_at.wall - stopped.wall,
            since: began.wall.saturating_sub(*last),
        };
        match of {
            Collection::Young => nursery.after_young(result, stores),
            Collection::Full => nursery.after_full(result, overflowed),
        }
        let budget = nursery.budget(live, goal_now).max(LEAST_BUDGET);
        world.end_marking(of, members.owners(), budget, goal_now);
        self.roots.forget_changes();
        state.remembered().clear(nursery.most_remembered());
        let mutators = members.iter().count().max(1) as u64;
        state.remembered().allow_stores(nursery.most_stores() / mutators);
        state.set_barrier(YOUNG, nursery.is_on());
        state.set_barrier(MARK, stepping.is_under_way());
        for mutator in members.iter() {
            mutator.forget_stores();
            mutator.update_barrier();
        }
        let size = old + handed_out;
        #[cfg(feature = "inspect")]
        self.snapshots.after_marking(space, &world);
        state.faults().free_survivors(&world);
        if let (Some(verify), Some(stores)) = (&self.verify, state.stores()) {
            let exact = of == Collection::Full && !cause.is_stepped();
            verify.after_marking(exact, (space, &world, of), stores, &self.roots, &members);
        }
        state.count_collection(of, handed_out);

        drop(world);
        members.resume();
        drop(members);
        let ended = Moment::now();
        let helped = (marked.helpers_cpu_ns, marked.helpers);
        *last = ended.wall;
        let times = Times {
            began,
            requested,
            stopped,
            marking: began_marking,
            marked: marked_at,
            ended,
            helped,
            reclaimed,
        };
        let mut record = self.record.lock();
        let promoted = is_young.then_some(survived);
        record.add(&times, &marked, promoted, self.verify.is_some());
        record.add_cpu(marked.helpers_cpu_ns);
        drop(record);
        self.tracing.add(&times);
        if self.tracing.tells_collections() {
            let (number, sizes, forced) = (state.collections(), (size, live), !cause.is_allocation());
            let collected = Collected { number, of, sizes, goal, roots, forced };
            self.tracing.tell_collection(space, &times, &collected);
        }
        marking.settle();
        Ok(())
    }

    /// In verify mode a mutator is named that keeps a stop waiting: once, and now and then as long as it does.
    fn name_late(&self, mutator: &Mutator, seconds: u32) {
        if self.verify.is_some() && (seconds.is_power_of_two() || seconds.is_multiple_of(60)) {
            write_line(format_args!(
                "heapwood: verify: a collection waits for {}: for {seconds} s it has neither polled nor allocated. Calls \
                 that block belong into a blocking region",
                Task(mutator.thread())
            ));
        }
    }

    /// How many bytes of roots there are, while the mutators are stopped.
    fn root_bytes(&self, of: Collection, members: &Members<'_, Mutator>) -> RootBytes {
        let mut bytes = RootBytes::default();
        self.roots.lock().for_each(of, members.iter().map(|m| m.roots(self.stacks)), |source, words| {
            *(if source == Source::Stack { &mut bytes.stacks } else { &mut bytes.others }) += words.len();
        });
        bytes
    }

    pub(super) fn scan(
        &self,
        roots: &LockedRoots<'_>,
        members: &Members<'_, Mutator>,
        of: Collection,
        marker: &mut dyn ScanRoots,
    ) {
        let threads = members.iter().map(|m| m.roots(self.stacks));
        roots.for_each(of, threads, |source, words| match source.is_precise() {
            true => marker.slots(words),
            false => marker.words(words),
        });
    }

    fn mark(
        &self,
        state: &State,
        world: &Stopped<'_>,
        marking: &mut Marking,
        members: &Members<'_, Mutator>,
        of: Collection,
        deadline: u64,
    ) -> Marked {
        // Many slots wait in ranges, so until nothing does, threads that are not stopped for this remove no root and move
        // nothing from one handle to another.
        let roots = self.roots.lock();
        let scan = |marker: &mut dyn ScanRoots| self.scan(&roots, members, of, marker);
        match of {
            Collection::Full => marking.mark(state, world, scan),
            Collection::Young => marking.mark_young(state, world, deadline, |marker| {
                scan(marker);
                scan_remembered(state, marker);
            }),
        }
    }
}

/// Names what is remembered to a marker, until it is late.
pub(super) fn scan_remembered(state: &State, marker: &mut dyn ScanRoots) {
    state.remembered().for_each(|entry| match entry {
        Some(entry) => {
            marker.remembered(entry);
            true
        }
        None => !marker.is_late(),
    });
}
