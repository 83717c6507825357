//! The heap: a space, the mutators attached to it, its roots, its collector. It owns all state; there is no global
//! state. Invariant: it lives in mapped memory at a fixed address, because mutators point to it, and its first field is
//! the part that they read.
//!
//! | file | contents |
//! |---|---|
//! | `heap` | the heap: its parts, its creation and its end |
//! | `types` | [`HeapTypes`](crate::HeapTypes): the types that a program registers |
//! | `object_type` | a type as a heap knows it |
//! | `objects` | [`HeapObjects`](crate::HeapObjects): its objects, found by their addresses |
//! | `inspect` | [`HeapInspector`](crate::HeapInspector): statistics, snapshots, checks |
//! | `memory` | [`HeapMemory`](crate::HeapMemory): the memory that it does not need |
//! | `room` | the room for a heap in its process |

pub(crate) mod inspect;
pub(crate) mod memory;
pub(crate) mod object_type;
pub(crate) mod objects;
pub(crate) mod room;
pub(crate) mod types;

use crate::arenas::log::ArenaLog;
use crate::background::{Background, MarkerThread, SlowWork};
use crate::collect::{Cause, Collector, Work};
use crate::error::{HeapError, Misuse};
use crate::heap::room::{Room, hold_margin, reservation};
use crate::lock_order::CLIENT;
use crate::mark::Marking;
use crate::mutator::Mutator;
use crate::observe::Verify;
use crate::policy::GoalPacer;
use crate::process::{
    Forker, Forks, checked_heaps, explain_faults, forget_ended, forking, handle, has_membarrier,
    is_in_verified_heap, keep_addresses, protected_chunks, record,
};
use crate::roots::{MAX_HANDLES, Roots};
use crate::settings::options::{Config, Stop};
use crate::state::barrier_bits::YOUNG;
use crate::state::remembered::RememberedSet;
use crate::state::{AmbiguousWords, Checks, Quarantine, State, StoreLog, TypeNames};
use crate::weak::ephemerons::Ephemerons;
use core::mem::{ManuallyDrop, offset_of};
use core::ops::Deref;
use core::ptr::NonNull;
use core::sync::atomic::Ordering;
use heapwood_heap::{Collection, MIN_RESERVATION, Space, SpaceConfig, rounded_reservation};
use heapwood_os::{KernelRef, Lock, MOST_KERNEL_PAGE, MappedBox};

/// A small heap has room for fewer handles: one for each N bytes of its reservation.
const RESERVATION_BYTES_A_HANDLE: usize = 256;

/// A garbage-collected heap.
#[repr(C)]
pub struct Heap {
    state: State,
    collector: Collector,
    background: Background,
    config: Config,
    kernel: KernelRef,
    /// A lock for data that its client shares among threads.
    client: Lock<(), CLIENT>,
    forker: Forker,
}

const _: () = assert!(offset_of!(Heap, state) == 0, "Mutator::heap relies on it");

/// A heap in a fixed place. Dropping it releases all its memory at once; in verify mode its addresses are kept for a
/// while, so that a late use of them is reported. If a thread is still attached (its guard was forgotten), the memory
/// stays, because the thread may use it until it ends.
pub struct HeapBox {
    heap: ManuallyDrop<MappedBox<Heap>>,
}

impl Deref for HeapBox {
    type Target = Heap;
    fn deref(&self) -> &Heap {
        &self.heap
    }
}

impl Drop for HeapBox {
    fn drop(&mut self) {
        // All three use the heap.
        self.heap.background.end();
        self.heap.marker().end();
        self.heap.forker.end();
        checked_heaps().end(&self.heap.state);
        self.heap.state.reports().tell_count();
        if self.heap.mutators() != 0 {
            return;
        }
        let (verifies, used) = (self.heap.state.verifies(), self.heap.space().committed_end());
        // SAFETY: the result is dropped after the heap.
        let addresses = verifies.then(|| unsafe { self.heap.space().detach_reservation() });
        // SAFETY: nobody uses the heap any more, and nothing below uses it.
        unsafe { ManuallyDrop::drop(&mut self.heap) };
        if let Some(addresses) = addresses {
            keep_addresses(addresses, used);
        }
    }
}

