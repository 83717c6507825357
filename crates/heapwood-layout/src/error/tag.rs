//! Errors of tags. Invariant: an error holds the bits that contradict each other.

use crate::limits::MAX_TAGS;
use core::fmt;

/// Why a tag was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum TagError {
    /// The mask has no bits.
    NoMask,
    /// The mask has bits that tell objects apart.
    AddressBits {
        /// The mask.
        mask: u64,
    },
    /// The pattern has bits that the mask lacks.
    Outside {
        /// The mask.
        mask: u64,
        /// The pattern.
        pattern: u64,
    },
    /// A word can have this tag and one that the heap has.
    Overlap {
        /// Mask and pattern of the new one.
        tag: (u64, u64),
        /// Those of the other.
        other: (u64, u64),
    },
    /// The heap has as many as it can.
    Many,
    /// The heap has types already.
    Late,
}

impl fmt::Display for TagError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TagError::NoMask => {
                write!(f, "the tag's mask is 0: an object's address as it is always counts, and needs no tag")
            }
            TagError::AddressBits { mask } => write!(
                f,
                "the tag's mask, {mask:#x}, has some of the bits 4 to 46, which tell objects apart: a tag lies in bits 0 to 3 and 47 \
                 to 63"
            ),
            TagError::Outside { mask, pattern } => write!(
                f,
                "the tag's pattern, {pattern:#x} has bits outside the mask, {mask:#x}: no word could have the tag"
            ),
            TagError::Overlap { tag, other } => write!(
                f,
                "a word can have both the tag of mask {:#x} and pattern {:#x} and the heap's tag of mask {:#x} and pattern {:#x}: give \
                 both masks a bit in which the patterns differ",
                tag.0, tag.1, other.0, other.1
            ),
            TagError::Many => write!(f, "the heap has {MAX_TAGS} tags, and can have no more"),
            TagError::Late => write!(f, "the heap has types: give it its tags before the first type"),
        }
    }
}

impl core::error::Error for TagError {}
