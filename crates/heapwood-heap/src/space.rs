//! A heap's space: what a collector and the interfaces above it are given. It owns the floors of this crate, each of which
//! owns the next: an allocator, in it a sweeper, in that a page heap. Invariant: there is nothing here but this face.
//!
//! | file | the part |
//! |---|---|
//! | `layouts` | shapes and programs |
//! | `arenas` | arenas |
//! | `memory` | pages, and the memory behind them |
//! | `stats` | the figures |

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
use crate::spans::young_pages::epoch_of;
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
    pub fn committed_end(&self) -> usize {
        self.heap().spans().committed_end()
    }

    /// The size of the reserved range in bytes.
    pub fn reservation_bytes(&self) -> usize {
        self.heap().reservation_bytes()
    }

    /// How many of them the heap may take up.
    pub fn most_bytes(&self) -> usize {
        self.heap().most_bytes()
    }

    /// Gives the address space of objects to what is returned, so that it outlives the space.
    ///
    /// # Safety
    /// 1. What is returned is not dropped before this.
    pub unsafe fn detach_reservation(&self) -> Reservation {
        // SAFETY: contract 1.
        unsafe { self.heap().memory().detach() }
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
        self.is_old(address) || self.arenas().find(address).is_some()
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

    /// What a write barrier asks at each store, in this cycle.
    pub fn young_pages(&self) -> YoungPagesView {
        let (spans, marks) = (self.heap().spans(), self.heap().marks());
        YoungPagesView {
            base: spans.base(),
            entries: spans.young_pages().as_ptr(),
            allocated: marks.allocation_words(),
            epoch: epoch_of(marks.cycle()),
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

    /// Sweeps whatever has not been swept since the last marking, and waits for others who do; nothing while the space stands
    /// still.
    pub fn finish_sweep(&self) {
        self.sweeper().finish();
    }

    /// Sweeps some spans for everyone, as `who` does; false if there are none, or the space stands still.
    pub fn sweep_some(&self, who: Sweeping) -> bool {
        self.sweeper().sweep_some(who)
    }

    /// Calls `f` with each lock of the space, in the order in which a process that forks takes them, which is that of all who
    /// take several.
    pub fn fork_locks(&self, f: &mut dyn FnMut(&dyn ForkLock)) {
        self.shape_table().for_each_lock(f);
        f(self.sweeper().fork_lock());
        f(self.sweeper().chunks());
        f(self.heap().pages().fork_lock());
    }

    /// In a forked child: a thread that had stopped the space is no more, and nobody sweeps.
    pub fn resume_after_fork(&self) {
        self.sweeper().resume();
    }

    /// A marking was given up: its marks are forgotten.
    ///
    /// # Safety
    /// 1. No marking is under way, and nobody sweeps.
    pub unsafe fn forget_marks(&self) {
        let (marks, base) = (self.heap().marks(), self.base().get());
        // SAFETY: contract 1; the marks of the extent are committed.
        unsafe { marks.clear_marks(base, base + self.committed_end()) };
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

    /// What sweeping and page recovery took. Reading it takes no lock.
    pub fn reclaim_clock(&self) -> &ReclaimClock {
        self.sweeper().clock()
    }

    /// The figures of the space at this moment.
    pub fn stats(&self) -> SpaceStats {
        SpaceStats::of(&self.allocator, self.committed_end())
    }
}
