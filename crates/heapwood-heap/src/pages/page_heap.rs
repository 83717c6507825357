//! The page heap, as in tcmalloc and Go: a page allocator over the reservation, and the tables beside it, committed up
//! to the end of the heap. It also releases memory of free pages to the kernel: the page allocator chooses them and
//! keeps them from being allocated meanwhile. Invariants: every address below the committed end can be looked up in
//! every table; under a limit every page is counted before it is taken, by the holder of [`GrowthToken`].

use crate::address::{Address, ObjectRef};
use crate::arenas::chunk::ArenaChunk;
use crate::config::{SpaceConfig, rounded_reservation};
use crate::error::{NoRoom, SpaceError};
use crate::freed::FreedBits;
use crate::held::HeldBits;
use crate::layout::pointer_bits::PointerBits;
use crate::layout::shape_id::ShapeId;
use crate::marks::Marks;
use crate::pages::external::External;
use crate::pages::memory::{FirstTouch, Memory};
use crate::pages::page_blocks::CacheTarget;
use crate::policy::growth;
use crate::spans::lookup::Spans;
use crate::spans::span::Span;
use core::sync::atomic::{AtomicUsize, Ordering};
use heapwood_os::threads::sync::yield_now;
use heapwood_os::{CachePadded, HUGE_PAGE, KernelRef, OsError};
use heapwood_pages::{Bits48, Effort, PAGE_SIZE, PageCount, PageIndex, PageRun, ScavengePolicy, SharedPages};

/// Above this size (256 MiB) the tables have huge pages, too. Up to 2 MiB of each may be unneeded.
const HUGE_TABLES: usize = (256 << 20) / PAGE_SIZE;
/// The first page is never used: a dangling pointer to the start of the reservation must not keep an object alive.
const UNUSED_AT_START: usize = 1;
/// The most pages that are released at a time: those of a huge page.
const MOST_RELEASED: PageCount = PageCount(HUGE_PAGE / PAGE_SIZE);

/// Retries of a thread that waits for pages which are being released.
const RELEASE_PATIENCE: usize = 1000;

/// No limit.
const NO_LIMIT: usize = usize::MAX;

/// The pages of a heap, and the tables by which their addresses are looked up.
pub(crate) struct PageHeap {
    reservation: PageCount,
    /// The most pages that the heap may grow to.
    most: PageCount,
    /// The bytes that spans may have; [`NO_LIMIT`]: as many as there is room for.
    limit: AtomicUsize,
    /// The reservation.
    pub(crate) memory: Memory,
    /// The spans.
    pub(crate) spans: Spans,
    /// The mark and allocation bits.
    pub(crate) marks: Marks,
    /// The cells that the program has freed itself.
    pub(crate) freed: FreedBits,
    /// The objects that the program holds.
    pub(crate) held: HeldBits,
    /// The records of objects in shared spans.
    pub(crate) pointer_bits: PointerBits,
    /// The page allocator.
    pub(crate) pages: CachePadded<SharedPages<Bits48>>,
    /// The bytes outside the heap.
    pub(crate) external: CachePadded<External>,
}

/// The right to grow a page heap, and to take pages under its limit. There is one, behind the central lock.
pub(crate) struct GrowthToken {
    touched: FirstTouch,
    /// A request for pages failed in this cycle. Mutators flush their cached pages when the cycle ends.
    pub(crate) pages_wanted: bool,
}

/// What a page heap asks before it grows: the sweeper.
pub(crate) trait Reclaimer {
    /// Sweeps some unswept spans, of which the empty ones become free pages; false if there are none.
    fn reclaim_some(&self) -> bool;

    /// Calls `f` with the right to grow, and whether other threads sweep now; no other begins meanwhile.
    fn with_growth<R>(&self, f: impl FnOnce(&mut GrowthToken, bool) -> R) -> R;
}

/// An object found from an address inside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object {
    /// Its first byte.
    pub base: ObjectRef,
    /// The bytes it may use: its cell, or a large object's requested size.
    pub bytes: usize,
}

