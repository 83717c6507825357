//! The state that mutators and the collector share: the heap's space, the counters of its collections, and everything
//! that slow paths read. Invariant: it knows neither mutators nor collector, and is the first field of its
//! [`Heap`](crate::Heap), so that a mutator's pointer to it leads to both.

mod alone;
mod ambiguous_words;
mod cycles;
pub(crate) mod fork_gate;
mod full_collections;
mod interruptions;
pub(crate) mod mark_pace;
mod marking_log;
mod marking_requests;
mod marking_threads;
mod posted_pause;
mod quarantine;
pub(crate) mod remembered;
mod reports;
pub(crate) mod rescan_set;
mod sites;
mod store_log;
mod type_names;
mod wakeup;

pub use ambiguous_words::AmbiguousWords;
pub(crate) use ambiguous_words::{ANY, MOST_BEFORE};
pub(crate) use cycles::Cycles;
pub(crate) use full_collections::FullCollections;
pub use interruptions::Interruption;
pub(crate) use interruptions::Interruptions;
pub(crate) use mark_pace::PaceWaiters;
pub use marking_log::ShadeCounts;
pub(crate) use marking_log::{CHUNK_ENTRIES, Chunk, ChunkMemory, MarkingLog, ShadedChunk};
pub(crate) use marking_requests::{MarkingRequest, MarkingRequests};
pub(crate) use marking_threads::MarkingThreads;
pub(crate) use posted_pause::{MarkerPause, PostedPause};
pub use quarantine::FreedBy;
pub(crate) use quarantine::Quarantine;
pub(crate) use reports::Reports;
pub use sites::Site;
pub(crate) use store_log::StoreLog;
pub(crate) use type_names::{TypeName, TypeNames};
pub(crate) use wakeup::Wakeup;

use crate::finalizers::Finalizers;
use crate::inject::FaultInjector;
use crate::settings::options::{Config, Generational};
use crate::weak::ephemerons::Ephemerons;
use crate::weak::links::Links;
use alone::Alone;
use barrier_bits::VERIFY;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use fork_gate::ForkGate;
use heapwood_heap::{Collection, Space, Span};
use heapwood_os::ForkLock;
use heapwood_os::threads::sync;
use remembered::RememberedSet;

/// The bits of the write barrier's flag: the reasons for which stores take the slow path. Invariant: each mutator's
/// flag is the heap's, except for `YOUNG`, which a thread may clear once it has declared the remembered set overflowed.
pub(crate) mod barrier_bits {
    /// A full marking is active.
    pub(crate) const MARK: u32 = 1;
    /// There are young collections.
    pub(crate) const YOUNG: u32 = 2;
    /// Verify mode notes stores.
    pub(crate) const VERIFY: u32 = 4;
}

/// What a heap in verify mode has besides; otherwise there is nothing.
#[derive(Default)]
pub(crate) struct Checks {
    pub(crate) stores: Option<StoreLog>,
    pub(crate) quarantine: Option<Quarantine>,
    pub(crate) type_names: Option<TypeNames>,
}

/// The shared part of a heap.
pub(crate) struct State {
    space: Space,
    marking_threads: MarkingThreads,
    cycles: Cycles,
    /// Collects at every allocation: always fully, or mostly the young objects.
    stress: Option<Generational>,
    /// The store log, in verify mode.
    stores: Option<StoreLog>,
    /// The quarantine of freed objects, in verify mode.
    quarantine: Option<Quarantine>,
    /// The names of its types, in verify mode.
    type_names: Option<TypeNames>,
    reports: Reports,
    /// The signal that stops its threads, unless they poll.
    stop_signal: Option<i32>,
    interruptions: Interruptions,
    /// The slots of old objects into which pointers to young ones were stored.
    remembered: RememberedSet,
    /// Messages of mutators to a concurrent full marking.
    marking_log: MarkingLog,
    /// Requests for concurrent markings.
    marking_requests: MarkingRequests,
    /// Mutators that wait for a marking beside the program.
    pace_waiters: PaceWaiters,
    /// A pause that the marker wants, and a thread of the program is to make.
    posted: PostedPause,
    /// Full collections that the program has asked for.
    full_collections: FullCollections,
    /// Finalisers, and the queue of those whose objects are dead.
    finalizers: Finalizers,
    /// What markings keep of ephemerons.
    ephemerons: Ephemerons,
    /// Words of the program's memory that are cleared with their objects.
    links: Links,
    /// Reasons for which stores take the slow path of the barrier; each mutator's flag is a copy.
    barrier: sync::AtomicU32,
    /// The heap's own thread sleeps on it.
    wakeup: Wakeup,
    fork_gate: ForkGate,
    alone: Alone,
    /// How many threads mark; 0: as many as profit.
    mark_threads: AtomicUsize,
    /// Which words that may be pointers count.
    ambiguous_words: AmbiguousWords,
    faults: FaultInjector,
}

