//! A thread's part in a heap: where it allocates (its thread-local allocation buffers, one for each shape), its poll flag,
//! its frames, its stack.
//!
//! | file | what it holds |
//! |---|---|
//! | `mod` | the mutator: the frozen prefix, the allocation buffers, what every use of it checks first |
//! | `stop` | the handshake that stops it, word by word |
//! | `thread_record` | a thread's mutators, which stop and go on together |
//! | `section` | what is not one store, in which no signal stops a thread |
//! | `interrupt` | stops by signal |
//! | `safepoint` | where it stops, and regions during which it counts as stopped |
//! | `switch` | it goes to another stack |
//! | `barrier` | its stores of pointers into objects |
//! | `store_buffer` | those of them that the next young collection must know |
//! | `recent` | the shapes it looked up before |
//! | `region` | how long it has been in a blocking region |
//! | `registry` | all mutators of a heap, and stopping them |
//! | `model` | loom's models of stopping: `stop`, `thread_record` and `registry` |
//!
//! Invariants: the first 64 bytes and the allocation buffers behind them are what inline code outside this library reads: frozen. A
//! mutator belongs to the thread that attached it; the collector touches its private part only while it is stopped. What
//! here needs the collector, to attach and to allocate, is in `attach.rs` and `allocate.rs`, above it.

pub(crate) mod barrier;
pub(crate) mod interrupt;
#[cfg(all(test, loom))]
mod model;
pub(crate) mod no_preempt;
mod recent;
pub(crate) mod region;
pub(crate) mod registry;
mod safepoint;
mod stop;
mod store_buffer;
mod switch;
pub(crate) mod thread_record;

use crate::error::{AllocError, MisuseError};
use crate::inject::Fault;
use crate::roots::{Frame, Frames, ThreadRoots, ThreadStack};
use crate::state::State;
use crate::types::ObjectType;
use core::cell::{Cell, UnsafeCell};
use core::mem::offset_of;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use heapwood_heap::{
    Address, AllocBuffer, MAX_SHAPES, Object, Owner, Scan, ShapeId, SizeClass, ThreadCache, YoungPagesView,
    publication,
};
use heapwood_os::stack::{thread_id, thread_pointer};
use heapwood_os::sync::Futex;
use heapwood_os::{KernelRef, OsError, Reservation};
use recent::RecentShapes;
use region::Regions;
use registry::{Member, Members};
use stop::Gate;
pub(crate) use stop::ThreadState;
use store_buffer::StoreBuffer;
use thread_record::{Place, ThreadRecord};

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
    /// Whether this thread may touch the heap: see `stop`.
    state: Futex,
    thread: AtomicU32,
    /// The thread pointer of the thread it belongs to; 0 once that is detached.
    owner: AtomicUsize,
    /// The first field of its heap, by a pointer that may lead to all of that.
    heap: NonNull<State>,
    stack: ThreadStack,
    /// The next of its heap's mutators, or of those kept for reuse.
    next: Cell<*const Mutator>,
    /// Its thread's record, which lives as long as that.
    record: *const ThreadRecord<Mutator>,
    /// What that keeps here.
    place: Place<Mutator>,
    regions: Regions,
    stores: StoreBuffer,
    /// What its barrier asks, in this cycle.
    ages: Cell<YoungPagesView>,
    /// Values of masked types are written whole before they are committed.
    whole: Cell<bool>,
    recent: RecentShapes,
    memory: Cell<Option<Reservation>>,
    local: ThreadCache,
    client: Client,
}

/// Room for what the client that attached a thread keeps of it; zero when the thread is attached.
pub type Client = UnsafeCell<[usize; CLIENT_WORDS]>;

/// How many words that are.
const CLIENT_WORDS: usize = 40;

/// Offset of the poll flag.
pub const POLL_OFFSET: usize = offset_of!(Mutator, poll);
/// Offset of the barrier flag.
pub const BARRIER_OFFSET: usize = offset_of!(Mutator, barrier);
/// Offset of the frame list.
pub const FRAMES_OFFSET: usize = offset_of!(Mutator, frames);
/// Offset of the first allocation buffer.
pub const BUMPS_OFFSET: usize = offset_of!(Mutator, buffers);

