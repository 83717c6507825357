//! A mutator's cache besides its buffers, as Go's mcache: pages, an account of allocation since its last central
//! refill, its share, spans that it swept for all, what it freed lately, and the set of active buffers among
//! thousands. With it most spans come without a lock. Invariant: the account stays within the credit of the last
//! refill; an inactive buffer has no run and no span, and its shape has no cached spans.

use crate::alloc::recently_freed::RecentlyFreed;
use crate::arenas::lists::ArenaLists;
use crate::freed::FreedCells;
use crate::layout::shape_id::{MAX_SHAPES, ShapeId};
#[cfg(doc)]
use crate::marks::Marks;
use crate::pages::page_blocks::PageBlocks;
use crate::policy::refill::{self, Forecast};
use crate::reclaim::budget::Account;
use crate::reclaim::central::{SpansWithoutFree, SweptSpans};
use crate::reclaim::clock::Swept;
use crate::reclaim::run_owners::RunOwner;
use crate::spans::lookup::Spans;
use crate::spans::span_list::SpanList;
use core::cell::Cell;
use heapwood_os::memory::region::Zeroed;
use heapwood_pages::{PAGE_SIZE, PageCount, PageIndex};

/// A mutator's cache, besides its buffers. What every mutator uses is together: with a thousand threads each page counts.
#[repr(C)]
pub struct ThreadCache {
    cached_spans: [CachedSpans; MAX_SHAPES],
    /// The cached pages.
    pub(super) pages: PageBlocks,
    account: Cell<Account>,
    /// The bytes that it may cache.
    share: Cell<usize>,
    /// The pages that it may still take for new spans.
    credit: Cell<u32>,
    /// The bytes of large objects that it may still take.
    large_credit: Cell<usize>,
    /// Bytes of cached spans; and of free cells in the buffers' spans, as last measured.
    cached_bytes: Cell<usize>,
    open_bytes: Cell<usize>,
    /// Pages of the spans that buffers got recently.
    demand: Cell<PageCount>,
    /// The cycle of its last refill.
    refilled_in: Cell<u32>,
    /// Spans that it swept for all and has not returned yet.
    pub(super) swept_spans: Cell<SweptSpans>,
    /// Spans that it must yet sweep for all.
    due: Cell<u32>,
    /// The block ([`Marks::BLOCK_BYTES`]) in which it made a span last, and one.
    block: Cell<usize>,
    active: ActiveBuffers,
    /// Its place among the mutators that may have runs.
    pub(super) run_owner: RunOwner,
    /// Whether it has freed cells. Before, the pages of the record are not touched.
    frees: Cell<bool>,
    /// Its arenas.
    pub(crate) arenas: ArenaLists,
    recently_freed: RecentlyFreed,
}

// SAFETY: all-zero bytes are empty caches, lists and sets, and plain zeros; nothing needs a drop.
unsafe impl Zeroed for ThreadCache {}

const WORDS: usize = MAX_SHAPES / 64;

/// A set of shapes: one bit each, and one bit for each word of those. The cost of a walk depends on the set's size, not
/// on the number of shapes in the heap.
struct ActiveBuffers {
    words: [Cell<u64>; WORDS / 64],
    bits: [Cell<u64>; WORDS],
}

impl ThreadCache {
    /// Whether it makes a span in another block of the heap than last time.
    pub(super) fn enters_block(&self, block: usize) -> bool {
        self.block.replace(block + 1) != block + 1
    }

    /// The cells that it freed lately, if it has ever freed some.
    #[inline(always)]
    pub(super) fn recently_freed(&self) -> Option<&RecentlyFreed> {
        self.frees.get().then_some(&self.recently_freed)
    }

    /// The same before it frees a cell.
    #[inline]
    pub(super) fn begin_recently_freed(&self) -> &RecentlyFreed {
        self.frees.set(true);
        &self.recently_freed
    }

    /// The cached spans of a shape.
    #[inline]
    pub(super) fn cached(&self, shape: ShapeId) -> &CachedSpans {
        &self.cached_spans[shape.index()]
    }

