//! A heap's space: what a collector and the interfaces above it are given. It owns the floors of this crate, each of which
//! owns the next: an allocator, in it a sweeper, in that a page heap. Invariant: there is nothing here but this face.

use crate::address::{Address, ObjectRef};
use crate::ages_view::AgesView;
use crate::alloc::allocator::Allocator;
use crate::alloc::bump::Bump;
use crate::alloc::large::LargePages;
use crate::alloc::owner::Owner;
use crate::alloc::thread_cache::ThreadCache;
use crate::arenas::find::{ArenaPlace, MarkedPiece};
use crate::arenas::pieces::ArenaBytes;
use crate::config::SpaceConfig;
use crate::cpu::Cpu;
use crate::error::{RegisterProgramError, ShapeError, SpaceError};
use crate::layout::per_object;
use crate::layout::pointer_bits::PointerBits;
use crate::layout::program_id::ProgramId;
use crate::layout::shape::{Scan, Shape};
use crate::layout::shape_id::ShapeId;
use crate::layout::shapes::Shapes;
use crate::pages::page_heap::{Object, PageHeap};
use crate::reclaim::clock::{ReclaimClock, Sweeping};
use crate::reclaim::sweeper::Sweeper;
use crate::spans::page_ages::age_in;
use crate::spans::page_table::PageEntry;
use crate::spans::span::Span;
use crate::stopped::Stopped;
use core::ptr::NonNull;
use heapwood_layout::program::{Nest, Program};
use heapwood_os::{ForkLock, KernelRef, OsError, Reservation};
use heapwood_pages::{Bits48, Effort, PageCount, PageIndex, SharedPages};
use heapwood_pages::{ChunkIndex, Snapshot};

/// The space of one heap.
pub struct Space {
    allocator: Allocator,
}

impl Space {
    /// Reserves and prepares a space. Nothing of the heap itself is committed yet.
    pub fn new(kernel: KernelRef, config: SpaceConfig) -> Result<Self, OsError> {
        Ok(Space { allocator: Allocator::new(kernel, &config)? })
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

    /// Proof that the space stands still.
    ///
    /// # Safety
    /// 1. Until the token is dropped no mutator of this space runs: each is stopped or in a blocking region, or is the calling
    ///    thread's, and then allocates nothing but what is marked.
    /// 2. There is no other such token of this space.
    pub unsafe fn stopped(&self) -> Stopped<'_> {
        // SAFETY: contracts 1 and 2.
        unsafe { Stopped::new(self.sweeper(), self.shape_table()) }
    }

    /// The right to use a mutator's bumps.
    ///
    /// # Safety
    /// 1. `bumps` points to [`MAX_SHAPES`](crate::MAX_SHAPES) of them, zeroed when new, that live as long as `cache`.
    /// 2. Both are of one mutator, and this is the space that they have always been used with.
    /// 3. As long as the token is used the calling thread is the mutator's, or the mutator is stopped.
    #[inline(always)]
    pub unsafe fn owner<'m>(&'m self, bumps: NonNull<Bump>, cache: &'m ThreadCache) -> Owner<'m> {
        // SAFETY: contracts 1, 2 and 3.
        unsafe { Owner::new(&self.allocator, bumps, cache) }
    }

    /// The address the range starts at.
    #[inline(always)]
    pub fn base(&self) -> Address {
        Address::new(self.heap().spans().base())
    }

    /// Whether an address can be looked up: it lies between the base and the extent.
    #[inline(always)]
    pub fn contains(&self, address: Address) -> bool {
        self.heap().spans().contains(address)
    }

    /// How many bytes from the base on can be looked up.
    #[inline(always)]
    pub fn extent(&self) -> usize {
        self.heap().spans().extent()
    }

    /// The size of the reserved range in bytes.
    pub fn window_bytes(&self) -> usize {
        self.heap().window_bytes()
    }

    /// How many of them the heap may take up.
    pub fn most_bytes(&self) -> usize {
        self.heap().most_bytes()
    }

    /// Gives the address space of objects to what is returned, so that it outlives the space.
    ///
    /// # Safety
    /// 1. What is returned is not dropped before this.
    pub unsafe fn give_addresses_away(&self) -> Reservation {
        // SAFETY: contract 1.
        unsafe { self.heap().memory().give_away() }
    }

    /// The object that `address` points to or into, if it exists. Exact when all mutators are stopped and flushed; otherwise
    /// objects in the span that a mutator allocates from may be missing.
    #[inline]
    pub fn find(&self, address: Address) -> Option<Object> {
        self.heap().find(address)
    }

    /// Whether the program has freed objects itself.
    pub fn has_explicit_frees(&self) -> bool {
        self.heap().freed().were_noted()
    }

