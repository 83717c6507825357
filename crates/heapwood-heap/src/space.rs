//! The space of a heap: the public interface for collectors and for the crates above. It owns an allocator, which owns
//! a sweeper, which owns a page heap. Invariant: it has no state of its own.
//!
//! | file | contents |
//! |---|---|
//! | `layouts` | shapes and programs |
//! | `arenas` | arenas |
//! | `external` | bytes outside the heap |
//! | `memory` | pages, and their memory |
//! | `stats` | statistics |
//! | `tables` | the tables beside the objects |

use crate::address::{Address, ObjectRef};
use crate::alloc::alloc_buffer::AllocBuffer;
use crate::alloc::allocator::Allocator;
use crate::alloc::find::{self, ObjectInfo};
use crate::alloc::large::LargePages;
use crate::alloc::owner::Owner;
use crate::alloc::thread_cache::ThreadCache;
use crate::config::SpaceConfig;
use crate::cpu::Cpu;
use crate::error::SpaceError;
use crate::layout::shape_id::ShapeId;
use crate::layout::shapes::Shapes;
use crate::marking_view::MarkingView;
use crate::pages::page_heap::{Object, PageHeap};
use crate::reclaim::clock::{ReclaimClock, Sweeping};
use crate::reclaim::sweeper::Sweeper;
use crate::spans::page_table::PageEntry;
use crate::spans::span::Span;
use crate::spans::young_pages::epoch_of;
use crate::stopped::Stopped;
use crate::young_pages_view::YoungPagesView;
use core::ops::Range;
use core::ptr::NonNull;
use heapwood_os::{ForkLock, KernelRef, OsError, Reservation};
use heapwood_pages::PageIndex;

mod arenas;
mod external;
mod layouts;
mod memory;
mod stats;
mod tables;

pub use arenas::Arenas;
pub use external::ExternalBytes;
pub use layouts::Layouts;
pub use memory::PageMemory;
pub use stats::SpaceStats;
pub use tables::SpaceTable;

/// The space of one heap.
pub struct Space {
    allocator: Allocator,
}

impl Space {
    /// Reserves and prepares a space. No memory for objects is committed yet.
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

    /// The bytes outside it that its objects own.
    #[inline(always)]
    pub fn external(&self) -> ExternalBytes<'_> {
        ExternalBytes(&self.allocator)
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

