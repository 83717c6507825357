//! A heap's space, the face of this crate to collectors and the interfaces above. It owns the layers below, each of
//! which owns the next: an allocator, in it a sweeper, in that a page heap. Invariant: this file only forwards.

use crate::address::{Address, ObjectRef};
use crate::alloc::alloc_buffer::AllocBuffer;
use crate::alloc::allocator::Allocator;
use crate::alloc::large::LargePages;
use crate::alloc::owner::Owner;
use crate::alloc::thread_cache::ThreadCache;
use crate::config::SpaceConfig;
use crate::cpu::Cpu;
use crate::error::SpaceError;
use crate::layout::shape_id::ShapeId;
use crate::layout::shapes::Shapes;
use crate::pages::page_heap::{Object, PageHeap};
use crate::reclaim::clock::{ReclaimClock, Sweeping};
use crate::reclaim::sweeper::Sweeper;
use crate::spans::page_table::PageEntry;
use crate::spans::span::Span;
use crate::spans::young_pages::age_in;
use crate::stopped::Stopped;
use crate::young_pages_view::YoungPagesView;
use core::ptr::NonNull;
use heapwood_os::{ForkLock, KernelRef, OsError, Reservation};
use heapwood_pages::PageIndex;

mod arenas;
mod layouts;
mod memory;
mod stats;

pub use arenas::Arenas;
pub use layouts::Layouts;
pub use memory::PageMemory;
pub use stats::SpaceStats;

/// The space of one heap.
pub struct Space {
    allocator: Allocator,
}

impl Space {
    /// Reserves and prepares a space. Nothing of the heap itself is committed yet.
    pub fn new(kernel: KernelRef, config: SpaceConfig) -> Result<Self, OsError> {
        Ok(Space { allocator: Allocator::new(kernel, &config)? })
    }