impl State {
    /// The state of a heap before its first collection.
    pub(crate) fn new(
        space: Space,
        goal: usize,
        config: &Config,
        checks: Checks,
        remembered: RememberedSet,
        ephemerons: Ephemerons,
        forking: &'static AtomicU32,
    ) -> Self {
        let Checks { stores, quarantine, type_names } = checks;
        State {
            barrier: sync::AtomicU32::new(if stores.is_some() { VERIFY } else { 0 }),
            remembered,
            marking_log: MarkingLog::new(),
            marking_requests: MarkingRequests::default(),
            pace_waiters: PaceWaiters::default(),
            posted: PostedPause::default(),
            full_collections: FullCollections::default(),
            finalizers: Finalizers::default(),
            ephemerons,
            links: Links::default(),
            space,
            marking_threads: MarkingThreads::new(),
            cycles: Cycles::new(goal),
            stress: config.stress.then_some(config.generational),
            quarantine,
            type_names,
            reports: Reports::new(config.verify_stop),
            stop_signal: config.signal(),
            interruptions: Interruptions::default(),
            stores,
            wakeup: Wakeup::default(),
            fork_gate: ForkGate::new(forking),
            alone: Alone::new(),
            mark_threads: AtomicUsize::new(config.mark_threads.unwrap_or(0)),
            ambiguous_words: AmbiguousWords::new(),
            faults: FaultInjector::default(),
        }
    }

    /// The planted errors, for tests of the tests.
    #[inline(always)]
    pub(crate) fn faults(&self) -> &FaultInjector {
        &self.faults
    }

    /// How many threads mark, if that was set.
    pub(crate) fn mark_threads(&self) -> Option<usize> {
        Some(self.mark_threads.load(Ordering::Relaxed)).filter(|&threads| threads != 0)
    }

    /// Sets it, from the next full collection on.
    pub(crate) fn set_mark_threads(&self, threads: Option<usize>) {
        self.mark_threads.store(threads.unwrap_or(0), Ordering::Relaxed);
    }

    /// The word on which the heap's own thread sleeps.
    #[inline(always)]
    pub(crate) fn wakeup(&self) -> &Wakeup {
        &self.wakeup
    }

    /// Whether it has had one mutator at a time so far.
    #[inline(always)]
    pub(crate) fn alone(&self) -> &Alone {
        &self.alone
    }

    /// Which words that may be pointers count.
    pub(crate) fn ambiguous_words(&self) -> &AmbiguousWords {
        &self.ambiguous_words
    }

    /// Mutators that wait for a marking beside the program.
    #[inline(always)]
    pub(crate) fn pace_waiters(&self) -> &PaceWaiters {
        &self.pace_waiters
    }

    /// The counters of collections.
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

    /// The gate at which a fork waits.
    pub(crate) fn fork_gate(&self) -> &ForkGate {
        &self.fork_gate
    }

    /// Calls `f` with the locks of the shared state.
    pub(crate) fn for_each_lock(&self, f: &mut dyn FnMut(&dyn ForkLock)) {
        f(self.remembered.fork_lock());
        f(self.marking_log.fork_lock());
        if let Some(stores) = &self.stores {
            f(stores.fork_lock());
        }
        if let Some(keys) = self.ephemerons.keys() {
            f(keys.fork_lock());
        }
        f(self.links.fork_lock());
        if let Some(quarantine) = &self.quarantine {
            f(quarantine.sites().fork_lock());
        }
    }

