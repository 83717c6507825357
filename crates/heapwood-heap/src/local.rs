//! What a mutator keeps beside its bumps, so that most spans come without a lock: a page cache, an account of what
//! it has taken since it last visited the shared state, and which of its thousands of bumps hold anything at all.
//! Invariant: what is owed to the account is at most `MOST_SPANS` spans; nothing is left in it while its mutator is
//! stopped at a safepoint and flushed; a bump that is not active has no run, no span and no list.

use crate::shape_id::{MAX_SHAPES, ShapeId};
use core::cell::Cell;
use heapwood_os::region::Zeroed;
use heapwood_pages::PageCache;

/// How many spans a mutator takes between two visits to the shared state: as many as it may take home to sweep, or new
/// ones. So a collection begins at most that much late for each mutator.
pub(crate) const MOST_SPANS: u32 = 16;

/// A mutator's own, beside its bumps.
#[derive(Default)]
pub struct Local {
    pub(crate) pages: Cell<PageCache>,
    /// Bytes taken and not yet charged.
    pub(crate) owed: Cell<usize>,
    /// Bytes that were charged once and have been given back unused.
    pub(crate) returned: Cell<usize>,
    /// How many new spans it may still take before the next visit.
    pub(crate) credit: Cell<u32>,
    /// Spans taken since the last visit.
    pub(crate) spans: Cell<u32>,
    active: ActiveBumps,
}

// SAFETY: all-zero bytes are an empty cache, plain zeros and an empty set; nothing needs a drop.
unsafe impl Zeroed for Local {}

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

impl Local {
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
        Some(ShapeId(shape as u32))
    }

    /// Whether nothing is left to be given back when the mutator stops.
    pub(crate) fn is_empty(&self) -> bool {
        self.active.words.iter().all(|words| words.get() == 0)
            && self.owed.get() == 0
            && self.spans.get() == 0
            && self.pages.get().is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_active_shape_is_found_once_and_no_other() {
        let local = Local::default();
        assert_eq!(local.next_active(), None);
        let shapes = [1, 2, 63, 64, 65, 4095, 4096, 9000, MAX_SHAPES as u32 - 1];
        for round in 0..2 {
            for &shape in shapes.iter().rev() {
                local.activate(ShapeId(shape));
                local.activate(ShapeId(shape));
            }
            let found: Vec<u32> = core::iter::from_fn(|| local.next_active()).map(|s| s.0).collect();
            assert_eq!(found, shapes, "round {round}");
        }
    }
}
