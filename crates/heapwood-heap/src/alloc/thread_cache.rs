//! What a mutator keeps beside its bumps, so that most spans come without a lock: a page cache, an account of what
//! it has taken since it last locked what is shared, and which of its thousands of bumps hold anything at all.
//! Invariant: what is owed to the account is at most `MOST_SPANS` spans; nothing is left in it while its mutator is
//! stopped at a safepoint and flushed; a bump that is not active has no run, no span and no list.

use crate::layout::shape_id::{MAX_SHAPES, ShapeId};
use crate::reclaim::central::Account;
use core::cell::Cell;
use heapwood_os::region::Zeroed;
use heapwood_pages::PageCache;

/// How many spans a mutator takes before it locks what is shared again: as many as it may take home to sweep, or new ones. So
/// a collection begins at most that much late for each mutator.
pub(crate) const MOST_SPANS: u32 = 16;

/// A mutator's own, beside its bumps.
#[derive(Default)]
pub struct ThreadCache {
    pages: Cell<PageCache>,
    account: Cell<Account>,
    /// How many new spans it may still take.
    credit: Cell<u32>,
    active: ActiveBumps,
}

// SAFETY: all-zero bytes are an empty cache, plain zeros, and an empty set; nothing needs a drop.
unsafe impl Zeroed for ThreadCache {}

const WORDS: usize = MAX_SHAPES / 64;

/// A set of shapes: a bit for each, and a bit for each word of those. What a stop costs depends on how many there are in
/// it, not on how many shapes the heap has.
struct ActiveBumps {
    words: [Cell<u64>; WORDS / 64],
    bits: [Cell<u64>; WORDS],
}

impl Default for ActiveBumps {
    fn default() -> Self {
        ActiveBumps { words: [const { Cell::new(0) }; WORDS / 64], bits: [const { Cell::new(0) }; WORDS] }
    }
}

impl ThreadCache {
    /// Lets `f` use the mutator's pages.
    #[inline]
    pub(crate) fn with_pages<R>(&self, f: impl FnOnce(&mut PageCache) -> R) -> R {
        let mut pages = self.pages.get();
        let result = f(&mut pages);
        self.pages.set(pages);
        result
    }

    /// A span that gives so many bytes was taken.
    pub(crate) fn charge(&self, bytes: usize) {
        let account = self.account.get();
        self.account.set(Account { owed: account.owed + bytes, spans: account.spans + 1, ..account });
    }

    /// So many bytes come back that were charged.
    pub(crate) fn refund(&self, bytes: usize) {
        let account = self.account.get();
        self.account.set(Account { returned: account.returned + bytes, ..account });
    }

    /// The account, which is settled.
    pub(crate) fn take_account(&self) -> Account {
        self.account.take()
    }

    /// It may take so many new spans.
    pub(crate) fn set_credit(&self, spans: u32) {
        self.credit.set(spans);
    }

    /// Whether it may take one more; then that is done.
    pub(crate) fn use_credit(&self) -> bool {
        let credit = self.credit.get();
        self.credit.set(credit.saturating_sub(1));
        credit > 0
    }

    /// The bump of this shape may hold something from now on.
    pub(crate) fn activate(&self, shape: ShapeId) {
        let word = shape.index() / 64;
        let (bits, words) = (&self.active.bits[word], &self.active.words[word / 64]);
        bits.set(bits.get() | 1 << (shape.index() % 64));
        words.set(words.get() | 1 << (word % 64));
    }

    /// Takes an active shape out of the set.
    pub(crate) fn next_active(&self) -> Option<ShapeId> {
        let at = self.active.words.iter().position(|words| words.get() != 0)?;
        let words = &self.active.words[at];
        let word = at * 64 + words.get().trailing_zeros() as usize;
        let bits = &self.active.bits[word];
        let shape = word * 64 + bits.get().trailing_zeros() as usize;
        bits.set(bits.get() & (bits.get() - 1));
        if bits.get() == 0 {
            words.set(words.get() & (words.get() - 1));
        }
        Some(ShapeId::from_index(shape as u32))
    }

    /// Whether nothing is left to be given back when the mutator stops.
    pub(crate) fn is_empty(&self) -> bool {
        self.active.words.iter().all(|words| words.get() == 0)
            && self.account.get() == Account::default()
            && self.pages.get().is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_active_shape_is_found_once_and_no_other() {
        let cache = ThreadCache::default();
        assert_eq!(cache.next_active(), None);
        let shapes = [1, 2, 63, 64, 65, 4095, 4096, 9000, MAX_SHAPES as u32 - 1];
        for round in 0..2 {
            for &shape in shapes.iter().rev() {
                cache.activate(ShapeId::from_index(shape));
                cache.activate(ShapeId::from_index(shape));
            }
            let found: Vec<u32> =
                core::iter::from_fn(|| cache.next_active()).map(|s| s.index() as u32).collect();
            assert_eq!(found, shapes, "round {round}");
        }
    }
}