    /// The remembered set.
    #[inline(always)]
    pub(crate) fn remembered(&self) -> &RememberedSet {
        &self.remembered
    }

    /// Messages of mutators to a concurrent full marking.
    pub(crate) fn marking_log(&self) -> &MarkingLog {
        &self.marking_log
    }

    /// Requests for concurrent markings.
    #[inline(always)]
    pub(crate) fn marking_requests(&self) -> &MarkingRequests {
        &self.marking_requests
    }

    /// A pause that the marker wants, and a thread of the program is to make.
    #[inline(always)]
    pub(crate) fn posted(&self) -> &PostedPause {
        &self.posted
    }

    /// Full collections that the program has asked for.
    pub(crate) fn full_collections(&self) -> &FullCollections {
        &self.full_collections
    }

    /// Finalisers, and the queue of those whose objects are dead.
    #[inline(always)]
    pub(crate) fn finalizers(&self) -> &Finalizers {
        &self.finalizers
    }

    /// What markings keep of ephemerons.
    #[inline(always)]
    pub(crate) fn ephemerons(&self) -> &Ephemerons {
        &self.ephemerons
    }

    /// Words of the program's memory that are cleared with their objects.
    #[inline(always)]
    pub(crate) fn links(&self) -> &Links {
        &self.links
    }

    /// What entries of links and finalisers take: a cycle's budget is for them, too.
    pub(crate) fn entry_bytes(&self) -> usize {
        /// Of a link, its entry and a bucket; of a finaliser, what a door keeps besides, as a function and its data.
        const LINK: usize = 36;
        const FINALIZER: usize = 128;
        // What waits on a queue no collection frees.
        let (registered, ..) = self.finalizers.counts();
        self.links.count() * LINK + registered * FINALIZER
    }

    /// Reasons for which stores take the slow path of the barrier.
    pub(crate) fn barrier(&self) -> u32 {
        self.barrier.load(Ordering::Relaxed)
    }

    /// Sets or clears a reason. All mutators are stopped; the caller updates their flags.
    pub(crate) fn set_barrier(&self, why: u32, on: bool) {
        let now = self.barrier();
        self.barrier.store(if on { now | why } else { now & !why }, Ordering::Relaxed);
    }

    /// The collection before every allocation, if the heap is under stress. If young collections need not be
    /// profitable, seven of eight are young.
    pub(crate) fn stress(&self) -> Option<Collection> {
        let often_young =
            self.stress? == Generational::Always && !self.cycles.collections().is_multiple_of(8);
        Some(if often_young { Collection::Young } else { Collection::Full })
    }

    /// Whether it is in verify mode.
    #[inline(always)]
    pub(crate) fn verifies(&self) -> bool {
        self.quarantine.is_some()
    }

    /// The names of its types, in verify mode.
    pub(crate) fn type_names(&self) -> Option<&TypeNames> {
        self.type_names.as_ref()
    }

    /// What is known of the type of an object in a span.
    pub(crate) fn type_name(&self, span: &Span, object: usize) -> TypeName {
        let name =
            self.type_names.as_ref().map_or(TypeName::default(), |names| names.of(&self.space, span, object));
        name.made_at(
            self.quarantine.as_ref().map_or(Site::default(), |quarantine| quarantine.sites().of(object)),
        )
    }

    /// What it says of mistakes, in verify mode.
    pub(crate) fn reports(&self) -> &Reports {
        &self.reports
    }

    /// The quarantine of freed objects, in verify mode.
    #[inline(always)]
    pub(crate) fn quarantine(&self) -> Option<&Quarantine> {
        self.quarantine.as_ref()
    }

    /// The signal that stops its threads; `None` if they poll.
    #[inline(always)]
    pub(crate) fn stop_signal(&self) -> Option<i32> {
        self.stop_signal
    }

    /// The log of stop signals, for tests.
    pub(crate) fn interruptions(&self) -> &Interruptions {
        &self.interruptions
    }

    /// The store log, in verify mode; `None` if no store needs to be noted.
    pub(crate) fn stores(&self) -> Option<&StoreLog> {
        self.stores.as_ref()
    }
}
