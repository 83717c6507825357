//! What mutators and the collector share of a heap: its space, how far its collections have come, and what every slow path
//! asks. Invariant: it knows neither mutators nor collector, and is the first field of its [`Heap`](crate::Heap), so that a
//! mutator's pointer to it leads to both.

pub(crate) mod barrier_bits;
mod cycles;
pub(crate) mod fork_gate;
mod interruptions;
mod marking_log;
mod marking_threads;
pub(crate) mod remembered;
mod store_log;
mod wakeup;

pub(crate) use cycles::Cycles;
pub use interruptions::Interruption;
pub(crate) use interruptions::Interruptions;
pub(crate) use marking_log::MarkingLog;
pub(crate) use marking_threads::MarkingThreads;
pub(crate) use store_log::StoreLog;
pub(crate) use wakeup::{WakeOn, Wakeup};

use crate::inject::FaultInjector;
use crate::options::{Config, Generational};
use barrier_bits::VERIFY;
use core::sync::atomic::{AtomicU32, Ordering};
use fork_gate::ForkGate;
use heapwood_heap::{Collection, Space};
use heapwood_os::ForkLock;
use remembered::RememberedSet;

/// The shared part of a heap.
pub(crate) struct State {
    space: Space,
    marking_threads: MarkingThreads,
    cycles: Cycles,
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
            marking_threads: MarkingThreads::new(),
            cycles: Cycles::new(goal),
            stress: config.stress.then_some(config.generational),
            verifies: config.verify,
            stop_signal: config.signal(),
            interruptions: Interruptions::default(),
            stores,
            wakeup: Wakeup::default(),
            fork_gate: ForkGate::new(forking),
            faults: FaultInjector::default(),
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

    /// How far collections have come.
    #[inline(always)]
    pub(crate) fn cycles(&self) -> &Cycles {
        &self.cycles
    }

    /// The threads that mark.
    #[inline(always)]
    pub(crate) fn marking_threads(&self) -> &MarkingThreads {
        &self.marking_threads
    }

    #[inline(always)]
    pub(crate) fn space(&self) -> &Space {
        &self.space
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
        let often_young =
            self.stress? == Generational::Always && !self.cycles.collections().is_multiple_of(8);
        Some(if often_young { Collection::Young } else { Collection::Full })
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
