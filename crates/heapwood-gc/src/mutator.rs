//! A thread's part in a heap: where it allocates, its poll flag, its frames, its stack.
//!
//! The first 64 bytes and the bumps behind them are what inline code outside this library reads: frozen. A mutator
//! belongs to the thread that attached it; the collector touches its private part only while it is stopped.

use crate::attach::AttachedStack;
use crate::error::{AllocError, Misuse};
use crate::heap::Heap;
use crate::stop::Gate;
use crate::types::ObjectType;
use core::cell::{Cell, UnsafeCell};
use core::mem::offset_of;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use heapwood_heap::{
    Address, Bump, MAX_SHAPES, Owner, Scan, ScanKind, ShapeId, SizeClass, SpaceError, ThreadCache,
};
use heapwood_os::Reservation;
use heapwood_os::stack::{self, thread_pointer};
use heapwood_os::sync::Futex;

/// A frame of the shadow stack: `count` slots that hold null or the address of an object. Clients link frames
/// through [`Mutator::push_frame`] or inline.
#[repr(C)]
#[derive(Debug)]
pub struct Frame {
    /// The frame below.
    pub prev: *mut Frame,
    /// How many slots.
    pub count: usize,
    /// The slots.
    pub slots: *mut usize,
}

/// A thread's part in a heap.
#[repr(C)]
pub struct Mutator {
    /// Not 0 while a collector wants this thread stopped.
    pub(crate) poll: Futex,
    /// Not 0 while stores of pointers must take the slow path.
    pub(crate) barrier: AtomicU32,
    /// The topmost frame of the shadow stack.
    pub(crate) frames: Cell<*mut Frame>,
    reserved: [usize; 6],
    bumps: [Bump; MAX_SHAPES],
    // Private from here on.
    pub(crate) state: Futex,
    pub(crate) thread: u32,
    /// The thread pointer of the thread it belongs to; 0 once that is detached.
    pub(crate) owner: AtomicUsize,
    pub(crate) heap: NonNull<Heap>,
    /// While stopped: the lowest word of the stack in use.
    pub(crate) stack_lowest: Cell<usize>,
    pub(crate) stack: AttachedStack,
    /// The next of its heap's mutators, or of those kept for reuse.
    pub(crate) next: Cell<*const Mutator>,
    /// The next of its thread's mutators.
    pub(crate) next_of_thread: Cell<*const Mutator>,
    /// Values of masked types are written whole before they are committed.
    pub(crate) whole: Cell<bool>,
    pub(crate) recent: [Cell<Recent>; RECENT],
    pub(crate) memory: Cell<Option<Reservation>>,
    pub(crate) local: ThreadCache,
    pub(crate) client: Client,
}

/// Room for what the client that attached a thread keeps of it; zero when the thread is attached.
pub type Client = UnsafeCell<[usize; CLIENT_WORDS]>;

/// How many words that are.
pub const CLIENT_WORDS: usize = 40;

/// A shape that was looked up before.
#[derive(Clone, Copy)]
pub(crate) struct Recent {
    scan: Option<Scan>,
    shape: ShapeId,
    class: u16,
}

pub(crate) const RECENT: usize = 64;

/// Zeroing so many bytes of a large object takes long enough for others not to wait for it.
const LONG_TO_ZERO: usize = 64 << 10;

/// How many collections an allocation waits for at most that finds no room, where other threads take what they free.
const MOST_COLLECTIONS: u32 = 8;

/// Offset of the poll flag.
pub const POLL_OFFSET: usize = offset_of!(Mutator, poll);
/// Offset of the barrier flag.
pub const BARRIER_OFFSET: usize = offset_of!(Mutator, barrier);
/// Offset of the frame list.
pub const FRAMES_OFFSET: usize = offset_of!(Mutator, frames);
/// Offset of the first bump.
pub const BUMPS_OFFSET: usize = offset_of!(Mutator, bumps);

#[cfg(not(loom))]
const _: () = assert!(POLL_OFFSET == 0 && BARRIER_OFFSET == 4 && FRAMES_OFFSET == 8 && BUMPS_OFFSET == 64);

impl Mutator {
    /// From now on cells of types that a mask or a program describes come as they are, not zeroed; those of slices do not.
    ///
    /// # Safety
    /// 1. Every such cell is written in all words of its mask or program between [`Mutator::reserve`] and
    ///    [`Bump::commit`]; [`Mutator::allocate`] is not called for such types.
    /// 2. A slice of elements described by a program has a header.
    pub unsafe fn write_values_whole(&self) {
        self.whole.set(true);
    }

