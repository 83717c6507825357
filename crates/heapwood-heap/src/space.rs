//! A heap's space: one reserved range of addresses and everything that is found from an address in it.
//!
//! Tables beside the range are indexed by page or granule relative to its start: page entries, span descriptors,
//! mark bits. All are reserved at full length and committed up to the heap's high-water mark as it grows.
//! Invariant: an address below the high-water mark can be looked up in every table, whatever lies there.

use crate::address::Address;
use crate::bump::{Bump, Bumps};
use crate::central::Central;
use crate::cpu::Cpu;
use crate::error::NoRoom;
use crate::error::SpaceError;
use crate::local::Local;
use crate::marks::Marks;
use crate::owner::Owner;
use crate::page_table::{PageEntry, PageTable};
use crate::pointer_bits::PointerBits;
use crate::programs::Programs;
use crate::rare::Rare;
use crate::shape::Shape;
use crate::shape_id::{MAX_SHAPES, WELL_KNOWN};
use crate::shapes::Registering;
use crate::span::Span;
use crate::stopped::Stopped;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use heapwood_os::{CachePadded, HUGE_PAGE, KernelRef, MappedArray, OsError, Reservation, TimedLock};
use heapwood_pages::{
    Bits48, ChunkIndex, NewError, PAGE_SIZE, PageCache, PageCount, PageIndex, PageRun, SharedPages, Snapshot,
};

/// The smallest address range a heap can have, in bytes.
pub const MIN_WINDOW: usize = 16 << 20;
/// The largest: page numbers have 32 bits here.
pub const MAX_WINDOW: usize = 1 << 44;

/// The window that is tried first when `bytes` are asked for.
pub fn rounded_window(bytes: usize) -> usize {
    bytes.clamp(MIN_WINDOW, MAX_WINDOW).next_power_of_two()
}

/// The heap grows by at least this many pages (4 MiB), so that commits are few and huge pages whole,
const GROWTH: usize = 512;
/// by one part in so many of what it has, for each step costs half a dozen system calls,
const GROWTH_SHARE: usize = 16;
/// and by no more than this at a time unless it must (64 MiB).
const MOST_GROWTH: usize = (64 << 20) / PAGE_SIZE;
/// A heap up to this size (8 MiB) has small pages: a hundred heaps of a few KiB would have a huge page each
/// (docs/results/costs.md).
const HUGE_FROM: usize = (8 << 20) / PAGE_SIZE;
/// How often a thread that needs pages looks again whether some that are being released have been.
const RELEASE_PATIENCE: usize = 1000;
/// Above this (256 MiB) the tables have huge pages, too. Up to 2 MiB of each may be more than is needed.
const HUGE_TABLES: usize = (256 << 20) / PAGE_SIZE;
/// The first page is never used: a stray pointer to the start of the range must not keep anything alive.
const UNUSED_AT_START: usize = 1;

/// What a space is made with.
#[derive(Clone, Copy, Debug)]
pub struct SpaceConfig {
    /// Bytes of address space to reserve, from [`MIN_WINDOW`] to [`MAX_WINDOW`], a power of two.
    pub window: usize,
    /// Bytes of it that the heap may take up, used or not; unlike the limit this costs nothing to keep to.
    pub most: Option<usize>,
    /// Bytes the heap may use for spans.
    pub limit: Option<usize>,
    /// Ask for huge pages.
    pub huge_pages: bool,
    /// Fill freed cells with [`CLOBBER`].
    pub clobber: bool,
    /// Hand out one cell at a time, so that every allocation takes the slow path.
    pub single_cells: bool,
}

const NO_LIMIT: usize = usize::MAX;

/// What freed memory is filled with in verify mode: as a pointer it is outside every heap.
pub const CLOBBER: u8 = 0xDB;

