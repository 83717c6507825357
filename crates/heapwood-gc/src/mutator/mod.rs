//! A mutator: a thread's part in a heap. It has allocation buffers (one for each shape), a poll flag, frames and a
//! stack.
//!
//! | file | contents |
//! |---|---|
//! | `mod` | the mutator: the frozen prefix, the allocation buffers, the check before every use |
//! | `stop` | the handshake that stops it, word by word |
//! | `thread_record` | a thread's mutators, which stop and go on together |
//! | `no_preempt` | no-preempt regions, in which no signal stops the thread |
//! | `interrupt` | stops by signal |
//! | `safepoint` | safepoints, and blocking regions, which count as stops |
//! | `any_word` | loads of a value's words, some of which may be padding |
//! | `deferral` | whether its allocations collect |
//! | `switch` | switches to another stack |
//! | `barrier` | the write barrier |
//! | `store_buffer` | the stores that the next young collection has to know |
//! | `shade_buffer` | the objects that the barrier has shaded for a marking |
//! | `thread` | its thread: who it is, whether it runs, its stacks |
//! | `types` | the types that its thread allocates |
//! | `type_cache` | the cache of their shapes |
//! | `region` | how long it has been in a blocking region |
//! | `registry` | all mutators of a heap, and stopping them |
//! | `model` | loom's models of `stop`, `thread_record` and `registry` |
//!
//! Invariants: inline code outside this library reads the first 64 bytes and the allocation buffers behind them, so
//! their layout is frozen. A mutator belongs to the thread that attached it; the collector touches its private part
//! only while the thread is stopped. The functions that need the collector, to attach and to allocate, are in
//! `entry/attach.rs` and `allocate.rs`, above this folder.

mod any_word;
pub(crate) mod barrier;
mod deferral;
pub(crate) mod interrupt;
#[cfg(all(test, loom))]
pub(crate) mod model;
pub(crate) mod no_preempt;
pub(crate) mod region;
pub(crate) mod registry;
mod safepoint;
mod shade_buffer;
mod stop;
mod store_buffer;
pub(crate) mod switch;
mod thread;
pub(crate) mod thread_record;
mod type_cache;
pub(crate) mod types;

use crate::error::Misuse;
use crate::finalizers::calls::FinalizerCalls;
use crate::inject::Fault;
use crate::roots::{Frames, ThreadRoots, ThreadStack};
use crate::state::{Site, State};
use core::cell::{Cell, UnsafeCell};
use core::mem::offset_of;
use core::ops::Range;
use core::ptr::NonNull;
use core::sync::atomic::Ordering;
pub(crate) use deferral::Deferral;
use heapwood_heap::{
    Address, AllocBuffer, MAX_SHAPES, Object, ObjectInfo, Owner, ShapeId, ThreadCache, publication,
};
use heapwood_os::threads::stack::thread_pointer;
use heapwood_os::threads::sync::{AtomicU32, Futex};
use heapwood_os::{KernelRef, OsError, Reservation};
use region::Regions;
use registry::{Link, Member, Members};
use shade_buffer::ShadeBuffer;
use stop::Gate;
pub(crate) use stop::ThreadState;
use store_buffer::RecordedStores;
use thread::MutatorThread;
use thread_record::ThreadRecord;
use type_cache::TypeCache;

/// A thread's part in a heap.
#[repr(C)]
pub struct Mutator {
    /// Not 0 while a collector wants this thread stopped.
    poll: Futex,
    /// Not 0 while stores of pointers must take the slow path.
    barrier: AtomicU32,
    frames: Frames,
    reserved: [usize; 6],
    buffers: [AllocBuffer; MAX_SHAPES],
    // Private from here on.
    thread: MutatorThread<Mutator>,
    /// The first field of its heap, by a pointer that may lead to all of the heap.
    heap: NonNull<State>,
    /// Its place among its heap's mutators, and the memory that it lies in.
    link: Link<Mutator>,
    /// What the barrier has recorded.
    stores: RecordedStores,
    /// What it has shaded.
    shades: ShadeBuffer,
    /// The types that its thread allocates.
    type_cache: TypeCache,
    client: Client,
    /// Calls of finalisers that are under way on its thread.
    finalizer_calls: FinalizerCalls,
    /// The function that the thread calls when it detaches from the heap.
    farewell: Cell<Option<fn()>>,
    /// Whether its allocations collect.
    deferral: Cell<Deferral>,
    /// The spans and pages that its thread owns, beside the allocation buffers. Few of its last pages are ever touched.
    cache: ThreadCache,
}

