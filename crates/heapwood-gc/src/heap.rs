//! The heap: a space, the mutators attached to it, its roots, its collector. It owns all state; there is no global
//! state. Invariant: it lives in mapped memory at a fixed address, because mutators point to it, and its first field is
//! the part that they read.

pub(crate) mod room;
pub(crate) mod types;

use crate::background::Background;
use crate::collect::{Cause, Collector, Work};
use crate::error::{HandleError, HeapError, MisuseError, RootError, StackError, TypeError};
use crate::heap::room::{Room, hold_margin, window};
use crate::heap::types::{Described, ObjectType};
use crate::lock_order::CLIENT;
use crate::mark::Marking;
use crate::mutator::Mutator;
use crate::mutator::registry::Registry;
use crate::observe::{ArenaLog, Stats, Verify};
use crate::policy::GoalPacer;
use crate::process::{Forker, Forks, explain_faults, forget_ended, forking, handle, keep_addresses, record};
use crate::roots::{Handle, MAX_HANDLES, RootKind, RootToken, Roots, StackRef};
use crate::settings::options::{Config, Stop};
use crate::state::barrier_bits::YOUNG;
use crate::state::remembered::RememberedSet;
use crate::state::{State, StoreLog};
use core::mem::{ManuallyDrop, offset_of};
use core::ops::{Deref, Range};
use core::ptr::NonNull;
use core::sync::atomic::AtomicUsize;
use core::sync::atomic::Ordering;
use heapwood_heap::ValidationError;
use heapwood_heap::{
    Address, Collection, MIN_WINDOW, Object, ObjectRef, ProgramId, Space, SpaceConfig, Sweeping, publication,
    rounded_window,
};
use heapwood_layout::{TypeDescriptor, WORD};
use heapwood_os::process::clock;
use heapwood_os::threads::timed_lock::TickClock;
use heapwood_os::{KernelRef, Lock, MOST_KERNEL_PAGE, MappedBox};
use heapwood_pages::Effort;
use heapwood_pages::{PAGE_SIZE, PageCount, Snapshot};

/// A small heap has room for fewer handles: one for each N bytes of its reservation.
const WINDOW_BYTES_A_HANDLE: usize = 256;