impl Heap {
    /// Makes a heap with memory from `kernel`.
    pub fn create(kernel: KernelRef, config: Config) -> Result<HeapBox, HeapError> {
        config.check()?;
        let config = config.with_trace_of_env().for_its_stops()?.for_its_thread()?;
        if kernel.page_size() > MOST_KERNEL_PAGE {
            return Err(HeapError::KernelPages { bytes: kernel.page_size() });
        }
        config.signal().map_or(Ok(()), handle)?;
        if config.verify {
            explain_faults()?;
        }
        let room = Room::find(&config)?;
        let mut reservation = rounded_reservation(reservation(&config));
        loop {
            match Self::in_reservation(kernel, config, room, reservation) {
                Err(HeapError::Kernel(_)) if forget_ended() => {}
                Err(HeapError::Kernel(_)) if reservation > MIN_RESERVATION => reservation /= 2,
                done => return done,
            }
        }
    }

    /// Makes a heap with a reservation of this size. It makes all other reservations too, or fails, and leaves a margin
    /// of addresses for the program.
    fn in_reservation(
        kernel: KernelRef,
        config: Config,
        room: Room,
        reservation: usize,
    ) -> Result<HeapBox, HeapError> {
        let margin = hold_margin(kernel)?;
        let space = Space::new(
            kernel,
            SpaceConfig {
                reservation,
                most: room.most(),
                limit: config.limit,
                huge_pages: config.huge_pages,
                clobber: config.verify,
                keep_freed: config.verify,
                protect_arenas: (config.verify || config.arena_faults).then(protected_chunks),
                single_cells: config.stress,
            },
        )?;
        let reservation = space.reservation_bytes();
        let pacer = GoalPacer::new(&config, room);
        let goal = pacer.goal((0, 0), 0, pacer.bounds(0));
        let mut work = Work::new(Marking::new(kernel, &config, reservation)?, &config);
        let (budget, remembers, stores) = work.begin(goal);
        let remembered = RememberedSet::new(kernel, reservation)?;
        remembered.allow_stores(stores);
        let ephemerons = Ephemerons::new(kernel, reservation, config.verify)?;
        space.set_budget(budget);
        space.set_goal(goal);
        let roots = Roots::new(kernel, MAX_HANDLES.min(reservation / RESERVATION_BYTES_A_HANDLE))?;
        if config.library_roots {
            roots.use_libraries(kernel, true)?;
        }
        let verify = config.verify.then(|| Verify::new(kernel, &space)).transpose()?;
        // Where signals stop threads there are no young collections and no markings beside the program: nothing needs a barrier.
        let needs_barrier = config.stop == Stop::Polls;
        let stores = (config.verify && needs_barrier)
            .then(|| StoreLog::new(kernel, &space, is_in_verified_heap))
            .transpose()?;
        let quarantine = config.verify.then(|| {
            // A bounded heap keeps room for the program.
            let most = config.limit.unwrap_or(usize::MAX).min(space.most_bytes()) / 4;
            Quarantine::new(kernel, &space, config.quarantine.min(most))
        });
        let type_names = config.verify.then(|| TypeNames::new(kernel)).transpose()?;
        let checks = Checks { stores, quarantine: quarantine.transpose()?, type_names };
        let heap = Heap {
            state: State::new(space, goal, &config, checks, remembered, ephemerons, forking()),
            collector: Collector::new(roots, work, pacer, &config, verify),
            background: Background::new(SlowWork::new(kernel), kernel),
            config,
            kernel,
            client: Lock::new(()),
            forker: Forker::new(),
        };
        heap.state.set_barrier(YOUNG, remembers);
        let heap = ManuallyDrop::new(MappedBox::new(kernel, heap)?);
        drop(margin);
        if config.background_release {
            // SAFETY: the box keeps the heap in place, and HeapBox ends the threads first.
            unsafe { heap.prepare_threads() };
            heap.background.is_wanted();
        }
        // SAFETY: as above.
        unsafe { heap.forker.begin(NonNull::from(&**heap as &dyn Forks)) };
        heap.state.alone().begin(has_membarrier());
        if heap.state.verifies() {
            checked_heaps().begin(&heap.state);
        }
        Ok(HeapBox { heap })
    }

