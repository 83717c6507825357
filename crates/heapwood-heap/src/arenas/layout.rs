//! The layout of a type with pointers in an arena: its length, and its pointer words. Invariant: a value is whole
//! words, and the mask has no bit beyond them.

use crate::granule::GRANULE;
use heapwood_layout::{MASK_BLOCKS, MAX_MASK_WORDS, WORD};

/// The layout of adjacent values with pointers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArenaLayout {
    bytes: usize,
    mask: [u64; MASK_BLOCKS],
}

impl ArenaLayout {
    /// Values of `bytes` bytes whose words `mask` are pointers; `None` if they are not whole words, or longer than a
    /// mask reaches. Such values live in the heap.
    pub const fn new(bytes: usize, mask: [u64; MASK_BLOCKS]) -> Option<Self> {
        if bytes == 0 || !bytes.is_multiple_of(WORD) || bytes / WORD > MAX_MASK_WORDS {
            return None;
        }
        Some(ArenaLayout { bytes, mask })
    }

    /// The same, with each value at a multiple of 16 bytes, as in the heap.
    pub const fn aligned(bytes: usize, mask: [u64; MASK_BLOCKS]) -> Option<Self> {
        match bytes.checked_next_multiple_of(GRANULE) {
            Some(bytes) => Self::new(bytes, mask),
            None => None,
        }
    }

    /// The bytes of a value.
    #[inline(always)]
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) const fn words(&self) -> usize {
        self.bytes / WORD
    }

    pub(super) const fn mask(&self) -> &[u64; MASK_BLOCKS] {
        &self.mask
    }
}