    /// An upper bound of the mutator's memory that holds no object, in bytes: cached pages, cached spans, and free
    /// cells of the spans that it allocates from.
    pub(super) fn held_bytes(&self) -> usize {
        let swept = self.swept_spans.get().partial.len() as usize * PAGE_SIZE;
        self.pages.count().bytes() + self.cached_bytes.get() + self.open_bytes.get() + swept
    }

    /// Bytes in the buffers' spans that hold no object, as last measured.
    pub(super) fn open_bytes(&self) -> usize {
        self.open_bytes.get()
    }

    /// Pages of the spans that buffers got recently.
    pub(super) fn demand(&self) -> PageCount {
        self.demand.get()
    }

    /// Sets this number, after ageing.
    pub(super) fn set_demand(&self, pages: PageCount) {
        self.demand.set(pages);
    }

    /// The memory that it may cache.
    pub(super) fn share(&self) -> usize {
        self.share.get()
    }

    /// Sets the memory that it may cache, and the pages that it may take for new spans.
    pub(super) fn set_share(&self, share: usize, credit: u32) {
        self.share.set(share);
        self.credit.set(credit);
    }

    /// Sets the bytes of large objects that it may take.
    pub(super) fn set_large_credit(&self, bytes: usize) {
        self.large_credit.set(bytes);
    }

    /// Takes the credit for new spans and large objects away until the next refill.
    pub(super) fn end_credit(&self) {
        self.credit.set(0);
        self.large_credit.set(0);
    }

    /// The bytes of large objects that it may take.
    #[inline]
    pub(super) fn large_credit(&self) -> usize {
        self.large_credit.get()
    }

    /// Charges a large object of `bytes` bytes, which the credit covers.
    #[inline]
    pub(super) fn charge_large(&self, bytes: usize) {
        self.large_credit.set(self.large_credit.get() - bytes);
        self.update(|a| Account { owed: a.owed + bytes, large: a.large + bytes, ..a });
    }

    /// Counts an acquisition of the page allocator's lock for a large object.
    pub(super) fn note_large_page_lock(&self) {
        self.update(|a| Account { large_page_locks: a.large_page_locks + 1, ..a });
    }

    /// Adds bytes of cached spans.
    pub(super) fn note_cached(&self, bytes: usize) {
        self.cached_bytes.set(self.cached_bytes.get() + bytes);
    }

    /// Charges a span of `pages` pages that a buffer got, with `gives` bytes of free cells; `was_cached` if it was a
    /// cached span.
    pub(super) fn opened(&self, pages: PageCount, was_cached: bool, gives: usize) {
        if was_cached {
            self.note_uncached(pages.bytes());
        }
        self.demand.set(PageCount(self.demand.get().0 + pages.0));
        self.update(|a| Account { owed: a.owed + gives, ..a });
    }

    /// Sets the free bytes in the span of a shape's buffer.
    pub(super) fn hold(&self, shape: ShapeId, bytes: usize) {
        let before = self.cached(shape).replace_held(bytes);
        self.open_bytes.set((self.open_bytes.get() + bytes).saturating_sub(before));
    }

    /// Subtracts bytes of cached spans, down to 0.
    pub(super) fn note_uncached(&self, bytes: usize) {
        self.cached_bytes.set(self.cached_bytes.get().saturating_sub(bytes));
    }

    fn update(&self, f: impl FnOnce(Account) -> Account) {
        self.account.set(f(self.account.get()));
    }

    /// Charges a freed cell of `bytes` bytes that is used again.
    pub(super) fn charge(&self, bytes: usize) {
        self.update(|a| Account { owed: a.owed + bytes, ..a });
    }

    /// Refunds charged bytes that come back unused.
    pub(super) fn refund(&self, bytes: usize) {
        self.update(|a| Account { returned: a.returned + bytes, ..a });
    }

    /// Notes that the program has freed an object of `bytes` bytes.
    pub(super) fn note_freed(&self, bytes: usize) {
        self.update(|a| Account { freed: a.freed + bytes, ..a });
    }

    /// Notes bytes that an arena has left to the collector.
    pub(crate) fn note_left_by_arena(&self, bytes: usize) {
        self.update(|a| Account { left_by_arenas: a.left_by_arenas + bytes, ..a });
    }