    /// Lets the heap have threads of its own.
    ///
    /// # Safety
    /// 1. The heap stays where it is until they have ended.
    unsafe fn prepare_threads(&self) {
        self.background.job().set_collects(self.config.idle_collection);
        // SAFETY: contract 1.
        unsafe {
            self.background.prepare(&self.state, &self.collector);
            self.marker().prepare(&self.state, &self.collector);
        }
    }

    /// Starts the heap's own thread of a heap that was made without `background_release`: its program has waited until it has
    /// other threads, since what a process with one thread may do, one with two may not (`unshare` of users, in Linux).
    pub fn start_background(&'static self) {
        if !self.config.background_release && !self.background.is_started() {
            // SAFETY: it stays for good.
            unsafe { self.prepare_threads() };
            self.background.is_wanted();
        }
    }

    /// The options with which it was made.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The planted errors, for tests of the tests.
    #[cfg(heapwood_inject)]
    pub fn faults(&self) -> &crate::inject::FaultInjector {
        self.state.faults()
    }

    /// In verify mode: reports a mistake of the program.
    pub fn report(&self, text: core::fmt::Arguments<'_>) {
        self.state.reports().tell(text);
    }

    /// The arena log, in verify mode.
    pub(crate) fn arena_log(&self) -> Option<&ArenaLog> {
        self.collector.verify().map(Verify::arenas)
    }

    /// Its memory.
    #[inline(always)]
    pub fn space(&self) -> &Space {
        self.state.space()
    }

    /// Which words that may be pointers count as such.
    pub fn ambiguous_words(&self) -> &AmbiguousWords {
        self.state.ambiguous_words()
    }

    /// Locks data that its client keeps in it and threads share. A forking thread holds the lock, so the child finds it
    /// free and the data whole. While the guard exists no signal stops the thread.
    pub fn lock_for_client(&self) -> impl Sized {
        // The no-preempt region comes first: a thread that begins one may have to wait for a fork.
        let no_preempt = record().no_preempt();
        (self.client.lock(), no_preempt)
    }

    pub(crate) fn client_lock(&self) -> &Lock<(), CLIENT> {
        &self.client
    }

    pub(crate) fn background(&self) -> &Background {
        &self.background
    }

    /// The thread that marks beside the program.
    pub(crate) fn marker(&self) -> &MarkerThread {
        self.background.job().marker()
    }

    /// Whether a thread takes requests for markings beside the program. It is started if it was not yet wanted.
    pub(crate) fn has_marker(&self) -> bool {
        self.marker().takes_requests(&self.state, &self.collector)
    }

    pub(crate) fn collector(&self) -> &Collector {
        &self.collector
    }

    pub(crate) fn state(&self) -> &State {
        &self.state
    }

    pub(crate) fn kernel(&self) -> KernelRef {
        self.kernel
    }

    /// Collects if it is still `wanted`, for an allocation or on request of the program; returns whether it did.
    ///
    /// # Errors
    /// The mutator cannot be used now, or its thread's stack cannot be scanned.
    pub(crate) fn collect_if(
        &self,
        me: &Mutator,
        wanted: impl Fn() -> bool,
        cause: Cause,
    ) -> Result<bool, Misuse> {
        let collected = self.collector.collect_if(&self.state, me, wanted, cause)?;
        if collected {
            self.collected();
            if !self.background.is_here() {
                self.collector.start_wanted_helpers(&self.state);
            }
        }
        if self.state.marking_requests().is_wanted() {
            self.marker().is_wanted();
        }
        Ok(collected)
    }

    /// Asks for a full marking beside the program; false if the heap marks in stops.
    pub(crate) fn ask_marker(&self) -> bool {
        let may = self.collector.marks_concurrently(&self.state);
        if may {
            self.state.marking_requests().start();
            self.marker().is_wanted();
        }
        may
    }

    /// A collection has ended: the heap's own thread may have something to do.
    fn collected(&self) {
        self.background.is_wanted();
        match self.background.is_here() {
            true => self.state.wakeup().collected(),
            false => self.memory().release_at_collection(self.state.cycles().goal().load(Ordering::Relaxed)),
        }
    }

