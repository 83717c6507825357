//! The space of a heap: the public interface for collectors and for the crates above, and the base that all mutators allocate
//! from. It has the sweeper, which has the page heap, and the shapes. Its other functions are beside what they use: those of
//! a mutator in `alloc`, of a stopped space in `stopped`, and in the files here. Invariant: the span of an allocation buffer is
//! of the buffer's shape, swept, and on no list.
//!
//! | file | contents |
//! |---|---|
//! | `arenas` | arenas |
//! | `external` | bytes outside the heap |
//! | `memory` | pages, and their memory |
//! | `stats` | statistics |
//! | `tables` | the tables beside the objects |

use crate::address::{Address, ObjectRef};
use crate::config::SpaceConfig;
use crate::cpu::Cpu;
use crate::error::Refusal;
use crate::layout::pointer_bits::PointerBits;
use crate::layout::shape::Scan;
use crate::layout::shape_id::ShapeId;
use crate::layout::shapes::Shapes;
use crate::marking_view::MarkingView;
use crate::pages::external::External;
use crate::pages::page_heap::{Object, PageHeap};
use crate::reclaim::clock::{ReclaimClock, Sweeping};
use crate::reclaim::sweeper::Sweeper;
use crate::spans::page_table::PageEntry;
use crate::spans::span::Span;
use crate::spans::young_pages::epoch_of;
use crate::young_pages_view::YoungPagesView;
use core::sync::atomic::{AtomicBool, Ordering};
use heapwood_os::{ForkLock, KernelRef, OsError, Reservation};
use heapwood_pages::PageIndex;

pub(crate) mod arenas;
mod external;
pub(crate) mod memory;
pub(crate) mod stats;
pub(crate) mod tables;

/// The space of one heap.
pub struct Space {
    pub(crate) sweeper: Sweeper,
    pub(crate) shapes: Shapes,
    /// Runs have one cell only.
    pub(crate) single_cells: bool,
    pub(crate) always_shared: AtomicBool,
}

impl Space {
    /// Reserves and prepares a space. No memory for objects is committed yet.
    pub fn new(kernel: KernelRef, config: SpaceConfig) -> Result<Self, OsError> {
        let sweeper = Sweeper::new(kernel, &config)?;
        Ok(Space {
            shapes: Shapes::new(kernel, |shapes| sweeper.lists.commit(shapes))?,
            sweeper,
            single_cells: config.single_cells,
            always_shared: AtomicBool::new(false),
        })
    }

    /// Its shapes and programs.
    #[inline(always)]
    pub fn layouts(&self) -> &Shapes {
        &self.shapes
    }

    /// The number of the shape for objects of `bytes` bytes scanned as `scan`.
    ///
    /// # Errors
    /// All numbers are in use, a program cannot be registered, or the kernel gives no memory.
    ///
    /// # Panics
    /// The program is another space's.
    pub fn shape_for(&self, bytes: usize, scan: Scan) -> Result<ShapeId, Refusal> {
        self.shapes.register(bytes, scan, |shapes| self.sweeper.lists.commit(shapes))
    }

    /// The pointer bits of objects in shared spans.
    #[inline(always)]
    pub fn pointer_bits(&self) -> &PointerBits {
        &self.heap().pointer_bits
    }

    /// The page entry by which to scan an object in a span of numbered objects, as if it lay in a span of its own
    /// shape.
    ///
    /// # Safety
    /// 1. The object exists, and lies in such a span of this space.
    #[inline]
    pub unsafe fn numbered_entry(&self, object: ObjectRef) -> PageEntry {
        // SAFETY: contract 1.
        let id = unsafe { self.pointer_bits().shape(object) };
        // SAFETY: the number was written when the object was made, and is this space's.
        PageEntry::new(unsafe { self.shapes.get_unchecked(id) }.kind(), id, 0)
    }

    /// The bytes outside it that its objects own. [`take_external`](Self::take_external) adds to them.
    #[inline(always)]
    pub fn external(&self) -> &External {
        &self.heap().external
    }

    #[inline(always)]
    fn heap(&self) -> &PageHeap {
        &self.sweeper.heap
    }