    /// Bytes that arenas have left to the collector since the last announcement.
    pub(crate) fn left_by_arenas(&self) -> usize {
        self.account.get().left_by_arenas
    }

    /// Adds spans swept.
    pub(super) fn note_swept(&self, swept: Swept) {
        self.update(|a| Account { swept: a.swept + swept, ..a });
    }

    /// What it has swept since it settled its account.
    pub(super) fn swept(&self) -> Swept {
        self.account.get().swept
    }

    /// Adds ticks of a refill that the heap's size cut short.
    pub(super) fn note_starved(&self, ticks: u64) {
        self.update(|a| Account { starved: a.starved + ticks, ..a });
    }

    /// Takes the account, to be settled.
    pub(crate) fn take_account(&self) -> Account {
        self.account.take()
    }

    /// Whether it has refilled in this cycle before; notes that it has now.
    pub(super) fn refills_in(&self, cycle: u32) -> bool {
        self.refilled_in.replace(cycle) == cycle
    }

    /// Adds `more` spans to those that it must sweep for all; returns how many to sweep now. Each batch takes the page
    /// allocator's lock, so fewer than `least` wait.
    pub(super) fn sweep_batch(&self, more: u32, least: u32) -> u32 {
        let due = self.due.get().saturating_add(more);
        let now = if due < least { 0 } else { due };
        self.due.set(due - now);
        now
    }

    /// Uses credit for a new span of `pages` pages.
    pub(super) fn use_credit(&self, pages: PageCount) {
        self.credit.set(self.credit.get().saturating_sub(pages.0 as u32));
    }

    /// The pages that it may take for new spans.
    pub(super) fn credit(&self) -> u32 {
        self.credit.get()
    }

    /// Marks a shape active: its buffer or its cached spans may hold something.
    pub(super) fn activate(&self, shape: ShapeId) {
        let word = shape.index() / 64;
        let (bits, words) = (&self.active.bits[word], &self.active.words[word / 64]);
        bits.set(bits.get() | 1 << (shape.index() % 64));
        words.set(words.get() | 1 << (word % 64));
    }

    /// Calls `f` with each active shape; the shape stays active if `f` returns true.
    pub(crate) fn retain_active(&self, mut f: impl FnMut(ShapeId) -> bool) {
        for (at, words) in self.active.words.iter().enumerate() {
            let mut left = words.get();
            while left != 0 {
                let word = at * 64 + left.trailing_zeros() as usize;
                left &= left - 1;
                let (bits, mut gone) = (&self.active.bits[word], 0);
                let mut rest = bits.get();
                while rest != 0 {
                    let bit = rest & rest.wrapping_neg();
                    rest ^= bit;
                    let shape = ShapeId::from_index((word * 64) as u32 + bit.trailing_zeros());
                    gone |= if f(shape) { 0 } else { bit };
                }
                // `f` may have activated other shapes of the word.
                bits.set(bits.get() & !gone);
                if bits.get() == 0 {
                    words.set(words.get() & !(1 << (word % 64)));
                }
            }
        }
    }

    /// Calls `f` with each active shape.
    pub(crate) fn for_each_active(&self, mut f: impl FnMut(ShapeId)) {
        self.retain_active(|shape| {
            f(shape);
            true
        });
    }

    /// Whether there is nothing to return.
    pub(crate) fn is_empty(&self) -> bool {
        self.active.words.iter().all(|words| words.get() == 0)
            && self.account.get() == Account::default()
            && self.pages.is_empty()
            && !self.run_owner.is_listed()
    }
}

/// The cached spans of one shape in a mutator: swept spans to allocate from next, used-up spans to return, cells that
/// the program freed, and the observations by which a refill decides how many spans it brings (`policy/refill`). These spans
/// are the mutator's and were swept in this cycle.
#[derive(Default)]
pub(super) struct CachedSpans {
    /// Spans with free cells, to be used next.
    pub(super) spans: Cell<SpanList>,
    /// Spans without free cells: first those that the sweep found full, then those that its buffer used up.
    without_free: Cell<SpanList>,
    pub(super) freed: Cell<FreedCells>,
    /// The batch size of the last refill, and the cycle of that refill.
    batch: Cell<u16>,
    /// The objects that its spans had room for, of those opened since.
    room: Cell<u16>,
    batch_in: Cell<u32>,
    /// Bytes in the buffer's span that hold no object, as the mutator's account has them.
    held: Cell<u32>,
    /// Pages of the spans that the buffer got recently: a part of the mutator's demand ([`ThreadCache`]).
    demand: Cell<u16>,
    /// The number of spans that the sweep found full.
    full: Cell<u16>,
}