impl PageHeap {
    /// Reserves and prepares a heap. Nothing of it is committed yet.
    pub(crate) fn new(kernel: KernelRef, config: &SpaceConfig) -> Result<(Self, GrowthToken), OsError> {
        let bytes = rounded_reservation(config.reservation);
        let reservation = PageCount(bytes / PAGE_SIZE);
        let memory = Memory::new(kernel, bytes, config.huge_pages)?;
        let base = memory.start();
        let heap = PageHeap {
            reservation,
            most: PageCount(config.most.map_or(reservation.0, |most| (most / PAGE_SIZE).min(reservation.0))),
            limit: AtomicUsize::new(config.limit.unwrap_or(NO_LIMIT)),
            memory,
            spans: Spans::new(kernel, base, reservation)?,
            marks: Marks::new(kernel, base, bytes)?,
            freed: FreedBits::new(kernel, base, bytes)?,
            held: HeldBits::new(kernel, base, bytes),
            pointer_bits: PointerBits::new(kernel, base, bytes)?,
            pages: CachePadded(SharedPages::new(kernel, reservation)?),
            external: CachePadded::default(),
        };
        if config.keep_freed {
            // The bits are committed as the heap grows.
            heap.freed.begin_use();
        }
        Ok((heap, GrowthToken { touched: FirstTouch::new(), pages_wanted: false }))
    }

    /// Prepares for objects that the program holds.
    ///
    /// # Errors
    /// The kernel gives no memory for the bits.
    #[cold]
    pub(crate) fn begin_holding(&self, _: &mut GrowthToken) -> Result<(), OsError> {
        match self.held.are_in_use() {
            true => Ok(()),
            // SAFETY: the caller has the token.
            false => unsafe { self.held.begin_use(self.spans.committed_end()) },
        }
    }

    /// Prepares for objects that the program frees itself.
    ///
    /// # Errors
    /// The kernel gives no memory for the bits.
    #[cold]
    pub(crate) fn begin_freeing(&self, _: &mut GrowthToken) -> Result<(), OsError> {
        if !self.freed.are_in_use() {
            self.freed.commit(0, self.spans.committed_end())?;
            self.freed.begin_use();
        }
        Ok(())
    }

    /// The size of the reservation in bytes.
    pub(crate) fn reservation_bytes(&self) -> usize {
        self.reservation.bytes()
    }

    /// The bytes of it that the heap may take up.
    pub(crate) fn most_bytes(&self) -> usize {
        self.most.bytes()
    }

    /// The limit on the bytes of spans.
    #[inline]
    pub(crate) fn limit(&self) -> Option<usize> {
        let limit = self.limit.load(Ordering::Relaxed);
        (limit != NO_LIMIT).then_some(limit)
    }

    /// Sets it: from the next request for pages on, which may be refused.
    pub(crate) fn set_limit(&self, _: &mut GrowthToken, limit: Option<usize>) {
        self.limit.store(limit.unwrap_or(NO_LIMIT), Ordering::Relaxed);
    }

    /// Whether there is a limit on the bytes of spans.
    #[inline]
    pub(crate) fn is_limited(&self) -> bool {
        self.limit().is_some()
    }

    /// The bytes that count against a limit: of pages in use, and outside the heap.
    fn counted_bytes(&self) -> usize {
        self.pages.in_use().bytes().saturating_add(self.external.level())
    }

    /// Checks that the limit allows so many more bytes.
    pub(crate) fn check_limit(&self, _: &mut GrowthToken, bytes: usize) -> Result<(), SpaceError> {
        match self.limit() {
            Some(limit) if self.counted_bytes().saturating_add(bytes) > limit => {
                Err(SpaceError::Limit { limit, bytes })
            }
            _ => Ok(()),
        }
    }

    /// Whether so many more bytes would leave more than the last eighth below the limit, where all are counted.
    pub(crate) fn has_much_below_limit(&self, bytes: usize) -> bool {
        self.limit()
            .is_none_or(|limit| self.counted_bytes().saturating_add(bytes) < growth::cached_below(limit))
    }

