//! What a mutator keeps beside its allocation buffers, so that most spans come without a lock: pages, an account of what it has taken
//! since it last visited what is shared, how much it may have, what it swept for others, and which of its thousands of allocation buffers
//! hold anything at all. Invariant: what it owes to the account is what the last central refill allowed; an allocation buffer that is not active has
//! no run and no span, and its home is empty.

use crate::alloc::cached_spans::CachedSpans;
use crate::arenas::lists::ArenaLists;
use crate::layout::shape_id::{MAX_SHAPES, ShapeId};
use crate::pages::page_blocks::PageBlocks;
use crate::reclaim::central::{Account, Share, SweptSpans};
use crate::reclaim::clock::Swept;
use core::cell::Cell;
use heapwood_os::region::Zeroed;
use heapwood_pages::{PAGE_SIZE, PageCount};

/// A mutator's own, beside its allocation buffers.
pub struct ThreadCache {
    pages: PageBlocks,
    account: Cell<Account>,
    share: Cell<Share>,
    /// How many pages it may still take for new spans.
    credit: Cell<u32>,
    /// How many bytes of large objects it may still take.
    large_credit: Cell<usize>,
    /// Bytes of the spans in the cache; and of the free cells of those that allocation buffers have, as of when each was last looked at.
    cached_bytes: Cell<usize>,
    open_bytes: Cell<usize>,
    /// Pages of the spans that allocation buffers were given lately.
    demand: Cell<PageCount>,
    /// The cycle of its last central refill.
    refilled_in: Cell<u32>,
    swept_spans: Cell<SweptSpans>,
    /// Spans that it owes to sweep for everyone.
    due: Cell<u32>,
    active: ActiveBuffers,
    arenas: ArenaLists,
    cached_spans: [CachedSpans; MAX_SHAPES],
}

// SAFETY: all-zero bytes are empty caches, lists and sets, and plain zeros; nothing needs a drop.
unsafe impl Zeroed for ThreadCache {}

const WORDS: usize = MAX_SHAPES / 64;

/// A set of shapes: a bit for each, and a bit for each word of those. What a stop costs depends on how many there are in
/// it, not on how many shapes the heap has.
struct ActiveBuffers {
    words: [Cell<u64>; WORDS / 64],
    bits: [Cell<u64>; WORDS],
}

impl ThreadCache {
    /// The pages that it has cached.
    #[inline]
    pub(super) fn pages(&self) -> &PageBlocks {
        &self.pages
    }

    /// Its arenas.
    #[inline]
    pub(crate) fn arenas(&self) -> &ArenaLists {
        &self.arenas
    }

    /// What it keeps of a shape beside the allocation buffer.
    #[inline]
    pub(super) fn cached(&self, shape: ShapeId) -> &CachedSpans {
        &self.cached_spans[shape.index()]
    }

    /// Bytes of memory in the mutator's hands that no object has, or at most so many: pages, spans that wait, and cells of
    /// those that it allocates from.
    pub(super) fn held_bytes(&self) -> usize {
        let swept = self.swept_spans.get().partial.len() as usize * PAGE_SIZE;
        self.pages.count().bytes() + self.cached_bytes.get() + self.open_bytes.get() + swept
    }

    /// How many pages of spans its allocation buffers were given lately.
    pub(super) fn demand(&self) -> PageCount {
        self.demand.get()
    }

    /// So many of them count.
    pub(super) fn set_demand(&self, pages: PageCount) {
        self.demand.set(pages);
    }

    /// How much it may have.
    pub(super) fn share(&self) -> Share {
        self.share.get()
    }

    /// How much it may have from now on, and how many pages for new spans.
    pub(super) fn set_share(&self, share: Share, credit: u32) {
        self.share.set(share);
        self.credit.set(credit);
    }

    /// How many bytes of large objects it may take from now on.
    pub(super) fn set_large_credit(&self, bytes: usize) {
        self.large_credit.set(bytes);
    }

    /// It may take no new span, and no large object, before its next central refill.
    pub(super) fn end_credit(&self) {
        self.credit.set(0);
        self.large_credit.set(0);
    }

    /// How many bytes of large objects it may take.
    #[inline]
    pub(super) fn large_credit(&self) -> usize {
        self.large_credit.get()
    }

    /// It has taken a large object of N bytes, no more than it may.
    #[inline]
    pub(super) fn charge_large(&self, bytes: usize) {
        self.large_credit.set(self.large_credit.get() - bytes);
        self.update(|a| Account { owed: a.owed + bytes, large: a.large + bytes, ..a });
    }

    /// The lock of the pages was taken for one.
    pub(super) fn note_large_page_lock(&self) {
        self.update(|a| Account { large_page_locks: a.large_page_locks + 1, ..a });
    }

    /// Spans of N bytes have come home, or none is left there.
    pub(super) fn note_cached(&self, bytes: usize) {
        self.cached_bytes.set(self.cached_bytes.get() + bytes);
    }

    /// An allocation buffer has a span of N pages, which was in the cache or not, and gives N bytes.
    pub(super) fn opened(&self, pages: PageCount, was_cached: bool, gives: usize) {
        if was_cached {
            self.note_uncached(pages.bytes());
        }
        self.demand.set(PageCount(self.demand.get().0 + pages.0));
        self.update(|a| Account { owed: a.owed + gives, spans: a.spans + 1, ..a });
    }

