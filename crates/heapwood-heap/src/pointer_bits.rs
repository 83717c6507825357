//! Pointer bits: for objects whose layout has no spans of its own, one bit a word beside the heap that says where their
//! pointers are, written when they are allocated. Invariant: the bits of an object in a span of a mixed shape are those of
//! its layout, and zero to the end of its cell; elsewhere they mean nothing. A span's bits fill whole words, so they
//! belong to the span's owner. That such bits stand beside the heap rather than in each span follows the mark bits
//! (docs/METADATA.md).

use core::ops::Range;
use heapwood_os::{KernelRef, MappedArray, OsError};

const WORD: usize = size_of::<usize>();
/// Bytes of the heap that a word of bits is about.
const BYTES: usize = 64 * WORD;

/// The bits of a heap whose window starts at `base`.
pub struct PointerBits {
    bits: MappedArray<u64>,
    base: usize,
}

impl PointerBits {
    /// Reserves bits for `window` bytes from `base`.
    pub(crate) fn new(kernel: KernelRef, base: usize, window: usize) -> Result<Self, OsError> {
        Ok(PointerBits { bits: MappedArray::new(kernel, window.div_ceil(BYTES))?, base })
    }

    /// Makes the bits for the bytes `from..to` of the window usable.
    pub(crate) fn commit(&self, from: usize, to: usize) -> Result<(), OsError> {
        self.bits.commit(from / BYTES..to.div_ceil(BYTES))
    }

    /// Writes the bits of the cell `cell`: `write` is given the words that hold them, in which the cell's bits are zero,
    /// and the first bit.
    ///
    /// # Safety
    /// 1. The cell lies in a span that this thread owns, and no marking is under way.
    pub(crate) unsafe fn write(&self, cell: Range<usize>, write: impl FnOnce(&mut [u64], usize)) {
        let first = (cell.start - self.base) / WORD;
        let end = (cell.end - self.base) / WORD;
        let (low, high) = (first / 64, end.div_ceil(64));
        // SAFETY: contract 1; the words of a span are its own (pages are multiples of what a word is about), and they
        // are committed.
        let words = unsafe { core::slice::from_raw_parts_mut(self.bits.at(low), high - low) };
        for (k, word) in words.iter_mut().enumerate() {
            let base = (low + k) * 64;
            let from = first.max(base) - base;
            let to = (end - base).min(64);
            *word &= !(u64::MAX << from & u64::MAX >> (64 - to));
        }
        write(words, first - low * 64);
    }

    /// Calls `slot` with the address of each pointer of the object that fills the bytes.
    pub fn for_each(&self, object: Range<usize>, mut slot: impl FnMut(usize)) {
        let first = (object.start - self.base) / WORD;
        let end = (object.end - self.base) / WORD;
        for index in first / 64..end.div_ceil(64) {
            let base = index * 64;
            // SAFETY: callers ask about objects in spans, whose bits are committed.
            let mut word = unsafe { self.bits.at(index).read() };
            word &= u64::MAX << (first.max(base) - base) & u64::MAX >> (64 - (end - base).min(64));
            while word != 0 {
                slot(self.base + (base + word.trailing_zeros() as usize) * WORD);
                word &= word - 1;
            }
        }
    }
}

/// Sets the bits of `mask` from bit `at` on, those from `limit` on left out.
pub(crate) fn or_mask(out: &mut [u64], at: usize, mask: &[u64], limit: usize) {
    for (k, &bits) in mask.iter().enumerate() {
        let at = at + k * 64;
        if bits == 0 || at >= limit {
            continue;
        }
        let bits = if limit - at < 64 { bits & ((1 << (limit - at)) - 1) } else { bits };
        out[at / 64] |= bits << (at % 64);
        if !at.is_multiple_of(64) && bits >> (64 - at % 64) != 0 {
            out[at / 64 + 1] |= bits >> (64 - at % 64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_cell_has_its_own_bits_and_no_others(
            cells in prop::collection::vec((1usize..300, any::<[u64; 4]>()), 1..20),
            order in any::<u64>(),
        ) {
            let bits = PointerBits::new(&heapwood_os::SYSTEM, 1 << 20, 1 << 20).unwrap();
            bits.commit(0, 1 << 20).unwrap();
            let mut at = 1 << 20;
            let mut placed = Vec::new();
            for (words, mask) in cells {
                let mask: Vec<u64> = (0..4).map(|k| match words.saturating_sub(k * 64) {
                    0 => 0,
                    left @ 1..64 => mask[k] & ((1 << left) - 1),
                    _ => mask[k],
                }).collect();
                placed.push((at..at + words * 8, mask));
                at += words * 8;
            }
            // Written twice over, in some order: what was there before does not stay.
            for round in 0..2 {
                for k in 0..placed.len() {
                    let (cell, mask) = &placed[(k + order as usize % placed.len() * round) % placed.len()];
                    let limit = |from: usize| from + (cell.end - cell.start) / 8;
                    // SAFETY: this test's own.
                    unsafe { bits.write(cell.clone(), |out, from| or_mask(out, from, mask, limit(from))) };
                }
            }
            for (cell, mask) in &placed {
                let mut found = Vec::new();
                bits.for_each(cell.clone(), |slot| found.push((slot - cell.start) / 8));
                let expected: Vec<usize> = (0..256).filter(|i| mask[i / 64] >> (i % 64) & 1 == 1).collect();
                prop_assert_eq!(found, expected);
            }
        }
    }
}