    /// Collects, on a thread without a running mutator, unless collections are off; whether it has. No other collection begins
    /// until the result is dropped.
    pub(crate) fn collect_here(&self) -> (bool, impl Sized) {
        let (collected, turn) =
            self.collector.collect(&self.state, || true, Cause::Program(Collection::Full));
        self.collected();
        (collected, turn)
    }

    /// The error of a collection that did not come since collections are off.
    pub(crate) fn refusal(&self) -> Misuse {
        Misuse::CollectionsOff(self.space().collections_off())
    }

    /// Changes the growth percentage, from the next collection on.
    pub fn set_percent(&self, percent: u32) -> Result<(), HeapError> {
        Config::DEFAULT.percent(percent).check()?;
        self.collector.pacer().set_percent(percent);
        Ok(())
    }

    /// Changes the size below which no full collection is due, as the option `min_heap`, from now on.
    pub fn set_min_heap(&self, bytes: usize) {
        let least = self.collector.pacer().set_min_heap(bytes);
        let goal = self.state.cycles().goal();
        if goal.fetch_max(least, Ordering::Relaxed) < least {
            // A collection that ends meanwhile has set both by the new size.
            self.space().set_goal(least);
            self.space().set_budget(least.saturating_sub(self.state.cycles().live()));
        }
    }

    /// The growth percentage.
    pub fn percent(&self) -> u32 {
        self.collector.pacer().percent()
    }

    /// Changes the limit on the heap's bytes; `None`: only its reservation bounds it. Requests for memory are refused from now on if
    /// what is in use exceeds it, and the next collection's goal keeps below it. The reservation does not grow: a heap that was made
    /// with a limit has addresses for twice that.
    ///
    /// # Errors
    /// It is less than the least limit. Nothing has changed.
    pub fn set_limit(&self, limit: Option<usize>) -> Result<(), HeapError> {
        if let Some(limit) = limit {
            Config::DEFAULT.limit(limit).check()?;
        }
        let _no_preempt = record().no_preempt();
        self.space().set_limit(limit);
        self.collector.pacer().set_limit(limit);
        Ok(())
    }

    /// The limit on the heap's bytes.
    pub fn limit(&self) -> Option<usize> {
        self.space().limit()
    }

    /// Changes how many threads mark, from the next full collection on; `None`: as many as profit.
    ///
    /// # Errors
    /// There are no so many markers. Nothing has changed.
    pub fn set_mark_threads(&self, threads: Option<usize>) -> Result<(), HeapError> {
        if let Some(threads) = threads {
            Config::DEFAULT.mark_threads(threads).check()?;
        }
        self.state.set_mark_threads(threads);
        Ok(())
    }

    /// How many threads mark, if that was set.
    pub fn mark_threads(&self) -> Option<usize> {
        self.state.mark_threads()
    }

    /// The number of attached threads. If it is 0, the last has left completely.
    pub fn mutators(&self) -> usize {
        self.collector.registry().attached()
    }

    /// Sets the time limit of young collections, after which they promote en masse; `None`: as long as they are
    /// profitable.
    pub fn set_young_time(&self, time: Option<core::time::Duration>) {
        self.state.cycles().set_young_time(time);
    }

    /// Lets pacing take bytes for nanoseconds: collections then come at the same steps whenever a program of one thread is run on a
    /// heap without marking beside the program and without a thread of its own. For tests.
    pub fn pace_by_bytes(&self) {
        self.state.cycles().pace_by_bytes();
    }

    /// Lets every allocation on the slow path wait, for a bounded time, while a marking beside the program is active, as if that
    /// were far behind. For tests.
    pub fn wait_for_marker_always(&self) {
        self.state.pace_waiters().set_always_behind();
    }
}

impl Mutator {
    /// The heap it is attached to.
    #[inline(always)]
    pub fn heap(&self) -> &Heap {
        let heap: NonNull<Heap> = self.heap_state().cast();
        // SAFETY: a mutator points to the first field of its heap, by a pointer to the whole heap (`attach.rs`), and
        // the heap lives as long as a thread is attached.
        unsafe { heap.as_ref() }
    }
}