/// Words for the client that attached the thread; zero when the thread is attached.
pub type Client = UnsafeCell<[usize; CLIENT_WORDS]>;

/// Words of a [`Client`].
const CLIENT_WORDS: usize = 40;

/// Offset of the poll flag.
pub const POLL_OFFSET: usize = offset_of!(Mutator, poll);
/// Offset of the barrier flag.
pub const BARRIER_OFFSET: usize = offset_of!(Mutator, barrier);
/// Offset of the frame list.
pub const FRAMES_OFFSET: usize = offset_of!(Mutator, frames);
/// Offset of the first allocation buffer.
pub const BUFFERS_OFFSET: usize = offset_of!(Mutator, buffers);

#[cfg(not(loom))]
const _: () = assert!(POLL_OFFSET == 0 && BARRIER_OFFSET == 4 && FRAMES_OFFSET == 8 && BUFFERS_OFFSET == 64);

impl Mutator {
    /// A mutator in memory of its own, without a thread. Writing it as a whole would touch every page of its buffers.
    ///
    /// # Safety
    /// 1. `heap` points to the first field of a heap that exists as long as the mutator is used.
    pub(crate) unsafe fn map(kernel: KernelRef, heap: NonNull<State>) -> Result<NonNull<Mutator>, OsError> {
        let memory = Reservation::new(kernel, size_of::<Mutator>(), align_of::<Mutator>())?;
        memory.commit(0..size_of::<Mutator>())?;
        let place = memory.start() as *mut Mutator;
        // SAFETY: the memory is committed, aligned and used by nobody else.
        unsafe {
            (&raw mut (*place).heap).write(heap);
            (&raw mut (*place).type_cache).write(TypeCache::new());
            (&raw mut (*place).link).write(Link::new(memory));
            Ok(NonNull::new_unchecked(place))
        }
    }

    /// Gives a mutator to the calling thread, whose record is given. Fields that are not written are zero in a new
    /// mutator, and as its flush left them in a used one: no allocation buffer has a run or a span.
    ///
    /// # Safety
    /// 1. It is in no list, and no thread uses it.
    /// 2. Only this thread uses the record, which lives as long as the thread.
    pub(crate) unsafe fn assign(
        place: NonNull<Mutator>,
        stack: ThreadStack,
        record: *const ThreadRecord<Mutator>,
    ) {
        let place = place.as_ptr();
        // SAFETY: contract 1; the heap was written by `map`.
        unsafe {
            (&raw mut (*place).poll).write(Futex::new(0));
            (&raw mut (*place).barrier).write(AtomicU32::new(0));
            (&raw mut (*place).frames).write(Frames::new());
            (&raw mut (*place).thread).write(MutatorThread::here(stack, record));
            (&raw mut (*place).stores)
                .write(RecordedStores::new((*place).heap.as_ref().space().young_pages()));
            (&raw mut (*place).shades).write(ShadeBuffer::new());
            (*place).type_cache.set_writes_whole(false);
            (&raw mut (*place).client).write_bytes(0, 1);
            (&raw mut (*place).finalizer_calls).write(FinalizerCalls::new());
            (&raw mut (*place).farewell).write(Cell::new(None));
            (&raw mut (*place).deferral).write(Cell::new(Deferral::Off));
        }
    }

    /// What it does when a collection is due.
    #[inline(always)]
    pub(crate) fn deferral(&self) -> &Cell<Deferral> {
        &self.deferral
    }

    /// Whether a collection that is due waits.
    #[inline(always)]
    pub fn defers_collections(&self) -> bool {
        self.deferral.get() != Deferral::Off
    }

    /// The calls of finalisers that are under way on its thread.
    #[inline(always)]
    pub(crate) fn finalizer_calls(&self) -> &FinalizerCalls {
        &self.finalizer_calls
    }

    /// Takes the mutator from its thread. It needs nothing of the stack, so it may run on any stack; a collector then
    /// sees a mutator that is as good as stopped.
    pub(crate) fn give_up(&self) {
        if let Some(farewell) = self.farewell.take() {
            farewell();
        }
        self.thread.clear_stack();
        self.frames.clear();
        self.record().quit(self);
        // Wakes a thread that waits for it to leave, or for memory that it had cached.
        self.shared().wakeup().mutator_left(|| true);
    }