    /// Its layouts.
    #[inline(always)]
    pub fn layouts(&self) -> Layouts<'_> {
        Layouts(&self.allocator)
    }

    /// Its arenas.
    #[inline(always)]
    pub fn arenas(&self) -> Arenas<'_> {
        Arenas(&self.allocator)
    }

    /// Its pages, and the memory behind them.
    #[inline(always)]
    pub fn memory(&self) -> PageMemory<'_> {
        PageMemory(&self.allocator)
    }

    #[inline(always)]
    fn sweeper(&self) -> &Sweeper {
        self.allocator.sweeper()
    }

    #[inline(always)]
    fn heap(&self) -> &PageHeap {
        self.sweeper().heap()
    }

    #[inline(always)]
    fn shape_table(&self) -> &Shapes {
        self.allocator.shapes()
    }

    /// Proof that the space is stopped.
    ///
    /// # Safety
    /// 1. Until the token is dropped no mutator of this space runs: each is stopped or in native code, or is the
    ///    calling thread's and then allocates only marked objects.
    /// 2. There is no other such token of this space.
    pub unsafe fn stopped(&self) -> Stopped<'_> {
        // SAFETY: contracts 1 and 2.
        unsafe { Stopped::new(self.sweeper(), self.shape_table()) }
    }

    /// The right to use a mutator's allocation buffers.
    ///
    /// # Safety
    /// 1. `buffers` points to [`MAX_SHAPES`](crate::MAX_SHAPES) of them, zeroed when new, that live as long as `cache`.
    /// 2. Both are of one mutator, and this is the space that they have always been used with.
    /// 3. As long as the token is used the calling thread is the mutator's, or the mutator is stopped.
    #[inline(always)]
    pub unsafe fn owner<'m>(&'m self, buffers: NonNull<AllocBuffer>, cache: &'m ThreadCache) -> Owner<'m> {
        // SAFETY: contracts 1, 2 and 3.
        unsafe { Owner::new(&self.allocator, buffers, cache) }
    }

    /// The address that the reservation starts at.
    #[inline(always)]
    pub fn base(&self) -> Address {
        Address::new(self.heap().spans().base())
    }

    /// Whether an address can be looked up: it lies between the base and the committed end.
    #[inline(always)]
    pub fn contains(&self, address: Address) -> bool {
        self.heap().spans().contains(address)
    }

    /// The committed end: the bytes from the base on that can be looked up.
    #[inline(always)]
    pub fn extent(&self) -> usize {
        self.heap().spans().extent()
    }

    /// The size of the reservation in bytes.
    pub fn window_bytes(&self) -> usize {
        self.heap().window_bytes()
    }

    /// The bytes of it that the heap may take up.
    pub fn most_bytes(&self) -> usize {
        self.heap().most_bytes()
    }

    /// Moves the address space of objects to the returned reservation, so that it outlives the space.
    ///
    /// # Safety
    /// 1. The returned reservation is not dropped before this space.
    pub unsafe fn give_addresses_away(&self) -> Reservation {
        // SAFETY: contract 1.
        unsafe { self.heap().memory().give_away() }
    }

    /// The object that `address` points to or into, if it exists. Exact when all mutators are stopped and flushed;
    /// otherwise objects in the span that a mutator allocates from may be missing.
    #[inline]
    pub fn find(&self, address: Address) -> Option<Object> {
        self.heap().find(address)
    }

    /// Whether the program has freed objects itself.
    pub fn has_explicit_frees(&self) -> bool {
        self.heap().freed().were_noted()
    }

    /// Whether the program has freed the object itself, and its memory has not been reused.
    pub fn is_freed(&self, object: ObjectRef) -> bool {
        self.contains(object.into()) && self.heap().freed().is_freed(object.get())
    }

    /// The span of `address`.
    #[inline]
    pub fn find_span(&self, address: Address) -> Option<&Span> {
        self.heap().spans().find(address)
    }

    /// The span whose first page is `page`.
    ///
    /// # Panics
    /// The page lies outside the heap.
    pub fn span(&self, page: PageIndex) -> &Span {
        self.heap().spans().get(page)
    }

    /// Whether an object is old: a collection has found or marked it. Objects made since the last collection are not,
    /// except in cells that the program had freed.
    #[inline(always)]
    pub fn is_old(&self, address: Address) -> bool {
        self.contains(address) && self.heap().marks().is_allocated(address.get())
    }

    /// The same, where the address may be a value of an arena. These have no bits of their own, so each may be old.
    pub fn may_be_old(&self, address: Address) -> bool {
        self.is_old(address) || self.arenas().find(address).is_some()
    }

    /// The old object that a word points to or into. Exact while mutators run.
    #[inline]
    pub fn find_old(&self, word: Address) -> Option<ObjectRef> {
        let base = self.heap().spans().find(word)?.cell_in(word)?;
        let object = ObjectRef::new(base.get());
        (base <= word && self.is_old(base) && !self.is_freed(object)).then_some(object)
    }

    /// Marks an object for the full marking under way, if that visits it: an old object that the program has not freed.
    /// Whether it was unmarked. Several threads may do this at once.
    ///
    /// # Safety
    /// 1. A full marking is under way.
    #[inline]
    pub unsafe fn shade(&self, object: Address) -> bool {
        let is_here = self.is_old(object) && !self.is_freed(ObjectRef::new(object.get()));
        // SAFETY: an old object is a cell of a span (contract 1).
        is_here && unsafe { self.heap().marks().set_marked(object.get()) }
    }

    /// The page entry of an address of the heap.
    ///
    /// # Panics
    /// It lies outside the heap.
    #[inline]
    pub fn entry_at(&self, address: Address) -> PageEntry {
        let spans = self.heap().spans();
        spans.entry(spans.page_of(address.get()))
    }

    /// Whether shapes with trace functions exist. Only these functions know what the words of their objects mean.
    #[inline(always)]
    pub fn has_trace_functions(&self) -> bool {
        self.allocator.has_trace_functions()
    }

    /// The view that a write barrier queries at each store, for this cycle.
    pub fn ages(&self) -> YoungPagesView {
        let (spans, marks) = (self.heap().spans(), self.heap().marks());
        YoungPagesView {
            base: spans.base(),
            ages: spans.ages().as_ptr(),
            allocated: marks.allocation_words(),
            young: age_in(marks.cycle()),
        }
    }

    /// The processor that loops over the bits are compiled for.
    #[inline(always)]
    pub fn cpu(&self) -> Cpu {
        self.heap().marks().cpu()
    }

    /// The current sweep cycle.
    pub fn cycle(&self) -> u32 {
        self.heap().marks().cycle()
    }

    /// The entry of the first page, for a marking loop to index by the pages of objects.
    #[inline(always)]
    pub fn page_entries(&self) -> *const PageEntry {
        self.heap().spans().entries()
    }

    /// The first shape, for a marking loop to index by the numbers that page entries hold.
    #[inline(always)]
    pub fn shapes(&self) -> *const Shape {
        self.shape_table().as_ptr()
    }

    /// The shape with a number.
    ///
    /// # Panics
    /// This space did not give out the number.
    #[inline]
    pub fn shape(&self, id: ShapeId) -> &Shape {
        self.shape_table().get(id)
    }

    /// The shape numbers in use, 0 included.
    pub fn shape_count(&self) -> u32 {
        self.shape_table().count()
    }

    /// Registers the shape of objects of `bytes` bytes that are scanned as `scan` says.
    ///
    /// # Errors
    /// All shape numbers are in use, the program cannot be registered, or the kernel gives no memory.
    ///
    /// # Panics
    /// With another space's program.
    pub fn shape_for(&self, bytes: usize, scan: Scan) -> Result<ShapeId, ShapeError> {
        self.allocator.shape_for(bytes, scan)
    }

    /// Registers a program for [`Scan::Program`].
    ///
    /// # Errors
    /// It needs too many loops and is too large to be unrolled, there are too many programs, or the kernel gives no
    /// memory. Nothing is registered then.
    pub fn register_program(&self, program: Program<'_>) -> Result<ProgramId, RegisterProgramError> {
        self.shape_table().register_program(program)
    }

    /// A program that was registered.
    ///
    /// # Panics
    /// With another space.
    pub fn program(&self, id: ProgramId) -> Program<'_> {
        self.shape_table().programs().program(id)
    }

    /// The nest of a program.
    ///
    /// # Panics
    /// With another space.
    pub fn nest(&self, id: ProgramId) -> Nest<'_> {
        self.shape_table().programs().nest(id)
    }

    /// The nest of the program of a shape, `None` if it has none.
    ///
    /// # Safety
    /// 1. The shape is this space's.
    #[inline]
    pub unsafe fn nest_of(&self, shape: &Shape) -> Option<Nest<'_>> {
        // SAFETY: contract 1.
        unsafe { self.shape_table().nest_of(shape) }
    }

    /// The records of objects in shared spans.
    #[inline(always)]
    pub fn pointer_bits(&self) -> &PointerBits {
        self.heap().pointer_bits()
    }

    /// The entry to scan an object of a numbered span by: that of a span of its own shape.
    ///
    /// # Safety
    /// 1. The object exists, and lies in such a span of this space.
    #[inline]
    pub unsafe fn numbered_entry(&self, object: ObjectRef) -> PageEntry {
        // SAFETY: contract 1.
        let id = unsafe { self.pointer_bits().shape(object) };
        // SAFETY: the number was written when the object was made, and was this space's.
        PageEntry::new(unsafe { self.shape_table().get_unchecked(id) }.kind(), id, 0)
    }

    /// Writes only the layout of a shape for a cell of a shared span, to be measured.
    ///
    /// # Safety
    /// 1. The cell is of the shape's size class, in a span of the shape that objects of the shape share.
    /// 2. This thread owns the span, and no marking is under way.
    /// 3. The shape is this space's.
    #[inline]
    pub unsafe fn write_only_layout(&self, id: ShapeId, cell: ObjectRef) {
        // SAFETY: contracts 1, 2 and 3.
        unsafe { per_object::write(self.shape_table(), self.pointer_bits(), id, cell.get()) };
    }

    /// Takes pages for a large object as [`Owner::take_large`] does, without a mutator.
    ///
    /// # Errors
    /// A collection is due, or there is no memory.
    ///
    /// # Panics
    /// The shape is another space's, or has a size class.
    pub fn take_large(&self, id: ShapeId, bytes: usize, zeroed: bool) -> Result<LargePages<'_>, SpaceError> {
        LargePages::take(self.sweeper(), (id, self.layouts().shape(id)), bytes, zeroed)
    }

    /// Sweeps all unswept spans, and waits for other sweepers; does nothing while the space is stopped.
    pub fn finish_sweep(&self) {
        self.sweeper().finish();
    }

    /// Sweeps some spans for all, as `who` does; false if there are none, or the space is stopped.
    pub fn sweep_some(&self, who: Sweeping) -> bool {
        self.sweeper().sweep_some(who)
    }

    /// Releases the memory of one run of free pages, up to 2 MiB. Returns the bytes that may have been resident, and
    /// whether the kernel took them; `None` if there is nothing that `effort` would release.
    pub fn release_some(&self, effort: Effort) -> Option<(usize, bool)> {
        self.heap().release_some(effort)
    }

    /// The arena at an address, or the one that was there.
    pub fn find_arena(&self, address: Address) -> Option<ArenaPlace> {
        self.heap().find_arena(address)
    }

    /// The arena chunk at an address of the heap, in use or not, for a marker.
    #[inline]
    pub fn find_arena_chunk(&self, address: Address) -> Option<MarkedArenaChunk<'_>> {
        self.heap()
            .find_arena_chunk(address)
            .map(|chunk| MarkedArenaChunk::new(chunk, self.sweeper().dangling_marks()))
    }

    /// The object that stands for an address in a marking: a value of an arena by its chunk, any other object by
    /// itself. `None` where an arena was that is gone.
    #[inline]
    pub fn known_by(&self, address: Address) -> Option<Address> {
        match self.find_arena_chunk(address) {
            None => Some(address),
            Some(chunk) => chunk.is_in_use().then(|| Address::new(chunk.start())),
        }
    }

    /// Whether an arena was ever closed or emptied with the promise that nothing refers to it.
    pub fn has_promises_of_arenas(&self) -> bool {
        self.sweeper().chunks().lock().were_promised()
    }

    /// The memory of arenas.
    pub fn arena_bytes(&self) -> ArenaBytes {
        self.sweeper().chunks().lock().bytes(self.heap().spans())
    }

    /// Bytes of pages that may be resident, without those of arenas.
    pub fn resident_outside_arenas(&self) -> usize {
        self.heap().resident_bytes().saturating_sub(self.sweeper().chunks().lock().all_bytes())
    }

    /// The number of arenas so far.
    pub fn arenas(&self) -> u64 {
        self.sweeper().chunks().lock().arenas()
    }

    /// Trims arenas after a full collection, once mutators run again: ends the quarantine of chunks that it met no
    /// pointer into, and returns pages of chunks that arenas have not needed; all free ones if pages are `wanted`.
    pub fn trim_arenas(&self, wanted: bool) {
        self.sweeper().release_chunks(wanted || self.heap().is_limited());
    }

    /// Releases memory that arenas have not needed since the last call; returns the bytes.
    ///
    /// With false it only begins to observe.
    pub fn release_idle_arenas(&self, releases: bool) -> usize {
        self.sweeper().release_idle_pieces(releases)
    }

    /// Whether there is memory that no arena needs now.
    pub fn has_free_arenas(&self) -> bool {
        self.sweeper().has_free_pieces()
    }

    /// Calls `f` with each lock of the space, in lock order, for a fork to take them all.
    pub fn fork_locks(&self, f: &mut dyn FnMut(&dyn ForkLock)) {
        self.shape_table().for_each_lock(f);
        f(self.sweeper().fork_lock());
        f(self.sweeper().chunks());
        f(self.heap().pages().fork_lock());
    }

    /// Lets threads sweep again in a forked child, where a thread that had stopped the space no longer exists.
    pub fn go_on_after_fork(&self) {
        self.sweeper().resume();
    }

    /// Clears the marks of an abandoned marking.
    ///
    /// # Safety
    /// 1. No marking is under way, and no thread sweeps.
    pub unsafe fn forget_marks(&self) {
        let (marks, base) = (self.heap().marks(), self.base().get());
        // SAFETY: contract 1; the marks below the committed end are committed.
        unsafe { marks.clear_marks(base, base + self.extent()) };
    }

    /// Sets the bytes that may be allocated before the next collection is due.
    pub fn set_budget(&self, bytes: usize) {
        self.sweeper().lock().set_budget(bytes);
    }

    /// Sets the size in bytes at which the heap is first collected. Mutators get their shares by it.
    pub fn set_goal(&self, bytes: usize) {
        self.sweeper().lock().set_goal(bytes);
    }

    /// Makes no further collection due in this cycle, whatever is allocated; does nothing if another cycle has begun.
    pub fn put_off_collection(&self, cycle: u32) {
        let mut central = self.sweeper().lock();
        if self.cycle() == cycle {
            central.set_budget(usize::MAX);
        }
    }

    /// Sets whether layouts without own spans keep to shared spans, however many objects they have. For tests, and to
    /// compare the two.
    pub fn set_always_shared(&self, on: bool) {
        self.allocator.set_always_shared(on);
    }

    /// The page allocator.
    ///
    /// # Safety
    /// 1. No page is freed or taken through it, and none is released that does not become free again.
    pub unsafe fn pages(&self) -> &SharedPages<Bits48> {
        self.heap().pages()
    }

    /// Pages in use, by spans and by the mutators' caches.
    pub fn pages_in_use(&self) -> PageCount {
        self.heap().pages().in_use()
    }

    /// The pages as they are now. Cached pages count as in use.
    pub fn snapshot(&self) -> Snapshot {
        self.heap().pages().snapshot()
    }

    /// The same for observers that may not allocate memory: calls `f` with the words of each chunk of the page
    /// allocator.
    pub fn for_each_chunk(&self, f: impl FnMut(ChunkIndex, &[u64], &[u64])) {
        self.heap().pages().for_each_chunk(f);
    }

    /// Bytes of pages that may be resident, in use or not, without released memory of arenas.
    pub fn resident_bytes(&self) -> usize {
        let without_memory = self.sweeper().chunks().lock().bytes_without_memory();
        self.heap().resident_bytes().saturating_sub(without_memory)
    }

    /// The times of sweeping and page recovery. Reading them takes no lock.
    pub fn reclaim_clock(&self) -> &ReclaimClock {
        self.sweeper().clock()
    }

    /// The current statistics of the space.
    pub fn stats(&self) -> SpaceStats {
        SpaceStats::of(&self.allocator, self.extent())
    }
}

