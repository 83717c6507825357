//! Errors of a size, or of a size with a mask, that fits no type. Invariant: an error holds the numbers that
//! contradict each other.

use crate::{MAX_MASK_WORDS, WORD};
use core::fmt;

/// Why the description of a type was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum LayoutError {
    /// The size is zero. Every object has an address of its own, so it has at least one byte.
    ZeroSize,
    /// The size is larger than the largest object.
    TooLarge {
        /// The size in bytes.
        size: usize,
    },
    /// The type may hold pointers, but its size is no multiple of the word.
    NotWholeWords {
        /// The size in bytes.
        size: usize,
    },
    /// The mask sets a bit for a word beyond the type.
    BitBeyondType {
        /// The highest set bit.
        bit: usize,
        /// The words of the type.
        words: usize,
    },
    /// The mask has more words than the type needs.
    MaskTooLong {
        /// The number of `u64`s given.
        given: usize,
        /// The number that the type needs.
        needed: usize,
    },
    /// A pointer lies too far from the start of the type for a mask.
    BeyondMask {
        /// The last such word.
        word: usize,
    },
}

impl fmt::Display for LayoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            LayoutError::ZeroSize => write!(f, "the type's size is 0 bytes, and must be at least 1"),
            LayoutError::TooLarge { size } => {
                write!(f, "the type's size is {size} bytes, and can be at most {}", isize::MAX)
            }
            LayoutError::NotWholeWords { size } => write!(
                f,
                "the type's size is {size} bytes, and must be a multiple of {WORD}, because it may hold pointers"
            ),
            LayoutError::BitBeyondType { bit, words } => {
                write!(f, "bit {bit} of the pointer mask is set, but the type has only {words} words")
            }
            LayoutError::MaskTooLong { given, needed } => {
                write!(
                    f,
                    "the pointer mask has {given} words of 64 bits, but the type needs no more than {needed}"
                )
            }
            LayoutError::BeyondMask { word } => write!(
                f,
                "word {word} of the type is a pointer, but a mask reaches only the first {MAX_MASK_WORDS} words \
                 ({} bytes): describe the type by a program, or move the pointers to an object of their own",
                MAX_MASK_WORDS * WORD
            ),
        }
    }
}

impl core::error::Error for LayoutError {}
