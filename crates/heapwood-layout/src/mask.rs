//! A pointer mask: bit `i` is set if word `i` of a value is a pointer. It comes from the pointer bitmaps of the Go
//! runtime's types. Invariant: it describes at most [`MAX_MASK_WORDS`] words, and no bit beyond these is set. Later
//! words of a type hold no pointers.

use crate::error::LayoutError;
use crate::{MASK_BLOCKS, MAX_MASK_WORDS};

/// One bit for each word, set for pointers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PointerMask {
    bits: [u64; MASK_BLOCKS],
    words: u32,
}

impl PointerMask {
    /// The mask of a type of `words` words: bit `i % 64` of `bits[i / 64]` for word `i`. For a longer type it
    /// describes the first [`MAX_MASK_WORDS`] words, and the others hold no pointers.
    pub const fn new(words: usize, bits: [u64; MASK_BLOCKS]) -> Result<Self, LayoutError> {
        match last_bit(&bits) {
            Some(bit) if bit >= words => Err(LayoutError::BitBeyondType { bit, words }),
            _ if words > MAX_MASK_WORDS => Ok(PointerMask { bits, words: MAX_MASK_WORDS as u32 }),
            _ => Ok(PointerMask { bits, words: words as u32 }),
        }
    }

    /// The bits, word 0 of the type in the lowest bit of the first.
    pub const fn bits(&self) -> [u64; MASK_BLOCKS] {
        self.bits
    }

    /// The number of words that the mask describes: those of the type, but at most [`MAX_MASK_WORDS`].
    pub const fn words(&self) -> usize {
        self.words as usize
    }

    /// Whether word `i` is a pointer; false beyond the mask.
    pub const fn is_set(&self, i: usize) -> bool {
        i < MAX_MASK_WORDS && self.bits[i / 64] >> (i % 64) & 1 == 1
    }

    /// The number of pointers.
    pub const fn count(&self) -> usize {
        let mut sum = 0;
        let mut block = 0;
        while block < MASK_BLOCKS {
            sum += self.bits[block].count_ones() as usize;
            block += 1;
        }
        sum
    }

    /// The indexes of the words that are pointers, ascending.
    #[inline]
    pub const fn iter(&self) -> SetWords {
        SetWords { bits: self.bits, block: 0 }
    }
}

impl IntoIterator for PointerMask {
    type Item = usize;
    type IntoIter = SetWords;

    #[inline]
    fn into_iter(self) -> SetWords {
        self.iter()
    }
}

impl IntoIterator for &PointerMask {
    type Item = usize;
    type IntoIter = SetWords;

    #[inline]
    fn into_iter(self) -> SetWords {
        self.iter()
    }
}

/// The indexes of a mask's set bits, ascending. The cost depends on the number of set bits, not of words.
#[derive(Clone, Debug)]
pub struct SetWords {
    /// The remaining bits.
    bits: [u64; MASK_BLOCKS],
    /// Blocks before this one are empty.
    block: usize,
}

impl Iterator for SetWords {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        while let Some(bits) = self.bits.get_mut(self.block) {
            if *bits != 0 {
                let bit = bits.trailing_zeros() as usize;
                *bits &= *bits - 1;
                return Some(self.block * 64 + bit);
            }
            self.block += 1;
        }
        None
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.bits.iter().map(|b| b.count_ones() as usize).sum();
        (left, Some(left))
    }
}

impl ExactSizeIterator for SetWords {}
impl core::iter::FusedIterator for SetWords {}

/// The index of the highest set bit.
pub(crate) const fn last_bit(bits: &[u64]) -> Option<usize> {
    let mut block = bits.len();
    while block > 0 {
        block -= 1;
        if let Some(bit) = bits[block].checked_ilog2() {
            return Some(block * 64 + bit as usize);
        }
    }
    None
}