/// Bytes of a space by several measures, and the use of its locks.
#[derive(Clone, Copy, Debug, Default)]
pub struct SpaceStats {
    /// Allocated to mutators since the space was made.
    pub total_allocated: u64,
    /// Allocated for objects that share pages with others.
    pub small_allocated: u64,
    /// Allocated since the last marking.
    pub allocated_in_cycle: usize,
    /// In pages that spans own, or caches.
    pub in_use: usize,
    /// Committed for spans.
    pub grown: usize,
    /// In pages that may be resident.
    pub resident: usize,
    /// Spans that mutators allocated small objects from. This and all that follows is since the space was made.
    pub spans: u64,
    /// Acquisitions of the lock of the span lists.
    pub span_lock_acquisitions: u64,
    /// Those for large objects.
    pub large_lock_acquisitions: u64,
    /// Acquisitions of the page allocator's lock for large objects.
    pub large_page_lock_acquisitions: u64,
    /// Acquisitions of the page allocator's lock.
    pub page_lock_acquisitions: u64,
    /// Read-modify-writes on shared cache lines for small objects: two for each acquisition of either lock, without
    /// those for large objects.
    pub shared_rmws: u64,
    /// Runs that mutators needed, except those that follow in the same span.
    pub refills: u64,
    /// Spans that mutators took off the central lists.
    pub spans_taken: u64,
    /// Spans that they put there.
    pub spans_returned: u64,
    /// Spans swept by allocating threads.
    pub swept_by_allocation: u64,
    /// Spans swept by the background thread.
    pub swept_by_background: u64,
    /// Spans swept by collecting threads.
    pub swept_by_collector: u64,
    /// The longest time that the lock of the span lists was held, in ticks ([`heapwood_os::timed_lock`]).
    pub hold_spans: u64,
    /// The total time that it was held, in ticks.
    pub held_spans: u64,
    /// The longest time that the page allocator's lock was held.
    pub hold_pages: u64,
    /// The longest time that the lock for registering shapes was held.
    pub hold_types: u64,
}
