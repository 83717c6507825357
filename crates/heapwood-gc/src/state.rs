//! What mutators and the collector share of a heap: its space, how far its collections have come, and what every slow path
//! asks. Invariant: it knows neither mutators nor collector, and is the first field of its [`Heap`](crate::Heap), so that a
//! mutator's pointer to it leads to both.

pub(crate) mod barrier_bits;
pub(crate) mod fork_gate;
mod interruptions;
mod marking_log;
pub(crate) mod remembered;
mod store_log;
mod wakeup;

pub use interruptions::Interruption;
pub(crate) use interruptions::Interruptions;
pub(crate) use marking_log::MarkingLog;
pub(crate) use store_log::StoreLog;
pub(crate) use wakeup::{WakeOn, Wakeup};

use crate::inject::FaultInjector;
use crate::options::{Config, Generational};
use barrier_bits::VERIFY;
use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use core::time::Duration;
use fork_gate::ForkGate;
use heapwood_heap::{Collection, Space};
use heapwood_os::ForkLock;
use heapwood_os::stack::thread_pointer;
use remembered::RememberedSet;

/// The shared part of a heap.
pub(crate) struct State {
    space: Space,
    /// The thread pointer of the thread that marks, while one does.
    marking: AtomicUsize,
    /// Those of the threads that help it.
    helping: [AtomicUsize; Config::MOST_MARK_THREADS as usize],
    /// Collections so far, and those of them that looked at everything.
    collections: AtomicU64,
    full_collections: AtomicU64,
    /// The bytes that were handed out before the young collections since the last of those.
    since_full: AtomicUsize,
    /// The bytes that the last one found alive, with what is old; and those that the last full one found.
    live: AtomicUsize,
    live_in_full: AtomicUsize,
    /// The size in bytes at which the next is due.
    goal: AtomicUsize,
    /// There is a collection at every allocation: of everything, or mostly of what is young.
    stress: Option<Generational>,
    /// In verify mode, the stores that went through the barrier.
    stores: Option<StoreLog>,
    /// It is a heap in verify mode.
    verifies: bool,
    /// The signal that stops its threads, unless they poll.
    stop_signal: Option<i32>,
    interruptions: Interruptions,
    /// Where pointers to young objects were stored into old ones.
    remembered: RememberedSet,
    /// What mutators tell a full marking that goes on while they run.
    marking_log: MarkingLog,
    /// Why stores take the slow half of the barrier: what each mutator's flag is.
    barrier: AtomicU32,
    /// What the heap's own thread sleeps on.
    wakeup: Wakeup,
    fork_gate: ForkGate,
    faults: FaultInjector,
    /// Young collections have so many nanoseconds, unless it is the most.
    young_ns: AtomicU64,
}

impl State {
    /// The state of a heap before its first collection.
    pub(crate) fn new(
        space: Space,
        goal: usize,
        config: &Config,
        stores: Option<StoreLog>,
        remembered: RememberedSet,
        forking: &'static AtomicU32,
    ) -> Self {
        State {
            barrier: AtomicU32::new(if stores.is_some() { VERIFY } else { 0 }),
            remembered,
            marking_log: MarkingLog::new(),
            space,
            marking: AtomicUsize::new(0),
            helping: [const { AtomicUsize::new(0) }; Config::MOST_MARK_THREADS as usize],
            collections: AtomicU64::new(0),
            full_collections: AtomicU64::new(0),
            since_full: AtomicUsize::new(0),
            live: AtomicUsize::new(0),
            live_in_full: AtomicUsize::new(0),
            goal: AtomicUsize::new(goal),
            stress: config.stress.then_some(config.generational),
            verifies: config.verify,
            stop_signal: config.signal(),
            interruptions: Interruptions::default(),
            stores,
            wakeup: Wakeup::default(),
            fork_gate: ForkGate::new(forking),
            faults: FaultInjector::default(),
            young_ns: AtomicU64::new(u64::MAX),
        }
    }

    /// What injects faults, for tests of the tests.
    #[inline(always)]
    pub(crate) fn faults(&self) -> &FaultInjector {
        &self.faults
    }

    /// What the heap's own thread sleeps on.
    #[inline(always)]
    pub(crate) fn wakeup(&self) -> &Wakeup {
        &self.wakeup
    }

    #[inline(always)]
    pub(crate) fn space(&self) -> &Space {
        &self.space
    }

    /// Whether the calling thread, whose pointer is `here`, marks now.
    #[inline(always)]
    pub(crate) fn is_marking(&self, here: usize) -> bool {
        self.marking.load(Ordering::Relaxed) == here
    }

    /// Runs `mark`; meanwhile the calling thread is the one that marks.
    pub(crate) fn while_marking<R>(&self, mark: impl FnOnce() -> R) -> R {
        self.marking.store(thread_pointer(), Ordering::Relaxed);
        let result = mark();
        self.marking.store(0, Ordering::Relaxed);
        result
    }

    /// Whether the calling thread, whose pointer is `here`, helps with a marking now.
    pub(crate) fn is_helping(&self, here: usize) -> bool {
        self.helping.iter().any(|helper| helper.load(Ordering::Relaxed) == here)
    }