/// The space of one heap. What is written under a lock lies apart from what mutators read without.
pub struct Space {
    base: usize,
    window: PageCount,
    /// How far the heap may grow.
    most: PageCount,
    /// One past the last byte that may be looked up, relative to the base.
    extent: AtomicUsize,
    pub(crate) memory: Reservation,
    pub(crate) huge_pages: bool,
    pub(crate) table: PageTable,
    spans: MappedArray<Span>,
    pub(crate) shapes: MappedArray<Shape>,
    pub(crate) shape_count: AtomicU32,
    pub(crate) registering: TimedLock<Registering>,
    pub(crate) marks: Marks,
    pub(crate) pointer_bits: PointerBits,
    pub(crate) rare: Rare,
    pub(crate) programs: Programs,
    pub(crate) pages: CachePadded<SharedPages<Bits48>>,
    pub(crate) central: CachePadded<TimedLock<Central>>,
    /// Which cycle's sweep spans are measured against; changes while the mutators are stopped.
    pub(crate) cycle: AtomicU32,
    /// The bytes that spans may have, or [`NO_LIMIT`]; with a limit every page is counted before it is taken.
    limit: AtomicUsize,
    pub(crate) clobber: bool,
    single_cells: AtomicBool,
    always_mixed: AtomicBool,
}

impl Space {
    /// Reserves and prepares a space. Nothing of the heap itself is committed yet.
    pub fn new(kernel: KernelRef, config: SpaceConfig) -> Result<Self, OsError> {
        let bytes = rounded_window(config.window);
        let window = PageCount(bytes / PAGE_SIZE);
        let memory = Reservation::new(kernel, bytes, HUGE_PAGE)?;
        let base = memory.start();
        let space = Space {
            base,
            window,
            most: PageCount(config.most.map_or(window.0, |most| (most / PAGE_SIZE).min(window.0))),
            huge_pages: config.huge_pages,
            extent: AtomicUsize::new(0),
            memory,
            table: PageTable::new(kernel, window)?,
            spans: MappedArray::new(kernel, window.0)?,
            shapes: MappedArray::new(kernel, MAX_SHAPES)?,
            shape_count: AtomicU32::new(WELL_KNOWN),
            registering: TimedLock::new(Registering::new(kernel)?),
            marks: Marks::new(kernel, base, bytes)?,
            pointer_bits: PointerBits::new(kernel, base, bytes)?,
            rare: Rare::new(kernel)?,
            programs: Programs::new(kernel)?,
            pages: match SharedPages::new(kernel, window) {
                Ok(pages) => CachePadded(pages),
                Err(NewError::Refused(e)) => return Err(e),
                Err(e) => unreachable!("windows are clamped to MAX_WINDOW: {e}"),
            },
            limit: AtomicUsize::new(config.limit.unwrap_or(NO_LIMIT)),
            central: CachePadded(TimedLock::new(Central::new(kernel)?)),
            cycle: AtomicU32::new(1),
            clobber: config.clobber,
            single_cells: AtomicBool::new(config.single_cells),
            always_mixed: AtomicBool::new(false),
        };
        space.register_well_known()?;
        Ok(space)
    }

    /// Makes room for what is kept of each shape with a number in the range.
    pub(crate) fn commit_shapes(&self, shapes: core::ops::Range<usize>) -> Result<(), OsError> {
        self.rare.commit(shapes.clone())?;
        self.central.lock().commit(shapes)
    }