    /// The start of the reservation.
    #[inline(always)]
    pub fn base(&self) -> Address {
        Address::new(self.heap().spans.base())
    }

    /// Whether an address can be looked up: it lies between the base and the committed end.
    #[inline(always)]
    pub fn contains(&self, address: Address) -> bool {
        self.heap().spans.contains(address)
    }

    /// The committed end, in bytes from the base: addresses below it can be looked up.
    #[inline(always)]
    pub fn committed_end(&self) -> usize {
        self.heap().spans.committed_end()
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
        unsafe { self.heap().memory.detach() }
    }

    /// The object that `address` points to or into, if it exists. Exact when all mutators are stopped and flushed; otherwise
    /// objects in the span that a mutator allocates from may be missing.
    #[inline]
    pub fn find(&self, address: Address) -> Option<Object> {
        self.heap().find(address)
    }

    /// Prepares for held objects.
    ///
    /// # Errors
    /// The kernel gives no memory for their bits.
    pub fn begin_holding(&self) -> Result<(), OsError> {
        if self.heap().held.are_in_use() {
            return Ok(());
        }
        self.heap().begin_holding(self.sweeper.lock().growth())
    }

    /// Whether it has been prepared for them.
    #[inline(always)]
    pub fn may_hold(&self) -> bool {
        self.heap().held.are_in_use()
    }

    /// Holds an object: it is a root until it is released. Whether it was not held before.
    ///
    /// # Safety
    /// 1. The space was prepared for held objects, and the object exists.
    /// 2. It is not stopped.
    pub unsafe fn hold(&self, object: ObjectRef) -> bool {
        self.heap().held.hold(object.get())
    }

    /// Lets an object go; whether it was held.
    ///
    /// # Safety
    /// 1. The address lies in a span of this space, which is not stopped.
    pub unsafe fn release_held(&self, object: ObjectRef) -> bool {
        self.heap().held.release(object.get())
    }

    /// Whether the program has freed objects itself.
    pub fn has_explicit_frees(&self) -> bool {
        self.heap().freed.were_noted()
    }

    /// Whether there may be edges to memory that is free.
    pub fn may_dangle(&self) -> bool {
        self.has_explicit_frees() || self.sweeper.keeps_freed()
    }

    /// Whether the program has freed the object at an address itself, and its memory is not in use again; or a dead one is kept there.
    pub fn is_freed(&self, object: ObjectRef) -> bool {
        self.contains(object.into()) && self.heap().freed.is_freed(object.get())
    }

    /// The span of an address.
    #[inline]
    pub fn find_span(&self, address: Address) -> Option<&Span> {
        self.heap().spans.find(address)
    }

    /// The span whose first page is `page`.
    ///
    /// # Panics
    /// The page lies outside the heap.
    pub fn span(&self, page: PageIndex) -> &Span {
        self.heap().spans.get(page)
    }

    /// Whether the object at an address is old: a collection has found or marked it. Objects made since the last
    /// collection are young, except those in cells that the program had freed.
    #[inline(always)]
    pub fn is_old(&self, address: Address) -> bool {
        self.contains(address) && self.heap().marks.is_allocated(address.get())
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
        self.heap().is_old_object(object) && !self.heap().marks.is_marked(object.get())
    }

    /// Has a model watch the word of an object's mark, until the sides swap.
    #[cfg(loom)]
    pub fn watch_mark(&self, watch: &heapwood_os::threads::watched::Watch, object: ObjectRef) {
        self.heap().marks.watch_mark(watch, object.get());
    }