/// A garbage-collected heap.
#[repr(C)]
pub struct Heap {
    state: State,
    collector: Collector,
    background: Background,
    config: Config,
    kernel: KernelRef,
    ticks: TickClock,
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
        self.heap.background.end(&self.heap.state);
        self.heap.forker.end();
        self.heap.collector.tracing().end();
        if self.heap.mutators() != 0 {
            return;
        }
        let (verifies, used) = (self.heap.state.verifies(), self.heap.space().extent());
        // SAFETY: the result is dropped after the heap.
        let addresses = verifies.then(|| unsafe { self.heap.space().give_addresses_away() });
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
        let config = config.with_trace_of_env().for_its_stops()?;
        if kernel.page_size() > MOST_KERNEL_PAGE {
            return Err(HeapError::KernelPages { bytes: kernel.page_size() });
        }
        config.signal().map_or(Ok(()), handle)?;
        if config.verify {
            explain_faults()?;
        }
        let room = Room::find(&config)?;
        let mut window = rounded_window(window(&config));
        loop {
            match Self::in_window(kernel, config, room, window) {
                Err(HeapError::Kernel(_)) if forget_ended() => {}
                Err(HeapError::Kernel(_)) if window > MIN_WINDOW => window /= 2,
                done => return done,
            }
        }
    }

    /// Makes a heap with a reservation of this size. It makes all other reservations too, or fails, and leaves a margin
    /// of addresses for the program.
    fn in_window(kernel: KernelRef, config: Config, room: Room, window: usize) -> Result<HeapBox, HeapError> {
        let margin = hold_margin(kernel)?;
        let space = Space::new(
            kernel,
            SpaceConfig {
                window,
                most: room.most(),
                limit: config.limit,
                huge_pages: config.huge_pages,
                clobber: config.verify,
                protect_arenas: config.verify || config.arena_faults,
                single_cells: config.stress,
            },
        )?;
        let window = space.window_bytes();
        let pacer = GoalPacer::new(&config, room, clock::monotonic_ns());
        let goal = pacer.goal(0, 0, pacer.bounds(0));
        let mut work = Work::new(Marking::new(kernel, &config, window)?, &config);
        let (budget, remembers, stores) = work.begin(goal);
        let remembered = RememberedSet::new(kernel, window)?;
        remembered.allow_stores(stores);
        space.set_budget(budget);
        space.set_goal(goal);
        let roots = Roots::new(kernel, MAX_HANDLES.min(window / WINDOW_BYTES_A_HANDLE))?;
        if config.library_roots {
            roots.use_libraries(kernel, true)?;
        }
        let verify = config.verify.then(|| Verify::new(kernel, &space)).transpose()?;
        // If every collection is full and stops all threads, stores need no barrier.
        let needs_barrier = config.stop == Stop::Polls;
        let stores = (config.verify && needs_barrier).then(|| StoreLog::new(kernel, &space)).transpose()?;
        let heap = Heap {
            state: State::new(space, goal, &config, stores, remembered, forking()),
            collector: Collector::new(roots, work, pacer, &config, verify),
            background: Background::default(),
            config,
            kernel,
            ticks: TickClock::start(),
            client: Lock::new(()),
            forker: Forker::new(),
        };
        heap.state.set_barrier(YOUNG, remembers);
        let heap = ManuallyDrop::new(MappedBox::new(kernel, heap)?);
        drop(margin);
        // SAFETY: the box keeps the heap in place, and HeapBox ends this before it goes.
        unsafe { heap.collector.tracing().begin(heap.state.space()) };
        if config.background_release {
            // SAFETY: the box keeps the heap in place, and HeapBox ends the thread first.
            unsafe { heap.background.start(kernel, &heap.state, &heap.collector, config.idle_collection) };
        }
        // SAFETY: as above.
        unsafe { heap.forker.begin(NonNull::from(&**heap as &dyn Forks)) };
        Ok(HeapBox { heap })
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

    /// The arena log, in verify mode.
    pub(crate) fn arena_log(&self) -> Option<&ArenaLog> {
        self.collector.verify().map(Verify::arenas)
    }

    /// Its memory.
    #[inline(always)]
    pub fn space(&self) -> &Space {
        self.state.space()
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

    pub(crate) fn collector(&self) -> &Collector {
        &self.collector
    }

    pub(crate) fn state(&self) -> &State {
        &self.state
    }

    pub(crate) fn kernel(&self) -> KernelRef {
        self.kernel
    }

    pub(crate) fn registry(&self) -> &Registry<Mutator> {
        self.collector.registry()
    }

    pub(crate) fn pacer(&self) -> &GoalPacer {
        self.collector.pacer()
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
    ) -> Result<bool, MisuseError> {
        let collected = self.collector.collect_if(&self.state, me, wanted, cause)?;
        if collected {
            self.background.is_wanted(self.kernel);
            self.state.wakeup().collected();
        }
        Ok(collected)
    }

    /// The parts for a marking in steps, for tests of the write barrier ([`Mutator::begin_stepped_marking`]).
    pub(crate) fn stepped_marking(&self) -> (&Collector, &State) {
        (&self.collector, &self.state)
    }

    /// Collects, on a thread without a running mutator; no other collection begins until the result is dropped.
    pub(crate) fn collect_here(&self) -> impl Sized {
        let (_, turn) = self.collector.collect(&self.state, || true, Cause::Program(Collection::Full));
        self.background.is_wanted(self.kernel);
        self.state.wakeup().collected();
        turn
    }

    /// Changes the growth percentage, from the next collection on.
    pub fn set_percent(&self, percent: u32) -> Result<(), HeapError> {
        Config::DEFAULT.percent(percent).check()?;
        self.pacer().set_percent(percent);
        Ok(())
    }

    /// The number of attached threads. If it is 0, the last has left completely.
    pub fn mutators(&self) -> usize {
        self.registry().attached()
    }

    /// Registers a type. Types of one size class and one layout share a shape.
    pub fn register(&self, descriptor: &TypeDescriptor) -> Result<ObjectType, TypeError> {
        let _no_preempt = record().no_preempt();
        types::register(self.space(), descriptor)
    }

    /// The form in which the heap keeps a type of `size` bytes that a program describes: a mask up to the number of
    /// words for which that is faster ([`Config::mask_words`]). Only a program is registered by this.
    ///
    /// # Errors
    /// As for [`Heap::register_program`].
    pub fn describe(&self, size: usize, program: &[u8]) -> Result<Described, TypeError> {
        let _no_preempt = record().no_preempt();
        types::describe(self.space(), self.config.mask_words as usize, size, program)
    }

    /// Registers a type of `size` bytes as a program that describes its pointers, one bit for each word, however short.
    ///
    /// # Errors
    /// The size is not that of a type; the program is invalid (the error has the byte), or is no nest of few loops and
    /// too large to be unrolled; or the heap has no room for more.
    pub fn register_program(
        &self,
        size: usize,
        program: &[u8],
    ) -> Result<(ObjectType, ProgramId), TypeError> {
        let _no_preempt = record().no_preempt();
        types::register_program(self.space(), size, program)
    }

    /// The type of `size` bytes with this program of the same size.
    ///
    /// # Errors
    /// The heap has no room for more layouts.
    pub fn program_type(&self, size: usize, program: ProgramId) -> Result<ObjectType, TypeError> {
        let _no_preempt = record().no_preempt();
        types::program_type(self.space(), size, program)
    }

    /// Makes `words` slots from `slots` roots: each holds null, an address outside the heap, or the address of an
    /// object.
    ///
    /// # Errors
    /// The table of roots is full, or the kernel gives no memory for more of it.
    ///
    /// # Safety
    /// 1. The slots stay readable, and hold such values whenever a collection may run, until the root is removed.
    pub unsafe fn add_root_slots(&self, slots: *const usize, words: usize) -> Result<RootToken, RootError> {
        self.collector.roots().table().lock().add(RootKind::Slots, slots as usize, words)
    }

    /// Makes the words in `start..end` ambiguous roots.
    ///
    /// # Errors
    /// As for [`Heap::add_root_slots`].
    ///
    /// # Safety
    /// 1. The range stays readable until the root is removed.
    pub unsafe fn add_root_range(&self, start: usize, end: usize) -> Result<RootToken, RootError> {
        let start = start.next_multiple_of(WORD);
        self.collector.roots().table().lock().add(RootKind::Range, start, end.saturating_sub(start) / WORD)
    }

    /// Registers the stack at these addresses, on which no word is in use yet, for threads to switch to
    /// ([`Mutator::switch_stack`]). Its words in use are ambiguous roots until it is removed.
    ///
    /// # Errors
    /// The addresses are not those of a stack, there are too many stacks, or the kernel gives no memory for more.
    ///
    /// # Safety
    /// 1. The words stay readable until the stack is removed.
    pub unsafe fn add_stack(&self, range: Range<usize>) -> Result<StackRef, RootError> {
        if range.is_empty() || range.start < WORD {
            return Err(RootError::NoStack);
        }
        self.collector.roots().stacks().lock().add(range)
    }

    /// Removes a stack.
    ///
    /// # Errors
    /// A thread is on it, or it was removed before.
    ///
    /// # Safety
    /// 1. This heap registered it.
    pub unsafe fn remove_stack(&self, stack: StackRef) -> Result<(), StackError> {
        self.collector.roots().stacks().lock().remove(stack)
    }

    /// Makes the writable data of a library, or of the program, ambiguous roots: the one that holds the address of a
    /// function or variable of its own. They are roots until the root is removed or the library is closed; the next
    /// collection then removes the root. Thread-local variables are not included.
    ///
    /// # Errors
    /// No library holds the address; or as for [`Heap::add_root_slots`], or the kernel starts no thread.
    pub fn add_library_roots(&self, address: usize) -> Result<RootToken, RootError> {
        self.collector.roots().add_library(self.kernel, address)
    }

    /// Removes a root; false if the token names none.
    pub fn remove_root(&self, token: RootToken) -> bool {
        self.collector.roots().table().lock().remove(token)
    }

    /// Makes a handle that keeps the object at `object` alive (null for none yet).
    ///
    /// # Errors
    /// The table of handles is full, or the kernel gives no memory for more of it.
    ///
    /// # Safety
    /// 1. `object` is null, an address outside the heap, or that of an object that exists.
    pub unsafe fn new_handle(&self, object: Address) -> Result<Handle, HandleError> {
        self.collector.roots().new_handle(object.get(), self.state.faults())
    }

    /// The held handle of this heap whose slot ([`Handle::slot`]) is at an address, if there is one. Takes no lock, and
    /// reads only the heap's memory.
    pub fn held_handle(&self, slot: usize) -> Option<Handle> {
        self.collector.roots().held_handle(slot)
    }

    /// Makes a handle refer to another object, or to none (null).
    ///
    /// # Safety
    /// 1. The handle is this heap's, and held.
    /// 2. As for [`Heap::new_handle`].
    pub unsafe fn set_handle(&self, handle: Handle, object: Address) {
        self.collector.roots().set_handle(handle, object.get(), self.state.faults());
    }

    /// Frees a handle; false if it is not held.
    pub fn free_handle(&self, handle: Handle) -> bool {
        self.collector.roots().handles().lock().free_handle(handle)
    }

    /// The object that `addr` points to or into. Objects allocated since the last collection may be missing (see
    /// [`Mutator::find`]). It finds no values in arenas, which have no bits of their own.
    pub fn find(&self, addr: usize) -> Option<Object> {
        publication::observe();
        let address = Address::new(addr);
        self.space().find(address).filter(|_| self.space().arenas().find(address).is_none())
    }

    /// Whether an object may begin at `addr`: a cell or a large object that the program has not freed, or an address in
    /// an arena. Only the allocating thread knows whether a cell has a new object.
    pub fn may_begin_object(&self, addr: usize) -> bool {
        publication::observe();
        let (space, address) = (self.space(), Address::new(addr));
        match space.arenas().find(address) {
            Some(place) => place.is_there,
            None => {
                let cell = space.find_span(address).and_then(|span| span.cell_in(address));
                cell == Some(address) && !space.is_freed(ObjectRef::new(addr))
            }
        }
    }

    /// The arena in which `addr` lies: open, or left to the collector, which has not freed it.
    pub fn arena_at(&self, addr: usize) -> Option<u64> {
        publication::observe();
        self.space().arenas().find(Address::new(addr)).filter(|place| place.is_there).map(|place| place.arena)
    }

    /// Returns the memory of all free pages to the kernel now; the result is the number of bytes that may have been
    /// released. Only objects that a collection found dead are free: collect first. Threads go on meanwhile; their
    /// cached pages (up to half a MiB each) stay.
    pub fn release_free_memory(&self) -> usize {
        let released = self.release_all();
        self.background.figures().count_released(released);
        released
    }

    /// Calls `f` in a slice of work: no signal stops the thread, and the process does not fork. Between two slices both
    /// may happen.
    fn slice_of_work<R>(&self, f: impl FnOnce() -> R) -> R {
        let no_fork = self.state.fork_gate().no_fork();
        let _no_preempt = record().no_preempt_in_slice(&no_fork);
        f()
    }

    fn release_all(&self) -> usize {
        let space = self.space();
        while self.slice_of_work(|| space.sweep_some(Sweeping::Collector)) {}
        self.slice_of_work(|| space.finish_sweep());
        let release = || self.slice_of_work(|| space.memory().release_some(Effort::Full));
        core::iter::from_fn(release).map_while(|(bytes, given)| given.then_some(bytes)).sum()
    }

    /// Sets the time limit of young collections, after which they promote en masse; `None`: as long as they are
    /// profitable.
    pub fn set_young_time(&self, time: Option<core::time::Duration>) {
        self.state.cycles().set_young_time(time);
    }

    /// Logs from now on where signals interrupt its threads, in a ring of entries.
    pub fn note_interruptions(&self, ring: &'static [AtomicUsize]) {
        assert!(!ring.is_empty());
        self.state.interruptions().note_into(ring);
    }

    /// The number of log entries.
    pub fn interruptions(&self) -> usize {
        self.state.interruptions().noted()
    }

    /// The pages as they are now. Pages that mutators have cached count as in use.
    pub fn page_snapshot(&self) -> Snapshot {
        let _no_preempt = record().no_preempt();
        self.space().memory().snapshot()
    }

    /// Keeps the snapshots of [`Heap::peak_page_snapshot`] and [`Heap::collected_page_snapshot`] from now on, at
    /// collections, while the world is stopped.
    pub fn keep_page_snapshots(&self) {
        let _no_preempt = record().no_preempt();
        self.collector.snapshots().keep(self.kernel, self.space());
    }

    /// The pages when most were in use, at the beginning of a collection or now; `None` if none are kept, or the kernel
    /// gave no memory for them.
    pub fn peak_page_snapshot(&self) -> Option<Snapshot> {
        let _no_preempt = record().no_preempt();
        self.collector.snapshots().before_marking(self.space());
        self.collector.snapshots().peak(self.window_pages())
    }

    /// The pages after the collection that freed most, as if all dead objects had been swept at once; `None` if none
    /// are kept, or there was no collection, or no memory for them.
    pub fn collected_page_snapshot(&self) -> Option<Snapshot> {
        let _no_preempt = record().no_preempt();
        self.collector.snapshots().collected(self.window_pages())
    }

    fn window_pages(&self) -> PageCount {
        PageCount(self.space().window_bytes() / PAGE_SIZE)
    }

    /// Whether the heap's tables, lists and bits agree.
    ///
    /// # Errors
    /// The first thing found wrong.
    ///
    /// # Safety
    /// 1. Meanwhile no other thread uses the heap.
    pub unsafe fn is_valid(&self) -> Result<(), ValidationError> {
        let members = self.registry().lock();
        members.owners().for_each(|owner| owner.publish());
        // SAFETY: contract 1, and this thread does nothing else meanwhile.
        unsafe { self.space().stopped() }.is_valid(members.owners())
    }

    /// The bytes that threads own and do not use: free cells of their spans, and cached pages.
    ///
    /// # Safety
    /// 1. Meanwhile no other thread uses the heap.
    pub unsafe fn owned_unused_bytes(&self) -> usize {
        let members = self.registry().lock();
        members.owners().for_each(|owner| owner.publish());
        // SAFETY: contract 1, and this thread does nothing else meanwhile.
        unsafe { self.space().stopped() }.owned_unused_bytes()
    }

    /// The statistics at this moment.
    pub fn stats(&self) -> Stats {
        let _no_preempt = record().no_preempt();
        let (figures, arenas) = (self.space().stats(), self.space().arenas().bytes());
        let [sweep_allocation_ns, sweep_background_ns, sweep_collector_ns] =
            self.space().reclaim_clock().times().sweep_ns;
        let held = |ticks: u64| self.ticks.ns(ticks);
        let mut stats = Stats {
            collections: self.state.cycles().collections(),
            live_bytes: self.state.cycles().live(),
            goal_bytes: self.state.cycles().goal().load(Ordering::Relaxed),
            allocated_bytes: figures.total_allocated,
            in_use_bytes: figures.in_use,
            arenas: self.space().arenas().count(),
            arena_bytes: arenas.in_use,
            arena_free_bytes: arenas.free + arenas.quarantined,
            committed_bytes: figures.grown,
            backed_bytes: figures.resident,
            spans: figures.spans,
            span_lock_acquisitions: figures.span_lock_acquisitions,
            page_lock_acquisitions: figures.page_lock_acquisitions,
            sweep_allocation_ns,
            sweep_background_ns,
            sweep_collector_ns,
            swept_by_allocation: figures.swept_by_allocation,
            swept_by_background: figures.swept_by_background,
            swept_by_collector: figures.swept_by_collector,
            small_bytes: figures.small_allocated,
            shared_rmws: figures.shared_rmws,
            refills: figures.refills,
            spans_taken: figures.spans_taken,
            spans_returned: figures.spans_returned,
            threads: self.registry().attached_now(),
            hold_spans_max_ns: held(figures.hold_spans),
            hold_pages_max_ns: held(figures.hold_pages),
            hold_types_max_ns: held(figures.hold_types),
            ..Stats::default()
        };
        self.collector.tell(self.space(), &mut stats, &self.ticks);
        self.background.figures().tell(&mut stats);
        stats
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