    /// Whether it is the calling thread's.
    pub(crate) fn is_mine(&self) -> bool {
        self.is_of(thread_pointer())
    }

    /// Whether its thread is in a no-preempt region, or was a moment ago. The caller holds the registry's lock, so that
    /// thread exists.
    pub(crate) fn is_in_no_preempt(&self) -> bool {
        self.thread.is_in_no_preempt()
    }

    /// In a forked child: gives its thread, the calling one, its number in this process. Nobody asks it to stop.
    pub(crate) fn enter_child(&self, thread: u32) {
        self.thread.set_number(thread);
        self.poll.store(0, Ordering::Relaxed);
    }

    /// Its blocking regions.
    pub(crate) fn regions(&self) -> &Regions {
        self.thread.regions()
    }

    /// Its thread's mutators; the caller is that thread (contract 2 of `assign`).
    #[inline(always)]
    pub(crate) fn record(&self) -> &ThreadRecord<Mutator> {
        self.thread.record()
    }

    /// The first field of its heap, by a pointer that may lead to all of the heap.
    #[inline(always)]
    pub(crate) fn heap_state(&self) -> NonNull<State> {
        self.heap
    }

    #[inline(always)]
    pub(crate) fn shared(&self) -> &State {
        // SAFETY: contract of `map`.
        unsafe { self.heap.as_ref() }
    }

    /// The system's number of its thread.
    pub fn thread(&self) -> u32 {
        self.thread.number()
    }

    /// The frames of its thread's shadow stack.
    #[inline(always)]
    pub fn frames(&self) -> &Frames {
        &self.frames
    }

    /// Has `f` called, on this thread, when the mutator is taken from it: it detaches, or it ends, by which destructor of a
    /// thread-local value first nobody knows. A client forgets the mutator's address there. `f` uses no heap.
    pub fn at_leave(&self, f: fn()) {
        self.farewell.set(Some(f));
    }

    /// In verify mode: notes where an object was made, for reports.
    #[cold]
    pub fn note_site(&self, object: NonNull<u8>, site: Site) {
        // No signal of another heap may stop a thread that holds the lock of the table.
        let _no_preempt = self.record().no_preempt();
        if let Some(quarantine) = self.shared().quarantine() {
            quarantine.sites().note(self.shared().space(), object.addr().get(), site);
        }
    }

    /// Words for the client that attached the thread; the library does not read them.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The first of these words, for clients that need only one.
    #[inline(always)]
    pub fn client_word(&self) -> &Cell<usize> {
        // SAFETY: a cell of the mutator's own thread, to which the mutator is confined.
        unsafe { &*self.client.get().cast::<Cell<usize>>() }
    }

    /// Adds what this thread has allocated to the heap's statistics, which it tells of at refills: up to a share of the heap is
    /// missing there before. Spans of small objects count as a whole. It takes a lock of all mutators.
    pub fn settle(&self) {
        if self.check().is_ok() {
            let _no_preempt = self.record().no_preempt();
            self.owned().settle();
        }
    }

    /// The object that `addr` points to or into, whichever thread has made it: as
    /// [`HeapObjects::find`](crate::HeapObjects::find), and mostly without a lock.
    pub fn find(&self, addr: usize) -> Option<Object> {
        self.find_info(addr).map(|info| Object { base: info.base, bytes: info.bytes })
    }

    /// The same with what the heap knows of the object.
    pub fn find_info(&self, addr: usize) -> Option<ObjectInfo> {
        publication::observe();
        match self.check() {
            Ok(()) => {
                let _no_preempt = self.record().no_preempt();
                self.owned().find_info(Address::new(addr))
            }
            // This thread may not read the mutator's buffers now.
            Err(_) => self.heap().objects().find_info(addr),
        }
    }

    /// The object that `addr` points to or into; a value in an arena resolves to its chunk.
    fn find_known(&self, addr: usize) -> Option<Object> {
        self.find(addr).or_else(|| self.shared().space().find(Address::new(addr)))
    }

