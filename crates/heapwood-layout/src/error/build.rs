//! Why a type cannot be built: said with its numbers where there is a caller to print them, and without in constants, where
//! it is a compile error.

use crate::limits::MAX_WORDS;
use core::fmt;

/// Why a builder refuses an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum BuildError {
    /// The instructions need more bytes than the builder has.
    Full {
        /// How many it has.
        bytes: usize,
    },
    /// The type has more words than any can have.
    TooManyWords {
        /// The words that it has already.
        words: u64,
        /// The words of what is to be added.
        element: u64,
        /// How many times.
        n: u64,
    },
    /// More than 64 bits of a mask.
    TooManyBits {
        /// How many.
        n: u32,
    },
    /// A bit of a mask is set beyond the words that it describes.
    BitBeyond {
        /// The highest bit that is set.
        bit: u32,
        /// How many words it describes.
        n: u32,
    },
    /// The elements of an array, or a type, are to have fewer words than were described.
    PadBackwards {
        /// The words described.
        words: u64,
        /// The words that are to be.
        to: u64,
    },
    /// A repeat of more words than there are.
    RepeatOfMore {
        /// The words to repeat.
        last: u64,
        /// The words that there are.
        words: u64,
    },
    /// Two fields hold the same word.
    Overlap {
        /// The word at which the second begins.
        offset: u64,
        /// The word at which the first ends.
        end: u64,
    },
}

impl BuildError {
    /// Says what to do, without the numbers, which constants cannot print.
    #[track_caller]
    pub(crate) const fn panic(self) -> ! {
        match self {
            BuildError::Full { .. } => {
                panic!(
                    "the description of a type does not fit its Builder: give it more bytes, such as Builder<256>"
                )
            }
            BuildError::TooManyWords { .. } => {
                panic!("the type has more than 2^60 - 1 words: make its arrays smaller")
            }
            BuildError::TooManyBits { .. } => {
                panic!("a mask has at most 64 bits: call `bits` once for every 64 words")
            }
            BuildError::BitBeyond { .. } => {
                panic!("a bit of a mask is set beyond the words that it describes: give `bits` a larger `n`")
            }
            BuildError::PadBackwards { .. } => panic!(
                "more words were described than the element or the type is to have: give its size in words, padding \
                 included"
            ),
            BuildError::RepeatOfMore { .. } => {
                panic!("a repeat of more words than there are: repeat at most those")
            }
            BuildError::Overlap { .. } => {
                panic!("two fields hold the same word: give their offsets in words, not in bytes")
            }
        }
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            BuildError::Full { bytes } => {
                write!(f, "the description of the type does not fit the {bytes} bytes given for it")
            }
            BuildError::TooManyWords { words, element, n } => write!(
                f,
                "{n} times {element} words after {words} others are more than the {MAX_WORDS} words that a type can \
                 have"
            ),
            BuildError::TooManyBits { n } => write!(f, "{n} bits of mask were given, and can be at most 64"),
            BuildError::BitBeyond { bit, n } => {
                write!(f, "bit {bit} of the mask is set, but it describes only {n} words")
            }
            BuildError::PadBackwards { words, to } => {
                write!(f, "{words} words were described, but the element or the type is to have only {to}")
            }
            BuildError::RepeatOfMore { last, words } => {
                write!(f, "a repeat of the last {last} words, but there are only {words}")
            }
            BuildError::Overlap { offset, end } => {
                write!(
                    f,
                    "a field begins at word {offset}, but the one before it reaches to the end of word {}",
                    end - 1
                )
            }
        }
    }
}

impl core::error::Error for BuildError {}