    /// The pages that may be cached besides `count` that are taken: all but the last eighth of the limit, where every
    /// page counts and cached ones would be missing.
    fn spare_below_limit(&self, count: PageCount) -> PageCount {
        let Some(limit) = self.limit() else { return self.most };
        let most = PageCount::from_bytes(growth::cached_below(limit)).0;
        PageCount(most.saturating_sub(self.counted_bytes() / PAGE_SIZE + count.0))
    }

    /// Whether the heap is so near its limit that no page is cached.
    #[inline]
    pub(crate) fn is_near_limit(&self) -> bool {
        self.limit().is_some_and(|limit| self.counted_bytes() >= growth::cached_below(limit))
    }

    /// Takes `count` free pages, and caches more for the mutator. If there are none, unswept spans are swept first; then the heap
    /// grows.
    ///
    /// # Errors
    /// The limit, the reservation or the kernel leaves no room.
    pub(crate) fn take_pages(
        &self,
        sweeper: &impl Reclaimer,
        target: CacheTarget<'_>,
        count: PageCount,
    ) -> Result<PageRun, SpaceError> {
        let run = self.make_pages(sweeper, target, count)?;
        self.stay_within_limit(PageCount(count.0 + target.most().0));
        Ok(run)
    }

    fn make_pages(
        &self,
        sweeper: &impl Reclaimer,
        target: CacheTarget<'_>,
        count: PageCount,
    ) -> Result<PageRun, SpaceError> {
        if count.bytes() > self.reservation_bytes() {
            return Err(self.no_room(count.bytes()));
        }
        let mut patience = RELEASE_PATIENCE;
        loop {
            if let Some(run) = self.try_pages(sweeper, target, count) {
                return Ok(run);
            }
            // Sweep no more than needed: the rest is other threads' work as much as this one's.
            if sweeper.reclaim_some() {
                continue;
            }
            // Spans that other threads are sweeping become free in a moment.
            let found = sweeper.with_growth(|growth, mut waits| {
                let found = self.check_limit(growth, count.bytes()).and_then(|()| {
                    if let Some(run) = self.take_counted(growth, count) {
                        return Ok(Some(run));
                    }
                    // So do pages that are being released. But after a fork, the releasing thread may not exist in this
                    // process.
                    if (waits || self.pages.is_releasing()) && patience > 0 {
                        (waits, patience) = (true, patience - 1);
                        return Ok(None);
                    }
                    self.grow(growth, count)?;
                    // Take them before another thread can.
                    Ok(self.take_counted(growth, count))
                });
                match found {
                    Err(_) if waits => Ok(None),
                    found => found.inspect_err(|_| growth.pages_wanted = true),
                }
            })?;
            match found {
                Some(run) => return Ok(run),
                None => yield_now(),
            }
        }
    }

    /// Takes free pages, if there are any, and caches some for the mutator. Under a limit the pages are counted before
    /// they are taken, and near it none are cached.
    fn try_pages(
        &self,
        sweeper: &impl Reclaimer,
        target: CacheTarget<'_>,
        count: PageCount,
    ) -> Option<PageRun> {
        if !self.is_limited() {
            return target.take(&self.pages, count);
        }
        sweeper.with_growth(|growth, _| {
            self.check_limit(growth, count.bytes()).ok()?;
            target.at_most(self.spare_below_limit(count)).take(&self.pages, count)
        })
    }

    /// Takes free pages, if there are some and the limit allows them.
    fn take_counted(&self, growth: &mut GrowthToken, count: PageCount) -> Option<PageRun> {
        self.check_limit(growth, count.bytes()).ok()?;
        self.pages.allocate_uncached(count).ok()
    }