    /// The heap it is attached to.
    #[inline(always)]
    pub fn heap(&self) -> &Heap {
        // SAFETY: the contract of attach and detach keeps the heap alive longer than its mutators.
        unsafe { self.heap.as_ref() }
    }

    /// The system's number of the thread it belongs to.
    pub fn thread(&self) -> u32 {
        self.thread
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

    /// The object that `addr` points to or into: as [`Heap::find`], and exact for objects that this thread made.
    pub fn find(&self, addr: usize) -> Option<heapwood_heap::Object> {
        self.owned().find(Address::new(addr))
    }

    /// The right to its bumps: who has a reference to a mutator is its thread, or has stopped it.
    #[inline(always)]
    pub(crate) fn owned(&self) -> Owner<'_> {
        // SAFETY: the array is part of this mutator and as long as it must be, and so is `local`; both have been used with
        // this heap only. A mutator is neither Send nor Sync, and a collector uses those that have stopped.
        unsafe {
            self.heap().space.owner(NonNull::new_unchecked(self.bumps.as_ptr().cast_mut()), &self.local)
        }
    }

    /// Where this thread allocates objects of `shape`.
    #[inline(always)]
    pub fn bump(&self, shape: ShapeId) -> &Bump {
        // SAFETY: shape numbers are below MAX_SHAPES (their invariant).
        unsafe { self.bumps.get_unchecked(shape.index()) }
    }