    /// Proof that the space stands still.
    ///
    /// # Safety
    /// 1. Until the token is dropped no mutator of this space runs: each is stopped or in a blocking region, or is the calling
    ///    thread's, and then allocates nothing but what is marked.
    /// 2. There is no other such token of this space.
    pub unsafe fn stopped(&self) -> Stopped<'_> {
        Stopped::new(self)
    }

    /// The right to use a mutator's bumps.
    ///
    /// # Safety
    /// 1. `bumps` points to [`MAX_SHAPES`] of them, zeroed when new, that live as long as `local`.
    /// 2. Both are of one mutator, and this is the space that they have always been used with.
    /// 3. As long as the token is used the calling thread is the mutator's, or the mutator is stopped.
    #[inline(always)]
    pub unsafe fn owner<'m>(&'m self, bumps: NonNull<Bump>, local: &'m Local) -> Owner<'m> {
        // SAFETY: contract 1.
        Owner::new(self, unsafe { Bumps::new(bumps, local) })
    }

    /// The address the range starts at.
    #[inline(always)]
    pub fn base(&self) -> Address {
        Address::new(self.base)
    }

    /// Whether an address can be looked up: it lies between the base and the extent.
    #[inline(always)]
    pub fn contains(&self, address: Address) -> bool {
        address.offset_from(self.base()) < self.extent()
    }

    /// How many of them the heap may take up.
    pub fn most_bytes(&self) -> usize {
        self.most.bytes()
    }

    /// The size of the reserved range in bytes.
    pub fn window_bytes(&self) -> usize {
        self.window.0 * PAGE_SIZE
    }

    /// How many bytes from the base on can be looked up.
    #[inline(always)]
    pub fn extent(&self) -> usize {
        self.extent.load(Ordering::Relaxed)
    }

    /// The processor that loops over the bits are compiled for.
    #[inline(always)]
    pub fn cpu(&self) -> Cpu {
        self.marks.cpu()
    }

    /// Where the pointers are in objects of mixed spans.
    #[inline(always)]
    pub fn pointer_bits(&self) -> &PointerBits {
        &self.pointer_bits
    }

    /// The page allocator.
    ///
    /// # Safety
    /// 1. No page is freed or taken through it, and none is released that does not become free again.
    pub unsafe fn pages(&self) -> &SharedPages<Bits48> {
        &self.pages
    }

    /// How many pages are in use: by spans, and by what mutators have set aside.
    pub fn pages_in_use(&self) -> PageCount {
        self.pages.in_use()
    }

    /// The pages as they are now. Those that mutators have set aside count as in use.
    pub fn snapshot(&self) -> Snapshot {
        self.pages.snapshot()
    }

    /// The same for observers that may not allocate memory: calls `f` with the words of each chunk.
    pub fn for_each_chunk(&self, f: impl FnMut(ChunkIndex, &[u64], &[u64])) {
        self.pages.for_each_chunk(f);
    }

    /// The cycle that spans are swept in now.
    pub fn cycle(&self) -> u32 {
        self.cycle.load(Ordering::Relaxed)
    }

    /// The entry of the first page, for a marking loop to index by the pages of objects.
    #[inline(always)]
    pub fn page_entries(&self) -> *const PageEntry {
        self.table.as_ptr()
    }

    #[inline(always)]
    pub(crate) fn page_of(&self, addr: usize) -> PageIndex {
        PageIndex((addr - self.base) / PAGE_SIZE)
    }

    /// The address of a page's first byte.
    #[inline(always)]
    pub(crate) fn address_of(&self, page: PageIndex) -> usize {
        self.base + page.0 * PAGE_SIZE
    }

    /// The span whose first page is `page`.
    ///
    /// # Panics
    /// The page lies outside the heap.
    #[inline(always)]
    pub fn span(&self, page: PageIndex) -> &Span {
        assert!(page.0 < self.extent() / PAGE_SIZE, "page {} lies outside the heap", page.0);
        // SAFETY: just checked.
        unsafe { self.span_unchecked(page) }
    }

    /// The same.
    ///
    /// # Safety
    /// 1. The page lies below the high-water mark.
    #[inline(always)]
    pub(crate) unsafe fn span_unchecked(&self, page: PageIndex) -> &Span {
        debug_assert!(page.0 * PAGE_SIZE < self.extent());
        // SAFETY: descriptors below the high-water mark are committed (contract 1); fields that change while shared are
        // atomic, the others only change under the central lock or by the span's owner.
        unsafe { &*self.spans.at(page.0) }
    }

    pub(crate) fn span_ptr(&self, page: PageIndex) -> *mut Span {
        self.spans.at(page.0)
    }

    /// Hand out one cell at a time from now on, or whole runs again.
    pub fn set_single_cells(&self, on: bool) {
        self.single_cells.store(on, Ordering::Relaxed);
    }

    pub(crate) fn single_cells(&self) -> bool {
        self.single_cells.load(Ordering::Relaxed)
    }

    /// From now on no layout gets spans of its own that has none, however many objects it has; or they do again. For
    /// tests, and to compare the two.
    pub fn set_always_mixed(&self, on: bool) {
        self.always_mixed.store(on, Ordering::Relaxed);
    }

    pub(crate) fn always_mixed(&self) -> bool {
        self.always_mixed.load(Ordering::Relaxed)
    }

    /// Finds `count` free pages, sweeping and growing as needed; the flag says that they read as zeros.
    pub(crate) fn take_pages(
        &self,
        mut cache: Option<&mut PageCache>,
        count: PageCount,
    ) -> Result<(PageIndex, bool), SpaceError> {
        if count.0 > self.window.0 {
            return Err(SpaceError::Window(NoRoom::new(count.bytes(), self.window_bytes())));
        }
        let mut patience = RELEASE_PATIENCE;
        let run = loop {
            if let Some(run) = self.try_pages(cache.as_deref_mut(), count) {
                break run;
            }
            // As little as is needed is swept here; the rest is others' as much as this thread's.
            if self.sweep_some() {
                continue;
            }
            let mut central = self.central.lock();
            // What others are sweeping is free in a moment.
            let wait = central.in_hand > 0;
            if self.over_limit(count) {
                if wait {
                    drop(central);
                    std::thread::yield_now();
                    continue;
                }
                return Err(SpaceError::Limit {
                    limit: self.limit.load(Ordering::Relaxed),
                    bytes: count.bytes(),
                });
            }
            if let Ok(run) = self.pages.allocate_uncached(count) {
                break run;
            }
            // What is on its way to the kernel is free in a moment; but the thread that released it may be one that this
            // process, forked since, does not have.
            if self.pages.is_releasing() && patience > 0 {
                patience -= 1;
                drop(central);
                std::thread::yield_now();
                continue;
            }
            let grown = self.grow(&mut central, count);
            if wait && !matches!(grown, Ok(true)) {
                drop(central);
                std::thread::yield_now();
                continue;
            }
            if !grown? {
                let (bytes, most, window) = (count.bytes(), self.most.bytes(), self.window_bytes());
                return Err(match most < window {
                    true => SpaceError::Memory { bytes, most },
                    false => SpaceError::Window(NoRoom::new(bytes, window)),
                });
            }
            // Taken before anybody else can.
            if let Ok(run) = self.pages.allocate_uncached(count) {
                break run;
            }
        };
        // What has no memory behind it will read as zeros.
        Ok((run.first, run.scavenged == run.count))
    }

    /// Free pages, if there are some. Under a limit each is counted before it is taken, and nothing is set aside.
    fn try_pages(&self, cache: Option<&mut PageCache>, count: PageCount) -> Option<PageRun> {
        if self.is_limited() {
            let _counting = self.central.lock();
            return if self.over_limit(count) { None } else { self.pages.allocate_uncached(count).ok() };
        }
        match cache {
            Some(cache) => self.pages.allocate(cache, count).ok(),
            None => self.pages.allocate_uncached(count).ok(),
        }
    }

    /// Whether `count` pages more are more than the limit allows.
    fn over_limit(&self, count: PageCount) -> bool {
        let in_use = || (self.pages.in_use().0 + count.0).saturating_mul(PAGE_SIZE);
        self.limit().is_some_and(|limit| in_use() > limit)
    }

    /// Adds pages above the high-water mark, enough for `count` and more if there is room; false if there is none.
    fn grow(&self, central: &mut Central, count: PageCount) -> Result<bool, SpaceError> {
        let from = central.high_water;
        let skip = if from.0 == 0 { UNUSED_AT_START } else { 0 };
        let room = self.most.0 - from.0;
        if count.0 + skip > room {
            return Ok(false);
        }
        let step = (from.0 / GROWTH_SHARE).clamp(GROWTH, MOST_GROWTH);
        let more = (count.0 + skip).max(step).next_multiple_of(GROWTH).min(room);
        match self.commit(from, PageIndex(from.0 + more)) {
            Ok(()) => {}
            // Perhaps there is still room for just what is needed.
            Err(_) if more > count.0 + skip => {
                self.commit(from, PageIndex(from.0 + count.0 + skip))?;
                return self.add_pages(central, from, skip, count.0 + skip);
            }
            Err(e) => return Err(e.into()),
        }
        self.add_pages(central, from, skip, more)
    }

    fn commit(&self, from: PageIndex, to: PageIndex) -> Result<(), OsError> {
        self.pointer_bits.commit(from.0 * PAGE_SIZE, to.0 * PAGE_SIZE)?;
        // Of the tables of one large object little is ever touched.
        let huge = self.huge_pages && to.0 - from.0 < HUGE_TABLES;
        let huge_from = if huge { PageIndex(HUGE_TABLES).clamp(from, to) } else { to };
        if from < huge_from {
            self.table.commit(from, huge_from)?;
            self.spans.commit(from.0..huge_from.0)?;
            self.marks.commit(from.0 * PAGE_SIZE, huge_from.0 * PAGE_SIZE)?;
        }
        if huge_from < to {
            self.table.commit_huge(huge_from, to)?;
            self.spans.commit_huge(huge_from.0..to.0)?;
            self.marks.commit_huge(huge_from.0 * PAGE_SIZE, to.0 * PAGE_SIZE)?;
        }
        self.memory.commit(from.0 * PAGE_SIZE..to.0 * PAGE_SIZE)?;
        if self.has_huge_pages(to) {
            // The heap has become large enough: what it has already may get them, too.
            let from = if self.has_huge_pages(from) { from } else { PageIndex(0) };
            self.memory.advise_huge(from.0 * PAGE_SIZE..to.0 * PAGE_SIZE);
        }
        Ok(())
    }

    /// Whether a heap that reaches up to this page asks for huge pages behind its objects.
    fn has_huge_pages(&self, high_water: PageIndex) -> bool {
        self.huge_pages && high_water.0 > HUGE_FROM
    }

    /// Whether there are to be huge pages behind objects now.
    pub(crate) fn prefers_huge_pages(&self) -> bool {
        self.has_huge_pages(PageIndex(self.extent() / PAGE_SIZE))
    }

    fn add_pages(
        &self,
        central: &mut Central,
        from: PageIndex,
        skip: usize,
        more: usize,
    ) -> Result<bool, SpaceError> {
        match self.pages.grow(PageIndex(from.0 + skip), PageCount(more - skip)) {
            Ok(()) => {}
            Err(heapwood_pages::GrowError::Refused { cause, .. }) => return Err(cause.into()),
            Err(e) => heapwood_os::message::corrupt(format_args!("growing at the high-water mark: {e}")),
        }
        central.high_water = PageIndex(from.0 + more);
        self.extent.store((from.0 + more) * PAGE_SIZE, Ordering::Release);
        Ok(true)
    }

    /// Sets how many bytes may be handed out before the next collection is due.
    pub fn set_budget(&self, bytes: usize) {
        self.central.lock().budget = bytes;
    }

    /// No collection is due in this cycle any more, whatever is handed out; if another has begun, this changes nothing.
    pub fn put_off_collection(&self, cycle: u32) {
        let mut central = self.central.lock();
        if self.cycle() == cycle {
            central.budget = usize::MAX;
        }
    }

    /// Changes the limit on the bytes of spans.
    pub fn set_limit(&self, limit: Option<usize>) {
        self.limit.store(limit.unwrap_or(NO_LIMIT), Ordering::Relaxed);
    }

    /// The limit on the bytes of spans.
    pub fn limit(&self) -> Option<usize> {
        Some(self.limit.load(Ordering::Relaxed)).filter(|&limit| limit != NO_LIMIT)
    }

    /// Whether there is one.
    pub(crate) fn is_limited(&self) -> bool {
        self.limit().is_some()
    }

    /// The figures of the space at this moment.
    pub fn figures(&self) -> SpaceFigures {
        let central = self.central.lock();
        SpaceFigures {
            total_allocated: central.total_allocated,
            allocated_in_cycle: central.allocated,
            in_use: self.pages.in_use().0 * PAGE_SIZE,
            grown: central.high_water.0 * PAGE_SIZE,
            backed: self.backed_bytes(),
            spans: central.spans,
            span_visits: central.visits,
            page_visits: self.pages.stats().lock_acquisitions,
            hold_spans: self.central.longest_hold(),
            hold_pages: self.pages.longest_hold(),
            hold_types: self.registering.longest_hold(),
        }
    }
}

/// Bytes of a space, in several senses.
#[derive(Clone, Copy, Debug, Default)]
pub struct SpaceFigures {
    /// Handed out to mutators since the space was made.
    pub total_allocated: u64,
    /// Handed out since the last marking.
    pub allocated_in_cycle: usize,
    /// In pages that spans own, or caches.
    pub in_use: usize,
    /// Committed for spans.
    pub grown: usize,
    /// In pages that may have memory behind them.
    pub backed: usize,
    /// Spans of small objects handed out since the space was made.
    pub spans: u64,
    /// How often mutators took the lock of the span lists for them.
    pub span_visits: u64,
    /// How often the lock of the page allocator was taken.
    pub page_visits: u64,
    /// The longest that the lock of the span lists was held, in ticks ([`heapwood_os::timed_lock`]).
    pub hold_spans: u64,
    /// The same of the page allocator's lock.
    pub hold_pages: u64,
    /// The same of the lock for registering shapes.
    pub hold_types: u64,
}