    /// What a marker beside mutators reads of the space.
    ///
    /// # Safety
    /// 1. A full marking is under way, and the world is not stopped for a collection while the view is used.
    pub unsafe fn marking_view(&self) -> MarkingView<'_> {
        MarkingView::new(&self.heap().marks, &self.heap().spans)
    }

    /// The entry of the page of an address.
    ///
    /// # Panics
    /// The address lies outside the heap.
    #[inline]
    pub fn entry_at(&self, address: Address) -> PageEntry {
        let spans = &self.heap().spans;
        spans.entry(spans.page_of(address.get()))
    }

    /// The queries of a write barrier, valid in this cycle.
    pub fn young_pages(&self) -> YoungPagesView {
        let (spans, marks) = (&self.heap().spans, &self.heap().marks);
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
        self.heap().marks.cpu()
    }

    /// The current sweep cycle.
    pub fn cycle(&self) -> u32 {
        self.heap().marks.cycle()
    }

    /// The entry of the first page, for a marking loop to index by the pages of objects.
    #[inline(always)]
    pub fn page_entries(&self) -> *const PageEntry {
        self.heap().spans.entries()
    }

    /// Sweeps all unswept spans, and waits for other sweepers; does nothing while the space is stopped.
    pub fn finish_sweep(&self) {
        self.sweeper.finish();
    }

    /// Sweeps some spans for all, as `who`; false if there are none, or the space is stopped.
    pub fn sweep_some(&self, who: Sweeping) -> bool {
        self.sweeper.sweep_some(who)
    }

    /// Calls `f` with each lock of the space, in the order in which a forking process takes them, which is the lock
    /// order.
    pub fn fork_locks(&self, f: &mut dyn FnMut(&dyn ForkLock)) {
        self.shapes.for_each_lock(f);
        f(self.sweeper.lists.fork_lock());
        f(&*self.sweeper.chunks);
        f(self.heap().pages.fork_lock());
    }

    /// In a forked child: resumes sweeping, since the thread that had stopped the space does not exist here, and no
    /// thread sweeps.
    pub fn resume_after_fork(&self) {
        self.sweeper.resume();
    }

    /// Clears the marks of an abandoned marking.
    ///
    /// # Safety
    /// 1. No marking is under way, and no thread sweeps.
    pub unsafe fn forget_marks(&self) {
        let (marks, base) = (&self.heap().marks, self.base().get());
        // SAFETY: contract 1; the marks up to the committed end are committed.
        unsafe { marks.clear_marks(base, base + self.committed_end()) };
    }

    /// Switches collections off once more: none is due until they have been switched on as often. Returns how often they are off.
    pub fn switch_collections_off(&self) -> u32 {
        self.sweeper.switch_collections_off()
    }

    /// Takes that back once; `None` if they are on. What was allocated meanwhile counts: a collection may be due at once.
    pub fn switch_collections_on(&self) -> Option<u32> {
        self.sweeper.switch_collections_on()
    }

    /// How often collections are off: none may begin unless it is 0.
    #[inline]
    pub fn collections_off(&self) -> u32 {
        self.sweeper.collections_off()
    }

    /// The limit on the bytes of pages in use.
    pub fn limit(&self) -> Option<usize> {
        self.heap().limit()
    }

    /// Sets it, from the next request for pages on. What is in use may be more: then requests are refused.
    pub fn set_limit(&self, limit: Option<usize>) {
        self.heap().set_limit(self.sweeper.lock().growth(), limit);
    }

    /// Sets the bytes that may be allocated before the next collection is due.
    pub fn set_budget(&self, bytes: usize) {
        self.sweeper.lock().budget.set(bytes);
    }

    /// Sets the bytes that may be allocated in this cycle before a marking beside the program has come further.
    pub fn set_pace(&self, bytes: usize) {
        self.sweeper.lock().budget.set_pace(bytes);
    }

    /// Lets N more bytes be allocated, beside those that may be already, though the marking is behind.
    pub fn pass_pace(&self, bytes: usize) {
        self.sweeper.lock().budget.pass_pace(bytes);
    }

    /// Lets N more bytes be allocated, beside those that may be already, though a collection is due.
    pub fn pass_budget(&self, bytes: usize) {
        self.sweeper.lock().budget.pass(bytes);
    }

    /// Sets the heap size at which a collection is due, from which the shares of mutators are computed.
    pub fn set_goal(&self, bytes: usize) {
        self.sweeper.lock().budget.set_goal(bytes);
    }

    /// Sets whether layouts without own spans keep using shared spans, however many objects they have. For tests and
    /// comparisons.
    pub fn set_always_shared(&self, on: bool) {
        self.always_shared.store(on, Ordering::Relaxed);
    }

    /// The times of sweeping and page recovery. Reading them takes no lock.
    pub fn reclaim_clock(&self) -> &ReclaimClock {
        &self.sweeper.clock
    }
}