    pub(crate) fn gate(&self) -> Gate<'_> {
        Gate { poll: &self.poll, state: &self.state }
    }

    /// Stops here if a collector asks for it.
    #[inline(always)]
    pub fn safepoint(&self) {
        if self.poll.load(Ordering::Relaxed) != 0 {
            self.safepoint_slow();
        }
    }

    /// The slow half of [`Mutator::safepoint`]. A thread that cannot stop here goes on: one that runs on another stack than
    /// that it was attached with, or is inside a blocking region, or whose mutator this is not.
    #[cold]
    pub fn safepoint_slow(&self) {
        if self.check().is_ok() {
            let _ = self.with_stack(|| self.gate().park());
        }
    }

    /// Whether the calling thread may use the heap through this mutator now.
    ///
    /// # Errors
    /// It is another thread's or was detached; the thread is inside a blocking region, during which a collector takes
    /// it for stopped; or it is inside a trace function, that is, in the middle of a collection.
    #[inline]
    pub fn check(&self) -> Result<(), Misuse> {
        let here = thread_pointer();
        if self.owner.load(Ordering::Relaxed) != here || self.gate().is_blocked() {
            return Err(self.misuse());
        }
        if self.heap().marking.load(Ordering::Relaxed) == here {
            return Err(Misuse::Tracing);
        }
        Ok(())
    }

    #[cold]
    fn misuse(&self) -> Misuse {
        match self.owner.load(Ordering::Relaxed) {
            0 => Misuse::Detached,
            owner if owner != thread_pointer() => Misuse::OtherThread,
            _ => Misuse::Blocked,
        }
    }

    /// Runs `f`, during which collections go on without this thread. `f` must not touch objects of the heap.
    /// Regions may nest.
    ///
    /// # Errors
    /// The mutator cannot be used now, or the thread runs on another stack than that it was attached with. `f` was not
    /// called.
    pub fn blocking<R>(&self, f: impl FnOnce() -> R) -> Result<R, Misuse> {
        match self.check() {
            Err(Misuse::Blocked) => return Ok(f()),
            other => other?,
        }
        self.with_stack(|| {
            if self.heap().verify.is_some() {
                // So that inline allocation inside the region comes to where it is refused.
                self.owned().flush();
            }
            self.gate().block();
            // A panic must not leave the thread blocked for good.
            struct Unblock<'a>(Gate<'a>);
            impl Drop for Unblock<'_> {
                fn drop(&mut self) {
                    self.0.unblock();
                }
            }
            let _unblock = Unblock(self.gate());
            f()
        })
    }

    /// Runs `f` with the thread's registers on its stack and the stack's lowest word noted.
    ///
    /// # Errors
    /// That is not the stack the thread was attached with: its words are not known to be readable.
    pub(crate) fn with_stack<F: FnOnce() -> R, R>(&self, f: F) -> Result<R, Misuse> {
        struct Call<'a, F, R> {
            mutator: &'a Mutator,
            f: Option<F>,
            result: Result<R, Misuse>,
        }
        unsafe extern "C-unwind" fn run<F: FnOnce() -> R, R>(lowest: usize, arg: *mut u8) {
            // SAFETY: the argument is the Call below, which outlives this.
            let call = unsafe { &mut *arg.cast::<Call<'_, F, R>>() };
            if !call.mutator.stack.contains(lowest) {
                return;
            }
            call.mutator.stack_lowest.set(lowest);
            if let Some(f) = call.f.take() {
                call.result = Ok(f());
            }
        }
        let mut call = Call { mutator: self, f: Some(f), result: Err(Misuse::OtherStack) };
        // SAFETY: `run` with these types accepts a pointer to `call`.
        unsafe { stack::with_registers(run::<F, R>, (&raw mut call).cast()) };
        call.result
    }

    /// Links a frame of the shadow stack.
    ///
    /// # Safety
    /// 1. The frame and its slots stay readable, and the slots hold null or objects' addresses, until it is popped.
    /// 2. Frames are popped in the reverse order.
    #[inline]
    pub unsafe fn push_frame(&self, frame: NonNull<Frame>) {
        // SAFETY: contract 1.
        unsafe { (*frame.as_ptr()).prev = self.frames.get() };
        self.frames.set(frame.as_ptr());
    }

    /// Unlinks the topmost frame.
    ///
    /// # Safety
    /// 1. There is one.
    #[inline]
    pub unsafe fn pop_frame(&self) {
        // SAFETY: contract 1.
        self.frames.set(unsafe { (*self.frames.get()).prev });
    }

    /// The shape of objects of `bytes` bytes scanned as `scan` says, remembering recent answers.
    #[inline]
    pub fn shape_for(&self, bytes: usize, scan: Scan) -> Result<ShapeId, AllocError> {
        let class = SizeClass::of(bytes).map_or(u16::MAX, |c| c.index() as u16);
        let slot = &self.recent[(scan_hash(&scan) ^ class as usize) % RECENT];
        let recent = slot.get();
        if recent.class == class && recent.scan.is_some_and(|s| same_scan(&s, &scan)) {
            return Ok(recent.shape);
        }
        let shape = self.heap().space.shape_for(bytes, scan).map_err(AllocError::Layout)?;
        slot.set(Recent { scan: Some(scan), shape, class });
        Ok(shape)
    }

    /// A cell of `shape` that is not yet taken: write the object, then [`Bump::commit`]. May collect.
    #[inline(always)]
    pub fn reserve(&self, shape: ShapeId, cell: usize) -> Result<NonNull<u8>, AllocError> {
        match self.bump(shape).peek(cell) {
            Some(found) => Ok(found),
            None => self.reserve_slow(shape, cell),
        }
    }

    /// The slow half of [`Mutator::reserve`].
    #[cold]
    #[inline(never)]
    pub fn reserve_slow(&self, shape: ShapeId, cell: usize) -> Result<NonNull<u8>, AllocError> {
        let bump = self.bump(shape);
        // Nothing can be due where a span still has cells and nobody waits.
        let goes_on = self.poll.load(Ordering::Relaxed) == 0 && self.check().is_ok();
        if goes_on && self.owned().continue_run(shape, self.whole.get()) {
            return Ok(bump.peek(cell).expect("a run has a cell"));
        }
        self.retry(cell, |_| self.owned().refill(shape, self.whole.get()))?;
        Ok(bump.peek(cell).expect("a refilled bump has a cell"))
    }

    /// Allocates an object; its memory is zero where it may hold pointers. May collect.
    #[inline]
    pub fn allocate(&self, ty: ObjectType) -> Result<NonNull<u8>, AllocError> {
        match ty.cell_size() {
            Some(cell) => {
                let object = self.reserve(ty.shape, cell)?;
                // SAFETY: it was reserved just now, and is zero where it may hold pointers.
                unsafe { self.bump(ty.shape).commit(object, cell) };
                Ok(object)
            }
            None => self.allocate_large(ty.shape, ty.size, false),
        }
    }

    /// Allocates an object of zeros. May collect.
    pub fn allocate_zeroed(&self, ty: ObjectType) -> Result<NonNull<u8>, AllocError> {
        if ty.cell_size().is_none() {
            return self.allocate_large(ty.shape, ty.size, true);
        }
        let object = self.allocate(ty)?;
        if self.heap().space.shape(ty.shape).kind() == ScanKind::NoPointers {
            // SAFETY: the object is new, of this size, and known to this thread alone.
            unsafe { object.as_ptr().write_bytes(0, ty.size) };
        }
        Ok(object)
    }

    /// Allocates an object with pages of its own. May collect.
    #[cold]
    #[inline(never)]
    pub fn allocate_large(
        &self,
        shape: ShapeId,
        bytes: usize,
        zeroed: bool,
    ) -> Result<NonNull<u8>, AllocError> {
        let space = &self.heap().space;
        let large = self.retry(bytes, |_| space.take_large(shape, bytes, zeroed))?;
        if large.bytes_to_zero() < LONG_TO_ZERO {
            large.zero();
        } else if self.blocking(|| large.zero()).is_err() {
            // On a stack where it cannot be left out of collections it is waited for.
            large.zero();
        }
        Ok(large.finish())
    }

    /// Tries `attempt`, which asks for memory for an object of `bytes` bytes, collecting when that is due or may help.
    fn retry<R>(
        &self,
        bytes: usize,
        attempt: impl Fn(&Heap) -> Result<R, SpaceError>,
    ) -> Result<R, AllocError> {
        let heap = self.heap();
        self.check().map_err(AllocError::Misuse)?;
        self.safepoint();
        if heap.config.stress {
            self.collect().map_err(AllocError::Misuse)?;
        }
        let mut collections = 0;
        loop {
            let (seen, cycle) = (heap.cycles.load(Ordering::Acquire), heap.space.cycle());
            let refused = match attempt(heap) {
                Ok(result) => return Ok(result),
                Err(refused) => refused,
            };
            match refused {
                // Other threads may have used up a new budget meanwhile, so being due again is no failure. Near a limit
                // a collection may be put off: then what is left is used up first.
                SpaceError::CollectionDue if !heap.may_collect_near_limit() => {
                    heap.space.put_off_collection(cycle);
                    continue;
                }
                SpaceError::CollectionDue => {}
                // The same goes for what others have taken since; but what is in small pieces never fits.
                _ if collections > 0 && (collections == MOST_COLLECTIONS || !heap.was_used_up(seen))
                    || !heap.may_collect_near_limit() =>
                {
                    heap.share.refused();
                    return Err(self.give_up(bytes, refused, collections == 0));
                }
                _ => collections += 1,
            }
            self.collect_unless_since(seen).map_err(AllocError::Misuse)?;
        }
    }

    #[cold]
    fn give_up(&self, bytes: usize, refused: SpaceError, put_off: bool) -> AllocError {
        match refused {
            SpaceError::Limit { limit, .. } => {
                AllocError::Limit { bytes, limit, live: self.heap().live.load(Ordering::Relaxed), put_off }
            }
            SpaceError::Memory { most, .. } => {
                AllocError::Memory { bytes, most, live: self.heap().live.load(Ordering::Relaxed) }
            }
            SpaceError::Window(e) => AllocError::Window(e),
            SpaceError::Kernel(e) => AllocError::Kernel(e),
            SpaceError::CollectionDue => unreachable!("retry goes on while a collection is due"),
        }
    }
}

