//! The collector, and one collection: stop the mutators, mark from the roots, let them go. Sweeping is left to allocation.
//!
//! The thread that collects holds the lock of the marking's memory from before the first request to stop until after the
//! last resume, and the registry's while the world is stopped; so one collection runs at a time, and threads that want
//! to attach wait. While it waits for the lock it counts as stopped itself. Invariant: from the first request to the last
//! resume no ordinary allocator is called, for a stopped thread may be inside one.

use super::pace::Pacer;
use crate::error::MisuseError;
use crate::inject::FaultInjector;
use crate::mark::{FlaggedSpans, MarkStacks, Marked, Marker};
use crate::mutator::Mutator;
use crate::mutator::registry::{Members, Registry};
#[cfg(feature = "inspect")]
use crate::observe::PageSnapshots;
use crate::observe::{Record, Stats, Times, Verify};
use crate::roots::Roots;
use crate::state::State;
use core::fmt;
use core::time::Duration;
use heapwood_heap::{Space, Stopped};
use heapwood_os::message::write_line;
use heapwood_os::task::describe_task;
use heapwood_os::timed_lock::TickClock;
use heapwood_os::{Lock, Pagemap, clock};

/// A stop that takes longer than this is worth a word, in verify mode.
const LONG_STOP: Duration = Duration::from_secs(1);

/// What collections of a heap need beside what mutators see of it.
pub(crate) struct Collector {
    registry: Registry,
    roots: Roots,
    /// What one collection at a time marks with.
    marking: Lock<(MarkStacks, FlaggedSpans)>,
    pacer: Pacer,
    /// Stacks are scanned.
    stacks: bool,
    record: Lock<Record>,
    verify: Option<Verify>,
    #[cfg(feature = "inspect")]
    snapshots: PageSnapshots,
    faults: FaultInjector,
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
        marking: (MarkStacks, FlaggedSpans),
        pacer: Pacer,
        stacks: bool,
        verify: Option<Verify>,
    ) -> Self {
        Collector {
            registry: Registry::new(),
            roots,
            marking: Lock::new(marking),
            pacer,
            stacks,
            record: Lock::new(Record::new()),
            verify,
            #[cfg(feature = "inspect")]
            snapshots: PageSnapshots::new(),
            faults: FaultInjector::default(),
        }
    }

    pub(crate) fn registry(&self) -> &Registry {
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

    #[cfg(feature = "inject")]
    pub(crate) fn faults(&self) -> &FaultInjector {
        &self.faults
    }

    /// What it knows of the figures, the longest holds of locks by this clock.
    pub(crate) fn tell(&self, stats: &mut Stats, clock: &TickClock) {
        self.record.lock().tell(stats);
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
        allocating: bool,
    ) -> Result<bool, MisuseError> {
        me.check()?;
        me.with_stack(|| {
            me.gate().block();
            let mut marking = self.marking.lock();
            // Nobody else can be stopping the world now.
            me.gate().unblock();
            if !wanted() {
                return false;
            }
            let (cpu, began) = (clock::thread_cpu_ns(), clock::monotonic_ns());
            // Those that the program asks for, and those that find enough, are not held against it.
            let counts = allocating && self.pacer.is_near_limit(state);
            self.run(state, me, &mut marking);
            if counts {
                self.pacer.share().collected(began, clock::monotonic_ns());
            }
            self.record.lock().add_cpu(clock::thread_cpu_ns() - cpu);
            true
        })
    }

    fn run(&self, state: &State, me: &Mutator, (stacks, flagged): &mut (MarkStacks, FlaggedSpans)) {
        let space = state.space();
        let began = clock::monotonic_ns();
        // Most of what is left to sweep is swept before anyone waits, and the kernel is asked what it has to be asked.
        space.finish_sweep();
        let bounds = self.pacer.bounds(space.resident_bytes());

        let requested = clock::monotonic_ns();
        let members = self.registry.lock();
        let others = || members.iter().filter(|m| !core::ptr::eq(*m, me));
        others().for_each(|m| m.gate().request());
        others().for_each(|m| self.await_stopped(m));
        let stopped = clock::monotonic_ns();

        // SAFETY: all others have stopped, and none attaches while the registry's lock is held; one thread collects.
        let world = unsafe { space.stopped() };
        members.iter().for_each(Mutator::flush);
        world.finish_sweep();
        #[cfg(feature = "inspect")]
        self.snapshots.before_marking(space);
        if let (Some(verify), Some(stores)) = (&self.verify, state.stores()) {
            verify.before_marking((space, &world), stores, &self.roots, &members);
        }
        let marking = clock::monotonic_ns();
        let marked = state.while_marking(|| self.mark((space, &world), stacks, flagged, &members));
        let marked_at = clock::monotonic_ns();
        let pace = self.pacer.pace(marked.bytes, bounds);
        state.set_sizes(marked.bytes, pace.goal);
        world.end_marking(pace.budget);
        #[cfg(feature = "inspect")]
        self.snapshots.after_marking(space, &world);
        self.faults.free_survivors(&world);
        if let Some(verify) = &self.verify {
            verify.after_marking((space, &world), &self.roots, &members);
        }
        state.count_collection();

        drop(world);
        others().for_each(|m| m.gate().resume());
        drop(members);
        let times =
            Times { began, requested, stopped, marking, marked: marked_at, ended: clock::monotonic_ns() };
        self.record.lock().add(&times, marked.objects, marked.overflows, self.verify.is_some());
        stacks.settle();
    }

    /// Waits until a mutator that was asked to stop has; in verify mode it is named if that takes long.
    fn await_stopped(&self, mutator: &Mutator) {
        let mut waited = 0u32;
        while !mutator.gate().await_stopped_for(LONG_STOP) {
            waited += 1;
            // Named once, and now and then as long as it takes.
            if self.verify.is_some() && (waited.is_power_of_two() || waited.is_multiple_of(60)) {
                write_line(format_args!(
                    "heapwood: verify: a collection waits for {}: for {waited} s it has neither polled nor allocated. Calls \
                     that block belong into a blocking region",
                    Task(mutator.thread())
                ));
            }
        }
    }

    fn mark(
        &self,
        (space, world): (&Space, &Stopped<'_>),
        stacks: &mut MarkStacks,
        flagged: &mut FlaggedSpans,
        members: &Members<'_>,
    ) -> Marked {
        flagged.commit(space.extent());
        let pagemap = Pagemap::new();
        let mut marker = Marker::new((space, world), stacks, &pagemap, flagged, &self.faults);
        // Many slots wait in ranges, so until nothing does, threads that are not stopped for this remove no root and move
        // nothing from one handle to another.
        let roots = self.roots.lock();
        roots.for_each(members.iter().map(|m| m.roots(self.stacks)), |source, words| {
            match source.is_precise() {
                true => marker.scan_slots(words),
                false => marker.scan_ambiguous(words.start, words.end),
            }
        });
        let marked = marker.drain();
        drop(roots);
        marked
    }
}