    /// Whether the program has freed the object at an address itself, and its memory is no other's yet.
    pub fn is_freed(&self, object: ObjectRef) -> bool {
        self.contains(object.into()) && self.heap().freed().is_freed(object.get())
    }

    /// The span that `address` lies in.
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

    /// Whether a collection has found an object at an address, or marked it: then it is old. Those made since the last are not,
    /// but for what was made in a cell that the program had freed.
    #[inline(always)]
    pub fn is_old(&self, address: Address) -> bool {
        self.contains(address) && self.heap().marks().is_allocated(address.get())
    }

    /// The same of what may be a value of an arena, of which nobody knows by a bit: then it may be old.
    pub fn may_be_old(&self, address: Address) -> bool {
        self.is_old(address) || self.find_arena(address).is_some()
    }

    /// The object whose address a word is or that it points into, if that is old: exact while mutators run.
    #[inline]
    pub fn find_old(&self, word: Address) -> Option<ObjectRef> {
        let base = self.heap().spans().find(word)?.cell_in(word)?;
        let object = ObjectRef::new(base.get());
        (base <= word && self.is_old(base) && !self.is_freed(object)).then_some(object)
    }

    /// Marks an object for the full marking that is under way, if it is one that this looks at: an old one that the program has
    /// not freed. Whether nobody had marked it. Several threads may.
    ///
    /// # Safety
    /// 1. A full marking is under way.
    #[inline]
    pub unsafe fn shade(&self, object: Address) -> bool {
        let is_here = self.is_old(object) && !self.is_freed(ObjectRef::new(object.get()));
        // SAFETY: what is old is a cell of a span (contract 1).
        is_here && unsafe { self.heap().marks().set_marked(object.get()) }
    }

    /// What lies in the page of an address of the heap.
    ///
    /// # Panics
    /// It lies outside the heap.
    #[inline]
    pub fn entry_at(&self, address: Address) -> PageEntry {
        let spans = self.heap().spans();
        spans.entry(spans.page_of(address.get()))
    }

    /// Whether there are shapes with trace functions, which alone know what the words of their objects mean.
    #[inline(always)]
    pub fn has_trace_functions(&self) -> bool {
        self.allocator.has_trace_functions()
    }

    /// What a write barrier asks at each store, in this cycle.
    pub fn ages(&self) -> AgesView {
        let (spans, marks) = (self.heap().spans(), self.heap().marks());
        AgesView {
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

    /// The cycle that spans are swept in now.
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

    /// How many numbers of shapes are in use, 0 included.
    pub fn shape_count(&self) -> u32 {
        self.shape_table().count()
    }

    /// The number of the shape for objects of `bytes` bytes scanned as `scan` says.
    ///
    /// # Errors
    /// As many as there are numbers for exist already, a program cannot be registered, or the kernel gives no memory.
    ///
    /// # Panics
    /// With another space's program.
    pub fn shape_for(&self, bytes: usize, scan: Scan) -> Result<ShapeId, ShapeError> {
        self.allocator.shape_for(bytes, scan)
    }

    /// The number of a program for [`Scan::Program`].
    ///
    /// # Errors
    /// It is no nest of few loops and too large to be unrolled, there are too many, or the kernel refuses memory. Nothing is
    /// registered then.
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

    /// Its loops.
    ///
    /// # Panics
    /// With another space.
    pub fn nest(&self, id: ProgramId) -> Nest<'_> {
        self.shape_table().programs().nest(id)
    }

    /// The loops of the program of a shape, `None` if it has none.
    ///
    /// # Safety
    /// 1. The shape is this space's.
    #[inline]
    pub unsafe fn nest_of(&self, shape: &Shape) -> Option<Nest<'_>> {
        // SAFETY: contract 1.
        unsafe { self.shape_table().nest_of(shape) }
    }

    /// Where the pointers are in objects of shared spans.
    #[inline(always)]
    pub fn pointer_bits(&self) -> &PointerBits {
        self.heap().pointer_bits()
    }

    /// How to scan an object in a span of a shape that is scanned by number: as if it lay in a span of its own shape.
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