pub(crate) const fn empty_recent() -> Recent {
    Recent { scan: None, shape: ShapeId::no_pointers(None), class: 0 }
}

fn scan_hash(scan: &Scan) -> usize {
    let mix =
        |a: u64, b: usize| (a.wrapping_add(b as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as usize;
    match scan {
        Scan::Layout(heapwood_layout::Layout::Mask(mask)) => mix(mask.bits()[0], 1),
        Scan::Layout(heapwood_layout::Layout::Trace(f)) => mix(*f as usize as u64, 2),
        Scan::Layout(_) => 3,
        Scan::Slice { header, words, mask } => mix(mask[0], words * 4 + *header as usize),
        Scan::Unregistered { header, program } => mix(program.bytes().as_ptr() as u64, 5 + *header as usize),
        Scan::Program { header, program } => mix(program.index() as u64, 4 + *header as usize),
    }
}

fn same_scan(a: &Scan, b: &Scan) -> bool {
    match (a, b) {
        (Scan::Layout(a), Scan::Layout(b)) => a == b,
        (Scan::Slice { header: h, words: w, mask: m }, Scan::Slice { header, words, mask }) => {
            h == header && w == words && m == mask
        }
        // One constant may lie in several places; then it is looked up once for each.
        (Scan::Unregistered { header: h, program: p }, Scan::Unregistered { header, program }) => {
            h == header && core::ptr::eq(p.bytes(), program.bytes()) && p.words() == program.words()
        }
        (Scan::Program { header: h, program: p }, Scan::Program { header, program }) => {
            h == header && p == program
        }
        _ => false,
    }
}