    /// A token for a stopped space.
    ///
    /// # Safety
    /// 1. Until the token is dropped, no mutator of this space runs: each is stopped, or in a blocking region, or
    ///    belongs to the calling thread, which then allocates only marked objects.
    /// 2. There is no other such token of this space.
    pub unsafe fn stopped(&self) -> Stopped<'_> {
        // SAFETY: contracts 1 and 2.
        unsafe { Stopped::new(self.sweeper(), self.shape_table()) }
    }

    /// The right to use a mutator's allocation buffers.
    ///
    /// # Safety
    /// 1. `buffers` points to [`MAX_SHAPES`](crate::MAX_SHAPES) buffers, zeroed when new, that live as long as
    ///    `cache`.
    /// 2. Both belong to one mutator, and are used with this space only.
    /// 3. While the token is used, the calling thread is the mutator's, or the mutator is stopped.
    #[inline(always)]
    pub unsafe fn owner<'m>(&'m self, buffers: NonNull<AllocBuffer>, cache: &'m ThreadCache) -> Owner<'m> {
        // SAFETY: contracts 1, 2 and 3.
        unsafe { Owner::new(&self.allocator, buffers, cache) }
    }

    /// The start of the reservation.
    #[inline(always)]
    pub fn base(&self) -> Address {
        Address::new(self.heap().spans().base())
    }

    /// Whether an address can be looked up: it lies between the base and the committed end.
    #[inline(always)]
    pub fn contains(&self, address: Address) -> bool {
        self.heap().spans().contains(address)
    }

    /// Whether a registered type has a trace function. A thread that has stopped all others sees that of each object that exists.
    pub fn has_trace_functions(&self) -> bool {
        self.shape_table().have_traces()
    }

    /// The committed end, in bytes from the base: addresses below it can be looked up.
    #[inline(always)]
    pub fn committed_end(&self) -> usize {
        self.heap().spans().committed_end()
    }

    /// The size of the reservation in bytes.
    pub fn reservation_bytes(&self) -> usize {
        self.heap().reservation_bytes()
    }

    /// The bytes of it that the heap may use.
    pub fn most_bytes(&self) -> usize {
        self.heap().most_bytes()
    }

    /// Moves ownership of the address space to the returned reservation, so that it outlives the space.
    ///
    /// # Safety
    /// 1. The returned reservation is not dropped before this space.
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

    /// The object that `address` points to or into, if it exists, for any thread: it finds each object that the calling thread can
    /// know of. It takes the central lock; [`Owner::find_info`] mostly does not.
    pub fn find_info(&self, address: Address) -> Option<ObjectInfo> {
        find::find(&self.allocator, address)
    }

    /// Prepares for held objects.
    ///
    /// # Errors
    /// The kernel gives no memory for their bits.
    pub fn begin_holding(&self) -> Result<(), OsError> {
        if self.heap().held().are_in_use() {
            return Ok(());
        }
        self.heap().begin_holding(self.sweeper().lock().growth())
    }

    /// Whether it has been prepared for them.
    #[inline(always)]
    pub fn may_hold(&self) -> bool {
        self.heap().held().are_in_use()
    }

    /// Holds an object: it is a root until it is released. Whether it was not held before.
    ///
    /// # Safety
    /// 1. The space was prepared for held objects, and the object exists.
    /// 2. It is not stopped.
    pub unsafe fn hold(&self, object: ObjectRef) -> bool {
        self.heap().held().hold(object.get())
    }

    /// Lets an object go; whether it was held.
    ///
    /// # Safety
    /// 1. The address lies in a span of this space, which is not stopped.
    pub unsafe fn release_held(&self, object: ObjectRef) -> bool {
        self.heap().held().release(object.get())
    }

    /// Whether the program has freed objects itself.
    pub fn has_explicit_frees(&self) -> bool {
        self.heap().freed().were_noted()
    }

    /// Whether the program has freed the object at an address itself, and its memory is not in use again.
    pub fn is_freed(&self, object: ObjectRef) -> bool {
        self.contains(object.into()) && self.heap().freed().is_freed(object.get())
    }

    /// The span of an address.
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

    /// Whether the object at an address is old: a collection has found or marked it. Objects made since the last
    /// collection are young, except those in cells that the program had freed.
    #[inline(always)]
    pub fn is_old(&self, address: Address) -> bool {
        self.contains(address) && self.heap().marks().is_allocated(address.get())
    }

    /// The same, but true for values of arenas, which have no such bit.
    pub fn may_be_old(&self, address: Address) -> bool {
        self.is_old(address) || self.arenas().find(address).is_some()
    }

    /// The old object that a word points to or into. Exact while mutators run.
    #[inline]
    pub fn find_old(&self, word: Address) -> Option<ObjectRef> {
        self.heap().find_old(word)
    }

    /// Whether an object is old, the program has not freed it, and the full marking that is under way has not marked it yet.
    #[inline]
    pub fn is_unmarked(&self, object: Address) -> bool {
        self.heap().is_old_object(object) && !self.heap().marks().is_marked(object.get())
    }

    /// Has a model watch the word of an object's mark, until the sides swap.
    #[cfg(loom)]
    pub fn watch_mark(&self, watch: &heapwood_os::threads::watched::Watch, object: ObjectRef) {
        self.heap().marks().watch_mark(watch, object.get());
    }

    /// What a marker beside mutators reads of the space.
    ///
    /// # Safety
    /// 1. A full marking is under way, and the world is not stopped for a collection while the view is used.
    pub unsafe fn marking_view(&self) -> MarkingView<'_> {
        MarkingView::new(self.heap().marks(), self.heap().spans())
    }

    /// The entry of the page of an address.
    ///
    /// # Panics
    /// The address lies outside the heap.
    #[inline]
    pub fn entry_at(&self, address: Address) -> PageEntry {
        let spans = self.heap().spans();
        spans.entry(spans.page_of(address.get()))
    }

    /// The queries of a write barrier, valid in this cycle.
    pub fn young_pages(&self) -> YoungPagesView {
        let (spans, marks) = (self.heap().spans(), self.heap().marks());
        YoungPagesView {
            base: spans.base(),
            entries: spans.young_pages().as_ptr(),
            allocated: marks.allocation_words(),
            epoch: epoch_of(marks.cycle()),
        }
    }

    /// The processor for which loops over bitmaps are selected.
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

    /// Sweeps some spans for all, as `who`; false if there are none, or the space is stopped.
    pub fn sweep_some(&self, who: Sweeping) -> bool {
        self.sweeper().sweep_some(who)
    }

    /// Calls `f` with each lock of the space, in the order in which a forking process takes them, which is the lock
    /// order.
    pub fn fork_locks(&self, f: &mut dyn FnMut(&dyn ForkLock)) {
        self.shape_table().for_each_lock(f);
        f(self.sweeper().fork_lock());
        f(self.sweeper().chunks());
        f(self.heap().pages().fork_lock());
    }

    /// In a forked child: resumes sweeping, since the thread that had stopped the space does not exist here, and no
    /// thread sweeps.
    pub fn resume_after_fork(&self) {
        self.sweeper().resume();
    }

    /// Clears the marks of an abandoned marking.
    ///
    /// # Safety
    /// 1. No marking is under way, and no thread sweeps.
    pub unsafe fn forget_marks(&self) {
        let (marks, base) = (self.heap().marks(), self.base().get());
        // SAFETY: contract 1; the marks up to the committed end are committed.
        unsafe { marks.clear_marks(base, base + self.committed_end()) };
    }

    /// Switches collections off once more: none is due until they have been switched on as often. Returns how often they are off.
    pub fn switch_collections_off(&self) -> u32 {
        self.sweeper().switch_collections_off()
    }

    /// Takes that back once; `None` if they are on. What was allocated meanwhile counts: a collection may be due at once.
    pub fn switch_collections_on(&self) -> Option<u32> {
        self.sweeper().switch_collections_on()
    }

    /// How often collections are off: none may begin unless it is 0.
    #[inline]
    pub fn collections_off(&self) -> u32 {
        self.sweeper().collections_off()
    }

    /// The limit on the bytes of pages in use.
    pub fn limit(&self) -> Option<usize> {
        self.heap().limit()
    }

    /// Sets it, from the next request for pages on. What is in use may be more: then requests are refused.
    pub fn set_limit(&self, limit: Option<usize>) {
        self.heap().set_limit(self.sweeper().lock().growth(), limit);
    }

    /// Sets the bytes that may be allocated before the next collection is due.
    pub fn set_budget(&self, bytes: usize) {
        self.sweeper().lock().set_budget(bytes);
    }

    /// Sets the heap size at which a collection is due, from which the shares of mutators are computed.
    pub fn set_goal(&self, bytes: usize) {
        self.sweeper().lock().set_goal(bytes);
    }

    /// Sets whether layouts without own spans keep using shared spans, however many objects they have. For tests and
    /// comparisons.
    pub fn set_always_shared(&self, on: bool) {
        self.allocator.set_always_shared(on);
    }

    /// The times of sweeping and page recovery. Reading them takes no lock.
    pub fn reclaim_clock(&self) -> &ReclaimClock {
        self.sweeper().clock()
    }

    /// Calls `f` with the mappings of all tables beside the objects.
    pub fn name_tables(&self, f: &mut dyn FnMut(SpaceTable, Range<usize>)) {
        SpaceTable::for_each(&self.allocator, f);
    }

    /// The current statistics.
    pub fn stats(&self) -> SpaceStats {
        SpaceStats::of(&self.allocator, self.committed_end())
    }
}