    /// Adds pages at the end, enough for `count`, and more if there is room.
    pub(crate) fn grow(&self, growth: &mut GrowthToken, count: PageCount) -> Result<(), SpaceError> {
        let from = self.spans.end();
        let skip = if from.0 == 0 { UNUSED_AT_START } else { 0 };
        let room = self.most.0 - from.0;
        if count.0 + skip > room {
            return Err(self.full(count));
        }
        let mut more = growth::step(from.0, count.0 + skip, room);
        match self.commit(growth, from, PageIndex(from.0 + more)) {
            // There may still be room for exactly the pages needed.
            Err(_) if more > count.0 + skip => {
                more = count.0 + skip;
                self.commit(growth, from, PageIndex(from.0 + more))?;
            }
            done => done?,
        }
        // Another thread may take the pages as soon as the allocator has them, so they can be looked up before.
        // SAFETY: committed above.
        unsafe { self.spans.extend(PageIndex(from.0 + more)) };
        self.pages.grow(PageIndex(from.0 + skip), PageCount(more - skip)).map_err(|refused| {
            // SAFETY: committed before.
            unsafe { self.spans.extend(from) };
            refused.into()
        })
    }

    /// The reason why there are no `count` more pages.
    fn full(&self, count: PageCount) -> SpaceError {
        let (bytes, most) = (count.bytes(), self.most.bytes());
        match self.most < self.reservation {
            true => SpaceError::Memory { bytes, most },
            false => self.no_room(bytes),
        }
    }

    /// The error that the reservation has no room for `bytes` bytes.
    pub(crate) fn no_room(&self, bytes: usize) -> SpaceError {
        SpaceError::ReservationFull(NoRoom::new(bytes, self.reservation_bytes()))
    }

    fn commit(&self, growth: &mut GrowthToken, from: PageIndex, to: PageIndex) -> Result<(), OsError> {
        self.pointer_bits.commit(from.byte_offset(), to.byte_offset())?;
        if self.freed.are_in_use() {
            self.freed.commit(from.byte_offset(), to.byte_offset())?;
        }
        self.held.commit(from.byte_offset(), to.byte_offset())?;
        // A large object touches little of its tables.
        let huge = self.memory.has_huge_pages() && to.0 - from.0 < HUGE_TABLES;
        let huge_from = if huge { PageIndex(HUGE_TABLES).clamp(from, to) } else { to };
        for (part, huge) in [(from..huge_from, false), (huge_from..to, true)] {
            if !part.is_empty() {
                self.spans.commit(part.clone(), huge)?;
                self.marks.commit(part.start.byte_offset(), part.end.byte_offset(), huge)?;
            }
        }
        self.memory.commit(from, to, &mut growth.touched)
    }

    /// Whether objects should have huge pages now.
    fn prefers_huge_pages(&self) -> bool {
        self.memory.prefers_huge_pages(self.spans.end())
    }

    /// Releases the memory of one run of free pages, up to 2 MiB. Returns the bytes that may have been resident, and
    /// whether the kernel took them; `None` if there is nothing that `effort` would release.
    pub(crate) fn release_some(&self, effort: Effort) -> Option<(usize, bool)> {
        self.release(effort, MOST_RELEASED)
    }

    fn release(&self, effort: Effort, most: PageCount) -> Option<(usize, bool)> {
        let policy = ScavengePolicy { most, huge_pages: self.prefers_huge_pages() };
        // SAFETY: the heap has grown over the pages, so their memory is committed; they are free, and the allocator
        // does not allocate them while they are being released.
        let release = |first: PageIndex, count: PageCount| unsafe {
            // In a heap that has shrunk much, the tables are released, too: they are all zeros for free pages.
            if effort == Effort::Full && count == MOST_RELEASED {
                self.spans.release(first, count);
                self.marks.release(first.byte_offset(), count.bytes());
            }
            self.memory.release(first, count)
        };
        let done = self.pages.scavenge(effort, policy, release);
        done.map(|(pages, taken)| (pages.bytes(), taken))
    }