    /// Says that a cell of a shared span holds an object of a shape: what is written for its layout, alone, to be measured.
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
        LargePages::take(self.sweeper(), (id, self.shape(id)), bytes, zeroed)
    }

    /// Sweeps whatever has not been swept since the last marking, and waits for others who do; nothing while the space stands
    /// still.
    pub fn finish_sweep(&self) {
        self.sweeper().finish();
    }

    /// Sweeps some spans for everyone, as `who` does; false if there are none, or the space stands still.
    pub fn sweep_some(&self, who: Sweeping) -> bool {
        self.sweeper().sweep_some(who)
    }

    /// Releases the memory of one run of free pages, up to 2 MiB; returns how many bytes may have been resident, and whether
    /// the kernel took them. `None` if there is nothing that `effort` would release.
    pub fn release_some(&self, effort: Effort) -> Option<(usize, bool)> {
        self.heap().release_some(effort)
    }

    /// The arena that an address lies in, or lay in.
    pub fn find_arena(&self, address: Address) -> Option<ArenaPlace> {
        self.heap().find_arena(address)
    }

    /// The piece of an arena that an address of the heap lies in, in use or not, for a marker to go on from.
    #[inline]
    pub fn find_piece(&self, address: Address) -> Option<MarkedPiece<'_>> {
        self.heap().find_piece(address).map(|piece| MarkedPiece::new(piece, self.sweeper().stray_marks()))
    }

    /// By which object what lies at an address is known to a marking: a value of an arena by its piece, all else by itself. `None`
    /// where an arena was that is no more.
    #[inline]
    pub fn known_by(&self, address: Address) -> Option<Address> {
        match self.find_piece(address) {
            None => Some(address),
            Some(piece) => piece.is_in_use().then(|| Address::new(piece.start())),
        }
    }

    /// Whether an arena was ever closed or emptied with the promise that nothing refers to it.
    pub fn has_promises_of_arenas(&self) -> bool {
        self.sweeper().pieces().lock().were_promised()
    }

    /// How much memory arenas have.
    pub fn arena_bytes(&self) -> ArenaBytes {
        self.sweeper().pieces().lock().bytes(self.heap().spans())
    }

    /// Bytes that a full collection which begins now may take from arenas: they have been given up since the last one began, or it
    /// left them to the next arenas. Looks at each piece that no arena has.
    pub fn reclaimable_arena_bytes(&self) -> usize {
        self.sweeper().reclaimable_piece_bytes()
    }

    /// After which full marking what rests was last settled.
    pub fn arenas_settled_in(&self) -> u32 {
        self.sweeper().pieces().lock().settled_in
    }

    /// Bytes of pages that may be resident, but for those that arenas have.
    pub fn resident_outside_arenas(&self) -> usize {
        self.heap().resident_bytes().saturating_sub(self.sweeper().pieces().lock().all_bytes())
    }

    /// How many arenas there have been.
    pub fn arenas(&self) -> u64 {
        self.sweeper().pieces().lock().arenas()
    }

    /// After a full collection, once mutators run again: addresses of arenas that it has met no pointer into rest no longer, and
    /// what arenas have not needed goes back; all that they do not need now if pages are `wanted`.
    pub fn settle_arenas(&self, wanted: bool) {
        self.sweeper().settle_pieces(wanted || self.heap().is_limited());
    }

    /// Gives memory back that arenas have not needed since the last call; returns how many bytes of it.
    ///
    /// With false it only begins to look.
    pub fn release_idle_arenas(&self, releases: bool) -> usize {
        self.sweeper().release_idle_pieces(releases)
    }

    /// Whether there is memory that no arena needs now.
    pub fn has_free_arenas(&self) -> bool {
        self.sweeper().has_free_pieces()
    }

    /// Calls `f` with each lock of the space, in the order in which a process that forks takes them, which is that of all who
    /// take several.
    pub fn fork_locks(&self, f: &mut dyn FnMut(&dyn ForkLock)) {
        self.shape_table().for_each_lock(f);
        f(self.sweeper().fork_lock());
        f(self.sweeper().pieces());
        f(self.heap().pages().fork_lock());
    }

    /// In a forked child: a thread that had stopped the space is no more, and nobody sweeps.
    pub fn go_on_after_fork(&self) {
        self.sweeper().resume();
    }

    /// A marking was given up: its marks are forgotten.
    ///
    /// # Safety
    /// 1. No marking is under way, and nobody sweeps.
    pub unsafe fn forget_marks(&self) {
        let (marks, base) = (self.heap().marks(), self.base().get());
        // SAFETY: contract 1; the marks of the extent are committed.
        unsafe { marks.clear_marks(base, base + self.extent()) };
    }

    /// Sets how many bytes may be handed out before the next collection is due.
    pub fn set_budget(&self, bytes: usize) {
        self.sweeper().lock().set_budget(bytes);
    }

    /// Sets the size in bytes at which the heap is collected first, by which mutators are given their shares of it.
    pub fn set_goal(&self, bytes: usize) {
        self.sweeper().lock().set_goal(bytes);
    }

    /// No collection is due in this cycle any more, whatever is handed out; if another has begun, this changes nothing.
    pub fn put_off_collection(&self, cycle: u32) {
        let mut central = self.sweeper().lock();
        if self.cycle() == cycle {
            central.set_budget(usize::MAX);
        }
    }

    /// From now on no layout gets spans of its own that has none, however many objects it has; or they do again. For
    /// tests, and to compare the two.
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

    /// How many pages are in use: by spans, and by what mutators have set aside.
    pub fn pages_in_use(&self) -> PageCount {
        self.heap().pages().in_use()
    }

    /// The pages as they are now. Those that mutators have set aside count as in use.
    pub fn snapshot(&self) -> Snapshot {
        self.heap().pages().snapshot()
    }

    /// The same for observers that may not allocate memory: calls `f` with the words of each chunk.
    pub fn for_each_chunk(&self, f: impl FnMut(ChunkIndex, &[u64], &[u64])) {
        self.heap().pages().for_each_chunk(f);
    }

    /// Bytes of pages that may be resident, in use or not. What arenas have given up and the kernel has is not.
    pub fn resident_bytes(&self) -> usize {
        let without_memory = self.sweeper().pieces().lock().bytes_without_memory();
        self.heap().resident_bytes().saturating_sub(without_memory)
    }

    /// What sweeping and page recovery took. Reading it takes no lock.
    pub fn reclaim_clock(&self) -> &ReclaimClock {
        self.sweeper().clock()
    }

    /// The figures of the space at this moment.
    pub fn stats(&self) -> SpaceStats {
        let central = self.sweeper().lock();
        let (counts, pages) = (central.counts(), self.heap().pages());
        let [swept_by_allocation, swept_by_background, swept_by_collector] =
            self.reclaim_clock().times().spans;
        let page_lock_acquisitions = pages.stats().lock_acquisitions;
        SpaceStats {
            total_allocated: counts.total,
            small_allocated: counts.total.saturating_sub(counts.large),
            allocated_in_cycle: counts.in_cycle,
            in_use: pages.in_use().bytes(),
            grown: self.extent(),
            resident: self.resident_bytes(),
            spans: counts.spans,
            span_lock_acquisitions: counts.lock_acquisitions,
            page_lock_acquisitions,
            large_lock_acquisitions: counts.large_acquisitions,
            large_page_lock_acquisitions: counts.large_page_locks,
            shared_rmws: 2
                * (counts.lock_acquisitions + page_lock_acquisitions)
                    .saturating_sub(counts.large_acquisitions + counts.large_page_locks),
            refills: counts.refills,
            spans_taken: counts.taken,
            spans_returned: counts.returned,
            swept_by_allocation,
            swept_by_background,
            swept_by_collector,
            hold_spans: self.sweeper().longest_hold(),
            held_spans: self.sweeper().total_hold(),
            hold_pages: pages.longest_hold(),
            hold_types: self.shape_table().longest_hold(),
        }
    }
}