#[cfg(not(loom))]
const _: () = assert!(POLL_OFFSET == 0 && BARRIER_OFFSET == 4 && FRAMES_OFFSET == 8 && BUMPS_OFFSET == 64);

impl Mutator {
    /// A mutator in memory of its own, no thread's yet. Writing it as a whole would touch every allocation buffer's page.
    ///
    /// # Safety
    /// 1. `heap` points to the first field of a heap that exists as long as the mutator is used.
    pub(crate) unsafe fn map(kernel: KernelRef, heap: NonNull<State>) -> Result<NonNull<Mutator>, OsError> {
        let memory = Reservation::new(kernel, size_of::<Mutator>(), align_of::<Mutator>())?;
        memory.commit(0..size_of::<Mutator>())?;
        let place = memory.start() as *mut Mutator;
        // SAFETY: the memory is committed, aligned and ours alone.
        unsafe {
            (&raw mut (*place).heap).write(heap);
            (&raw mut (*place).recent).write(RecentShapes::new());
            (&raw mut (*place).memory).write(Cell::new(Some(memory)));
            Ok(NonNull::new_unchecked(place))
        }
    }

    /// Makes a mutator the calling thread's, whose record is given. What is not written is zero in a new one, or in one that
    /// was used as its flush has left it: no allocation buffer has a run or a span.
    ///
    /// # Safety
    /// 1. It is in no list, and no thread uses it.
    /// 2. The record is used by this thread alone, and lives as long as that.
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
            (&raw mut (*place).state).write(Futex::new(0));
            (&raw mut (*place).thread).write(AtomicU32::new(thread_id()));
            (&raw mut (*place).owner).write(AtomicUsize::new(thread_pointer()));
            (&raw mut (*place).stack).write(stack);
            (&raw mut (*place).record).write(record);
            (&raw mut (*place).place).write(Place::new());
            (&raw mut (*place).regions).write(Regions::new());
            (&raw mut (*place).stores).write(StoreBuffer::new());
            (&raw mut (*place).ages).write(Cell::new((*place).heap.as_ref().space().ages()));
            (&raw mut (*place).whole).write(Cell::new(false));
            (&raw mut (*place).client).write_bytes(0, 1);
        }
    }

    /// Its thread's no more: nothing of the stack is needed, so it does not matter which one this runs on, and a collector
    /// sees a mutator that is as good as stopped.
    pub(crate) fn give_up(&self) {
        self.stack.clear(self.owner.load(Ordering::Relaxed));
        self.frames.clear();
        self.record().quit(self);
        // The thread that waits for it to leave, or for memory that it had cached to be free, looks again.
        self.shared().wakeup().tell(|| true);
    }

    /// Whether it is the calling thread's.
    pub(crate) fn is_mine(&self) -> bool {
        self.is_of(thread_pointer())
    }

    /// Whether its thread is in a section, or was a moment ago. The registry's lock is held, so that thread is there.
    pub(crate) fn is_in_no_preempt(&self) -> bool {
        // SAFETY: the record lives as long as its thread, whose end waits for the lock; 0 is the owner of one that is gone. What is
        // read is atomic.
        self.owner.load(Ordering::Relaxed) != 0 && unsafe { &*self.record }.is_in_no_preempt()
    }

    /// Its thread is the one of this forked process, whose number is another there. Nobody asks it to stop.
    pub(crate) fn is_this_process(&self, thread: u32) {
        self.thread.store(thread, Ordering::Relaxed);
        self.poll.store(0, Ordering::Relaxed);
    }

    /// Its blocking regions.
    pub(crate) fn regions(&self) -> &Regions {
        &self.regions
    }

    /// Its thread's mutators.
    pub(crate) fn record(&self) -> &ThreadRecord<Mutator> {
        // SAFETY: contract 2 of `assign`: only this mutator's thread uses it, which this is.
        unsafe { &*self.record }
    }

    /// The first field of its heap, by a pointer that may lead to all of that.
    #[inline(always)]
    pub(crate) fn heap_state(&self) -> NonNull<State> {
        self.heap
    }

    #[inline(always)]
    pub(crate) fn shared(&self) -> &State {
        // SAFETY: contract of `map`.
        unsafe { self.heap.as_ref() }
    }

    /// From now on cells of types that a mask or a program describes come as they are, not zeroed; those of slices do not.
    ///
    /// # Safety
    /// 1. Every such cell is written in all words of its mask or program between [`Mutator::reserve`] and
    ///    [`AllocBuffer::commit`]; [`Mutator::allocate`] is not called for such types.
    /// 2. A slice of elements described by a program has a header.
    pub unsafe fn write_values_whole(&self) {
        self.whole.set(true);
    }

    /// Whether its thread has said so.
    pub(crate) fn writes_values_whole(&self) -> bool {
        self.whole.get()
    }

    /// The system's number of the thread it belongs to.
    pub fn thread(&self) -> u32 {
        self.thread.load(Ordering::Relaxed)
    }

    /// Room for whoever attached the thread: nothing here reads it.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The first word of that, for those who need no more.
    #[inline(always)]
    pub fn client_word(&self) -> &Cell<usize> {
        // SAFETY: a cell of the mutator's own thread, to which the mutator is confined.
        unsafe { &*self.client.get().cast::<Cell<usize>>() }
    }

    /// The object that `addr` points to or into: as [`Heap::find`](crate::Heap::find), and exact for objects that this
    /// thread made.
    pub fn find(&self, addr: usize) -> Option<Object> {
        // A piece of an arena is an object to the collector alone.
        self.find_known(addr).filter(|_| self.shared().space().arenas().find(Address::new(addr)).is_none())
    }

    /// The same, where a value of an arena is known by its piece.
    fn find_known(&self, addr: usize) -> Option<Object> {
        publication::observe();
        match self.check() {
            Ok(()) => {
                let _no_preempt = self.record().no_preempt();
                self.owned().find(Address::new(addr))
            }
            // Its allocation buffers are not this thread's to read now.
            Err(_) => self.shared().space().find(Address::new(addr)),
        }
    }

    /// The right to its allocation buffers: who has a reference to a mutator is its thread, or has stopped it.
    #[inline(always)]
    pub(crate) fn owned(&self) -> Owner<'_> {
        // SAFETY: the array is part of this mutator and as long as it must be, and so is `local`; both have been used with
        // this heap only. A mutator is neither Send nor Sync, and a collector uses those that have stopped.
        unsafe {
            self.shared().space().owner(NonNull::new_unchecked(self.buffers.as_ptr().cast_mut()), &self.local)
        }
    }

    /// Where this thread allocates objects of `shape`.
    #[inline(always)]
    pub fn buffer(&self, shape: ShapeId) -> &AllocBuffer {
        // SAFETY: shape numbers are below MAX_SHAPES (their invariant).
        unsafe { self.buffers.get_unchecked(shape.index()) }
    }

    /// What it keeps alive while it is stopped, its stack only if that is scanned.
    pub(crate) fn roots(&self, stack: bool) -> ThreadRoots<'_> {
        let cells = self.keeps_runs() && !self.shared().faults().fails(Fault::CellUnscanned);
        ThreadRoots {
            frames: &self.frames,
            stack: stack.then_some(&self.stack),
            arenas: self.owned(),
            cells: cells.then(|| self.owned().keeping_runs(true)),
        }
    }

    /// Whether the calling thread may use the heap through this mutator now.
    ///
    /// # Errors
    /// It is another thread's or was detached; the thread is inside a blocking region, of this heap or another, during which
    /// a collector takes it for stopped; or it is inside a trace function, that is, in the middle of a collection of this
    /// heap or another.
    #[inline]
    pub fn check(&self) -> Result<(), MisuseError> {
        let here = thread_pointer();
        if self.owner.load(Ordering::Relaxed) != here || !self.gate().is_running() {
            return Err(self.misuse());
        }
        if self.shared().marking_threads().is_marking(here) {
            return Err(MisuseError::Tracing);
        }
        Ok(())
    }

    #[cold]
    fn misuse(&self) -> MisuseError {
        match self.owner.load(Ordering::Relaxed) {
            0 => MisuseError::Detached,
            owner if owner != thread_pointer() => {
                match self.shared().marking_threads().is_helping(thread_pointer()) {
                    // A trace function runs on a thread of the library's.
                    true => MisuseError::Tracing,
                    false => MisuseError::OtherThread,
                }
            }
            _ if self.gate().is_blocked() => MisuseError::InNative,
            // A thread that waits runs no code but the library's; one that collects may call trace functions.
            _ => MisuseError::Tracing,
        }
    }

    /// Links a frame of the shadow stack.
    ///
    /// # Safety
    /// 1. The frame and its slots stay readable, and the slots hold null or objects' addresses, until it is popped.
    /// 2. Frames are popped in the reverse order.
    #[inline]
    pub unsafe fn push_frame(&self, frame: NonNull<Frame>) {
        // SAFETY: contracts 1 and 2.
        unsafe { self.frames.push(frame) };
    }

    /// Unlinks the topmost frame.
    ///
    /// # Safety
    /// 1. There is one.
    #[inline]
    pub unsafe fn pop_frame(&self) {
        // SAFETY: contract 1.
        unsafe { self.frames.pop() };
    }

    /// The shape of objects of `bytes` bytes scanned as `scan` says, remembering recent answers.
    #[inline]
    pub fn shape_for(&self, bytes: usize, scan: Scan) -> Result<ShapeId, AllocError> {
        let class = SizeClass::of(bytes).map_or(u16::MAX, |c| c.index() as u16);
        self.recent.get(class, scan, || self.look_up_shape(bytes, scan))
    }

    /// The same of what a constant says, which is quicker.
    #[inline(always)]
    pub fn shape_for_constant(&self, bytes: usize, scan: &'static Scan) -> Result<ShapeId, AllocError> {
        let class = SizeClass::of(bytes).map_or(u16::MAX, |c| c.index() as u16);
        self.recent.get_constant(class, scan, || self.look_up_shape(bytes, *scan))
    }

    #[cold]
    fn look_up_shape(&self, bytes: usize, scan: Scan) -> Result<ShapeId, AllocError> {
        let _no_preempt = self.record().no_preempt();
        self.shared().space().layouts().shape_for(bytes, scan).map_err(AllocError::Layout)
    }

    /// The type of objects of `bytes` bytes (not 0) scanned so, by the same memory.
    ///
    /// # Errors
    /// The heap has no room for one layout more, or the mutator cannot be used now: the memory is its thread's.
    #[inline]
    pub fn type_for(&self, bytes: usize, scan: Scan) -> Result<ObjectType, AllocError> {
        self.check().map_err(AllocError::Misuse)?;
        Ok(ObjectType::new(bytes, self.shape_for(bytes, scan)?))
    }
}