    /// Releases the memory of the tables for pages of a huge page, except their descriptors.
    ///
    /// # Safety
    /// 1. The pages are below the committed end, no object or mark is there, and no thread makes one meanwhile.
    pub(crate) unsafe fn release_tables(&self, first: PageIndex, count: PageCount) {
        // SAFETY: contract 1.
        unsafe {
            self.marks.release(first.byte_offset(), count.bytes());
            self.pointer_bits.release(first.byte_offset(), count.bytes());
        }
    }

    /// Bytes of pages that may be resident, in use or not.
    pub(crate) fn resident_bytes(&self) -> usize {
        self.pages.resident().bytes()
    }

    /// Releases free pages elsewhere if more are resident than the limit allows, after `taken` pages were taken. This
    /// is the only release on an allocating thread, and it is bounded: at most one run for each page taken, which costs
    /// no more than filling these pages.
    pub(crate) fn stay_within_limit(&self, taken: PageCount) {
        let Some(limit) = self.limit() else { return };
        for _ in 0..growth::runs_at_limit(taken) {
            let counted = self.resident_bytes().saturating_add(self.external.level());
            let over = counted.saturating_sub(limit).div_ceil(PAGE_SIZE);
            if over == 0 || self.release(Effort::Full, growth::run_at_limit(over)).is_none() {
                return;
            }
        }
    }

    /// Whether a cell of `span` holds an object. In the fresh range of a span swept in this cycle every cell does;
    /// elsewhere the allocation bit says so. Exact as of the frontiers: objects that the span's owner has made since
    /// the last stop may be missing.
    #[inline]
    pub(crate) fn exists(&self, span: &Span, cell: usize) -> bool {
        let swept = span.is_swept_in(self.marks.cycle());
        (swept && span.is_in_fresh_range(cell) || self.marks.is_allocated(cell))
            && !self.freed.is_freed(cell)
            && (span.shape() != ShapeId::ARENA || ArenaChunk::of(span).is_in_use())
    }

    /// The object that `address` points to or into, if it exists.
    #[inline]
    pub(crate) fn find(&self, address: Address) -> Option<Object> {
        let span = self.spans.find(address)?;
        let base = span.cell_in(address)?;
        // The descriptor may be changing, if the owner makes the span anew just now; so the result is checked.
        let exists = base <= address && self.exists(span, base.get());
        exists.then(|| Object { base: ObjectRef::new(base.get()), bytes: span.object_bytes() })
    }

    /// Whether an object is old, and the program has not freed it. A free of an object made since the marking began sets its
    /// freed bit, and then the allocation bit; so this reads them in the other order.
    #[inline]
    pub(crate) fn is_old_object(&self, object: Address) -> bool {
        self.spans.contains(object)
            && self.marks.observes_allocated(object.get())
            && !self.freed.is_freed(object.get())
    }

    /// The old object that a word points to or into. Exact while mutators run.
    #[inline]
    pub(crate) fn find_old(&self, word: Address) -> Option<ObjectRef> {
        let base = self.spans.find(word)?.cell_in(word)?;
        // The descriptor may be changing, so the result is checked.
        (base <= word && self.is_old_object(base)).then(|| ObjectRef::new(base.get()))
    }

    /// The free cells of a swept span from its frontier on.
    pub(crate) fn free_cells(&self, span: &Span) -> usize {
        let (frontier, end) = (span.frontier(), span.cells_end());
        if frontier >= end {
            return 0;
        }
        let bytes = span.object_bytes();
        (end - frontier) / bytes
            - match bytes >= Marks::WORD_BYTES {
                true => self.marks.count_allocated_large(frontier, end, bytes),
                false => self.marks.count_allocated_cells(frontier, end),
            }
    }

    /// Bytes of the cells without an object below a span's fresh range.
    pub(crate) fn dead_bytes(&self, span: &Span) -> usize {
        let (start, begun) = (span.cells_start(), span.fresh_range_start());
        match begun > start {
            true => (begun - start) - self.marks.count_allocated_cells(start, begun) * span.object_bytes(),
            false => 0,
        }
    }
}