    /// The calling thread, whose pointer is `here`, begins to help, as the `number`-th.
    pub(crate) fn begin_helping(&self, number: usize, here: usize) {
        self.helping[number].store(here, Ordering::Relaxed);
    }

    /// The `number`-th helper has ended.
    pub(crate) fn end_helping(&self, number: usize) {
        self.helping[number].store(0, Ordering::Relaxed);
    }

    /// What a process that forks waits for.
    pub(crate) fn fork_gate(&self) -> &ForkGate {
        &self.fork_gate
    }

    /// Calls `f` with the locks of what mutators and the collector share.
    pub(crate) fn for_each_lock(&self, f: &mut dyn FnMut(&dyn ForkLock)) {
        f(self.remembered.fork_lock());
        f(self.marking_log.fork_lock());
        if let Some(stores) = &self.stores {
            f(stores.fork_lock());
        }
    }

    /// In a forked child: nobody marks.
    pub(crate) fn forget_markers(&self) {
        self.marking.store(0, Ordering::Relaxed);
        self.helping.iter().for_each(|helper| helper.store(0, Ordering::Relaxed));
    }

    /// How many collections have ended.
    pub(crate) fn collections(&self) -> u64 {
        self.collections.load(Ordering::Acquire)
    }

    /// How many of them looked at everything.
    pub(crate) fn full_collections(&self) -> u64 {
        self.full_collections.load(Ordering::Acquire)
    }

    /// A collection ends, before which so many bytes had been handed out since the one before.
    pub(crate) fn count_collection(&self, of: Collection, handed_out: usize) {
        match of {
            Collection::Full => {
                self.since_full.store(0, Ordering::Relaxed);
                self.full_collections.fetch_add(1, Ordering::Release);
            }
            Collection::Young => _ = self.since_full.fetch_add(handed_out, Ordering::Relaxed),
        }
        self.collections.fetch_add(1, Ordering::Release);
    }

    /// The bytes that were handed out between the last full collection and the last of all.
    pub(crate) fn since_full(&self) -> usize {
        self.since_full.load(Ordering::Relaxed)
    }

    /// The bytes that the last collection found alive.
    pub(crate) fn live(&self) -> usize {
        self.live.load(Ordering::Relaxed)
    }

    /// The bytes that the last full collection found alive.
    pub(crate) fn live_in_full(&self) -> usize {
        self.live_in_full.load(Ordering::Relaxed)
    }

    /// A full collection has found so many.
    pub(crate) fn set_live_in_full(&self, bytes: usize) {
        self.live_in_full.store(bytes, Ordering::Relaxed);
    }

    /// The size in bytes at which the next full collection is due.
    pub(crate) fn goal(&self) -> &AtomicUsize {
        &self.goal
    }

    /// A marking has found so many bytes alive, and sets this goal.
    pub(crate) fn set_sizes(&self, live: usize, goal: usize) {
        self.live.store(live, Ordering::Relaxed);
        self.goal.store(goal, Ordering::Relaxed);
    }

    /// Where pointers to young objects were stored into old ones.
    #[inline(always)]
    pub(crate) fn remembered(&self) -> &RememberedSet {
        &self.remembered
    }

    /// What mutators tell a full marking that goes on while they run.
    pub(crate) fn marking_log(&self) -> &MarkingLog {
        &self.marking_log
    }

    /// Why stores take the slow half of the barrier.
    pub(crate) fn barrier(&self) -> u32 {
        self.barrier.load(Ordering::Relaxed)
    }

    /// From now on they do for this reason, or no longer. All mutators are stopped, and are told by who calls this.
    pub(crate) fn set_barrier(&self, why: u32, on: bool) {
        let now = self.barrier();
        self.barrier.store(if on { now | why } else { now & !why }, Ordering::Relaxed);
    }

    /// What is collected before every allocation, if something is. Where young collections do not have to pay all but one in
    /// eight are such.
    pub(crate) fn stress(&self) -> Option<Collection> {
        let often_young = self.stress? == Generational::Always && !self.collections().is_multiple_of(8);
        Some(if often_young { Collection::Young } else { Collection::Full })
    }

    /// From now on young collections have so much time, or as much as they are worth.
    pub(crate) fn set_young_time(&self, time: Option<Duration>) {
        self.young_ns.store(time.map_or(u64::MAX, |time| time.as_nanos() as u64), Ordering::Relaxed);
    }

    /// How many nanoseconds a young collection has, if that is set.
    pub(crate) fn young_time(&self) -> Option<u64> {
        Some(self.young_ns.load(Ordering::Relaxed)).filter(|&ns| ns < u64::MAX)
    }

    /// Whether it is in verify mode.
    #[inline(always)]
    pub(crate) fn verifies(&self) -> bool {
        self.verifies
    }

    /// The signal that stops its threads; `None` if they poll.
    #[inline(always)]
    pub(crate) fn stop_signal(&self) -> Option<i32> {
        self.stop_signal
    }

    /// Where signals have interrupted its threads, for tests.
    pub(crate) fn interruptions(&self) -> &Interruptions {
        &self.interruptions
    }

    /// In verify mode, the stores that went through the barrier; none where stores need none.
    pub(crate) fn stores(&self) -> Option<&StoreLog> {
        self.stores.as_ref()
    }
}