/// Bytes of a space, in several senses, and how its locks are used.
#[derive(Clone, Copy, Debug, Default)]
pub struct SpaceStats {
    /// Handed out to mutators since the space was made.
    pub total_allocated: u64,
    /// Those of them for objects that share pages with others.
    pub small_allocated: u64,
    /// Handed out since the last marking.
    pub allocated_in_cycle: usize,
    /// In pages that spans own, or caches.
    pub in_use: usize,
    /// Committed for spans.
    pub grown: usize,
    /// In pages that may be resident.
    pub resident: usize,
    /// Spans that mutators allocated small objects from, since the space was made like all that follows.
    pub spans: u64,
    /// How often the lock of the span lists was taken.
    pub span_lock_acquisitions: u64,
    /// How often for large objects,
    pub large_lock_acquisitions: u64,
    /// and how often that of the page allocator for those.
    pub large_page_lock_acquisitions: u64,
    /// How often the lock of the page allocator was taken.
    pub page_lock_acquisitions: u64,
    /// Read-modify-writes on lines that others write, too, for small objects: two for each time that one of the two was taken,
    /// but for large objects.
    pub shared_rmws: u64,
    /// How often a mutator needed a run, but for the next of the same span.
    pub refills: u64,
    /// Spans that mutators took off the shared lists.
    pub spans_taken: u64,
    /// Spans that they put there.
    pub spans_returned: u64,
    /// Spans that threads swept that allocate.
    pub swept_by_allocation: u64,
    /// Spans that the background thread swept.
    pub swept_by_background: u64,
    /// Spans that threads swept that collect.
    pub swept_by_collector: u64,
    /// The longest that the lock of the span lists was held, in ticks ([`heapwood_os::timed_lock`]).
    pub hold_spans: u64,
    /// All the time that it was held, by whomever, in ticks.
    pub held_spans: u64,
    /// The same of the page allocator's lock.
    pub hold_pages: u64,
    /// The same of the lock for registering shapes.
    pub hold_types: u64,
}