    /// The right to its allocation buffers: the holder of a reference to a mutator is its thread, or has stopped it.
    #[inline(always)]
    pub(crate) fn owned(&self) -> Owner<'_> {
        // SAFETY: the array is part of this mutator and has the right length, and so has `cache`; both have been used
        // with this heap only. A mutator is neither Send nor Sync, and a collector uses only stopped ones.
        unsafe {
            self.shared().space().owner(NonNull::new_unchecked(self.buffers.as_ptr().cast_mut()), &self.cache)
        }
    }

    /// The allocation buffer of this thread for `shape`.
    #[inline(always)]
    pub fn buffer(&self, shape: ShapeId) -> &AllocBuffer {
        // SAFETY: shape numbers are below MAX_SHAPES (their invariant).
        unsafe { self.buffers.get_unchecked(shape.index()) }
    }

    /// The roots of the stopped mutator; its stack only if `stack` says so.
    pub(crate) fn roots(&self, stack: bool) -> ThreadRoots<'_> {
        ThreadRoots {
            frames: &self.frames,
            stack: stack.then_some(self.thread.stack()),
            arenas: self.owned(),
            cells: self.keeps_runs().then(|| self.owned().keeping_runs(true)),
        }
    }

    /// Whether the calling thread may use the heap through this mutator now.
    ///
    /// # Errors
    /// The mutator is another thread's or was detached; or the thread is inside a blocking region, of this heap or
    /// another, during which a collector takes it for stopped; or it is inside a trace function or a hook, so in the middle
    /// of a collection of this heap or another.
    #[inline]
    pub fn check(&self) -> Result<(), Misuse> {
        let here = thread_pointer();
        if self.thread.owner() != here || !self.gate().is_running() {
            return Err(self.misuse());
        }
        if self.shared().marking_threads().is_marking(here) {
            return Err(Misuse::Tracing);
        }
        Ok(())
    }

    #[cold]
    fn misuse(&self) -> Misuse {
        match self.thread.owner() {
            0 => Misuse::Detached,
            owner if owner != thread_pointer() => {
                match self.shared().marking_threads().is_helping(thread_pointer()) {
                    // A trace function runs on a helper thread.
                    true => Misuse::Tracing,
                    false => Misuse::OtherThread,
                }
            }
            _ if self.record().is_in_hook() => Misuse::Hook,
            _ if self.gate().is_blocked() => Misuse::InNative,
            // A waiting thread runs only the library's code; a collecting one may call trace functions.
            _ => Misuse::Tracing,
        }
    }
}

impl Members<'_, Mutator> {
    /// The right to the allocation buffers of each: all have stopped.
    pub(crate) fn owners(&self) -> impl Iterator<Item = Owner<'_>> + Clone {
        self.iter().map(|m| m.owned().keeping_runs(m.keeps_runs()))
    }
}

impl Member for Mutator {
    fn gate(&self) -> Gate<'_> {
        self.thread.gate(&self.poll)
    }

    fn next(&self) -> &Cell<*const Mutator> {
        self.link.next()
    }

    fn join(&self) {
        if !self.shared().faults().fails(Fault::AttachedUnflagged) {
            self.barrier().begin_cycle();
        }
    }

    fn flush(&self) {
        self.stores.buffer().close();
        self.shades.hand_in(self.shared().marking_log());
        self.owned().flush();
    }

    fn interrupt(&self) {
        self.send_signal();
    }

    fn is_of(&self, thread: usize) -> bool {
        self.thread.owner() == thread
    }

    fn is_gone(&self) -> bool {
        self.thread.owner() == 0
    }

    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        self.link.for_each_mapping(f);
    }

    fn retire(&self) -> bool {
        self.arenas().leave_all();
        self.thread.disown();
        // In verify mode no mutator is used again, either.
        self.shared().verifies()
    }

    unsafe fn release(this: NonNull<Self>) {
        // SAFETY: `map` mapped it; by contract 1 nothing refers to it when it goes.
        drop(unsafe { this.as_ref() }.link.take_memory());
    }
}

impl ThreadRecord<Mutator> {
    /// Calls a function of the program in the middle of a collection, on the thread that collects, which is stopped in all its heaps.
    /// During the call it is refused in all of them, and inline allocation of this one takes the slow path, where it is refused, too.
    pub(crate) fn call_program(&self, state: &State, f: impl FnOnce()) {
        let mine =
            || self.iter().find(|mutator| core::ptr::eq(mutator.shared(), state)).map(|mine| mine.owned());
        mine().inspect(Owner::close_buffers);
        self.in_hook(f);
        mine().inspect(Owner::open_buffers);
    }
}