    /// Of the span that the allocation buffer of a shape has N bytes are free.
    pub(super) fn hold(&self, shape: ShapeId, bytes: usize) {
        let before = self.cached(shape).replace_held(bytes);
        self.open_bytes.set((self.open_bytes.get() + bytes).saturating_sub(before));
    }

    /// Spans of N bytes are no longer in the cache.
    pub(super) fn note_uncached(&self, bytes: usize) {
        self.cached_bytes.set(self.cached_bytes.get().saturating_sub(bytes));
    }

    fn update(&self, f: impl FnOnce(Account) -> Account) {
        self.account.set(f(self.account.get()));
    }

    /// A freed cell of N bytes is used again.
    pub(super) fn charge(&self, bytes: usize) {
        self.update(|a| Account { owed: a.owed + bytes, ..a });
    }

    /// So many bytes come back that were charged.
    pub(super) fn refund(&self, bytes: usize) {
        self.update(|a| Account { returned: a.returned + bytes, ..a });
    }

    /// The program has freed an object of N bytes.
    pub(super) fn note_freed(&self, bytes: usize) {
        self.update(|a| Account { freed: a.freed + bytes, ..a });
    }

    /// An arena has left N bytes to the collector.
    pub(crate) fn note_left_by_arena(&self, bytes: usize) {
        self.update(|a| Account { left_by_arenas: a.left_by_arenas + bytes, ..a });
    }

    /// How many bytes arenas have left to the collector without telling.
    pub(crate) fn left_by_arenas(&self) -> usize {
        self.account.get().left_by_arenas
    }

    /// So much was swept.
    pub(super) fn note_swept(&self, swept: Swept) {
        self.update(|a| Account { swept: a.swept + swept, ..a });
    }

    /// A visit took so many ticks and brought too little.
    pub(super) fn note_starved(&self, ticks: u64) {
        self.update(|a| Account { starved: a.starved + ticks, ..a });
    }

    /// An allocation buffer was refilled.
    #[inline]
    pub(super) fn note_refill(&self) {
        self.update(|a| Account { refills: a.refills + 1, ..a });
    }

    /// The account, which is settled.
    pub(crate) fn take_account(&self) -> Account {
        self.account.take()
    }

    /// Whether it has visited in this cycle before; from now on it has.
    pub(super) fn refills_in(&self, cycle: u32) -> bool {
        self.refilled_in.replace(cycle) == cycle
    }

    /// What it swept for others, which has not been handed in.
    pub(super) fn swept_spans(&self) -> &Cell<SweptSpans> {
        &self.swept_spans
    }

    /// It owes to sweep N spans more; how many it sweeps now. Each sweep batch takes the page allocator's lock, so fewer than
    /// `least` are not swept before there are more.
    pub(super) fn sweep_batch(&self, more: u32, least: u32) -> u32 {
        let due = self.due.get().saturating_add(more);
        let now = if due < least { 0 } else { due };
        self.due.set(due - now);
        now
    }

    /// It takes a new span of N pages.
    pub(super) fn use_credit(&self, pages: PageCount) {
        self.credit.set(self.credit.get().saturating_sub(pages.0 as u32));
    }

    /// How many it may take.
    pub(super) fn credit(&self) -> u32 {
        self.credit.get()
    }

    /// The allocation buffer of this shape, or its home, may hold something from now on.
    pub(super) fn activate(&self, shape: ShapeId) {
        let word = shape.index() / 64;
        let (bits, words) = (&self.active.bits[word], &self.active.words[word / 64]);
        bits.set(bits.get() | 1 << (shape.index() % 64));
        words.set(words.get() | 1 << (word % 64));
    }

    /// Calls `f` with each active shape, which stays so if that says so.
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
                // Others of the word may have become active meanwhile.
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

    /// Whether nothing is left to be given back.
    pub(crate) fn is_empty(&self) -> bool {
        self.active.words.iter().all(|words| words.get() == 0)
            && self.account.get() == Account::default()
            && self.pages.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heapwood_os::MappedArray;

    #[test]
    fn every_active_shape_is_found_once_and_no_other() {
        let memory = MappedArray::<ThreadCache>::new(&heapwood_os::SYSTEM, 1).unwrap();
        memory.commit(0..1).unwrap();
        // SAFETY: committed, and zeros are an empty cache.
        let cache = unsafe { &*memory.at(0) };
        let active = || {
            let mut found = Vec::new();
            cache.for_each_active(|shape| found.push(shape.index() as u32));
            found
        };
        assert_eq!(active(), []);
        let shapes = [1, 2, 63, 64, 65, 4095, 4096, 9000, MAX_SHAPES as u32 - 1];
        for round in 0..2 {
            for &shape in shapes.iter().rev() {
                cache.activate(ShapeId::from_index(shape));
                cache.activate(ShapeId::from_index(shape));
            }
            assert_eq!(active(), shapes, "round {round}");
            cache.retain_active(|shape| shape.index() % 2 == 0);
            assert_eq!(active(), [2, 64, 4096, 9000]);
            cache.retain_active(|_| false);
            assert!(active().is_empty() && cache.is_empty());
        }
    }
}