impl Members<'_, Mutator> {
    /// The right to the allocation buffers of each: they have stopped.
    pub(crate) fn owners(&self) -> impl Iterator<Item = Owner<'_>> + Clone {
        self.iter().map(|m| m.owned().keeping_runs(m.keeps_runs()))
    }
}

impl Member for Mutator {
    fn gate(&self) -> Gate<'_> {
        Gate::new(&self.poll, &self.state)
    }

    fn next(&self) -> &Cell<*const Mutator> {
        &self.next
    }

    fn join(&self) {
        self.update_barrier();
    }

    fn flush(&self) {
        self.stores.close();
        self.owned().flush();
    }

    fn interrupt(&self) {
        self.send_signal();
    }

    fn is_of(&self, thread: usize) -> bool {
        self.owner.load(Ordering::Relaxed) == thread
    }

    fn is_gone(&self) -> bool {
        self.owner.load(Ordering::Relaxed) == 0
    }

    fn retire(&self) -> bool {
        self.leave_arenas();
        self.owner.store(0, Ordering::Relaxed);
        // In verify mode none is used again, either.
        self.shared().verifies()
    }

    unsafe fn release(this: NonNull<Self>) {
        // SAFETY: mapped by `map`; by contract 1 nothing refers to it when it goes.
        drop(unsafe { this.as_ref() }.memory.take());
    }
}
