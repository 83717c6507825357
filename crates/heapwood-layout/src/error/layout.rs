//! Why a size, or a size with a mask, is no type's: the numbers that disagree.

use crate::{MAX_MASK_WORDS, WORD};
use core::fmt;

/// Why the description of a type was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum LayoutError {
    /// The size is zero: every object has an address of its own, so it has at least one byte.
    ZeroSize,
    /// The size is larger than any object can be.
    TooLarge {
        /// The size given, in bytes.
        size: usize,
    },
    /// The type may hold pointers, and its size is no multiple of the word.
    NotWholeWords {
        /// The size given, in bytes.
        size: usize,
    },
    /// The mask sets a bit for a word that the type does not have.
    BitBeyondType {
        /// The highest bit that is set.
        bit: usize,
        /// How many words the type has.
        words: usize,
    },
    /// More words of mask were given than the type has bits for.
    MaskTooLong {
        /// How many `u64`s were given.
        given: usize,
        /// How many the type needs.
        needed: usize,
    },
    /// A pointer lies in a word of the type that is too far from its start for a mask.
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