// Each mutator has one for each shape. A cache line keeps the shapes in use compact.
const _: () = assert!(size_of::<CachedSpans>() == 64);

// SAFETY: all-zero bytes are empty lists and no freed cells; they hold plain numbers.
unsafe impl Zeroed for CachedSpans {}

impl CachedSpans {
    /// The batch size of a refill in this cycle.
    pub(super) fn next_batch(&self, cycle: u32) -> u32 {
        let (last, last_in) = (self.batch.get() as u32, self.batch_in.replace(cycle));
        let next = refill::next_batch(last, cycle.wrapping_sub(last_in));
        self.batch.set(next as u16);
        self.room.set(0);
        next
    }

    /// Whether a refill in this cycle is likely to find spans with room.
    pub(super) fn is_refill_worthwhile(&self, cycle: u32) -> bool {
        refill::is_worthwhile(self.batch_in.get() != cycle, self.room.get() as u32)
    }

    /// Adds the room, in objects, of a span from the last refill that the buffer opens.
    pub(super) fn note_room(&self, objects: usize) {
        self.room.set(self.room.get().saturating_add(objects as u16));
    }

    /// The spans that the shape is expected to need, besides its cached ones and `left` bytes in its buffer.
    pub(super) fn expected(&self, forecast: Forecast, left: usize, span_bytes: usize) -> u32 {
        let has = left + self.spans.get().len() as usize * span_bytes;
        forecast.spans(PageCount(self.demand.get() as usize), has, span_bytes)
    }

    /// The batch size of the last refill.
    pub(super) fn last_batch(&self) -> u32 {
        self.batch.get().max(1) as u32
    }

    /// Adds a span of `pages` pages that its buffer got to the demand.
    pub(super) fn note_demand(&self, pages: PageCount) {
        self.demand.set(self.demand.get().saturating_add(pages.0 as u16));
    }

    /// Halves the demand if `ages`, but never to zero; returns the demand.
    pub(super) fn age_demand(&self, ages: bool) -> PageCount {
        if ages {
            self.demand.set(self.demand.get().div_ceil(2));
        }
        PageCount(self.demand.get() as usize)
    }

    /// Replaces the account's bytes for the buffer's span; returns the old number.
    pub(super) fn replace_held(&self, bytes: usize) -> usize {
        self.held.replace(bytes as u32) as usize
    }

    /// Forgets the last refill: the thread leaves or has other work.
    pub(super) fn forget_refills(&self) {
        self.batch_in.set(0);
    }

    /// Adds a used-up span.
    pub(super) fn add_used(&self, spans: &Spans, page: PageIndex) {
        let mut list = self.without_free.get();
        list.push(spans, page);
        self.without_free.set(list);
    }

    /// Adds spans that the sweep found full.
    pub(super) fn add_full(&self, spans: &Spans, full: SpanList) {
        let mut list = self.without_free.get();
        list.prepend(spans, full);
        self.without_free.set(list);
        // More than it can count are taken for used-up ones: they are swept once too often.
        self.full.set(self.full.get().saturating_add(full.len().min(u16::MAX as u32) as u16));
    }

    /// Takes the spans without free cells.
    pub(super) fn take_without_free(&self, spans: &Spans) -> SpansWithoutFree {
        let (mut used, count) = (self.without_free.take(), self.full.take() as u32);
        let mut full = used.split(spans, count);
        // The last of them may share a batch with others.
        full.append(spans, used.split(spans, count - full.len()));
        SpansWithoutFree { used, full }
    }

    /// All spans without free cells.
    pub(super) fn without_free(&self) -> SpanList {
        self.without_free.get()
    }
}
