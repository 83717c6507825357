//! Errors of building a type. At run time a message has the numbers. In a constant it is a compile error, which cannot
//! print them. Invariant: an error holds everything that its message says.

use crate::limits::MAX_WORDS;
use core::fmt;

/// Why a builder refuses an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum BuildError {
    /// The instructions need more bytes than the builder has.
    Full {
        /// The builder's size in bytes.
        bytes: usize,
    },
    /// The type has more words than the largest possible type.
    TooManyWords {
        /// The words so far.
        words: u64,
        /// The words of the addition.
        element: u64,
        /// The number of repetitions.
        n: u64,
    },
    /// The mask has more than 64 bits.
    TooManyBits {
        /// The number of bits.
        n: u32,
    },
    /// A bit of a mask is set beyond its words.
    BitBeyond {
        /// The highest set bit.
        bit: u32,
        /// The number of words of the mask.
        n: u32,
    },
    /// An element or a type is padded to fewer words than it has.
    PadBackwards {
        /// The words it has.
        words: u64,
        /// The requested words.
        to: u64,
    },
    /// A repeat of more words than exist.
    RepeatOfMore {
        /// The words to repeat.
        last: u64,
        /// The words so far.
        words: u64,
    },
    /// Two fields hold the same word.
    Overlap {
        /// The first word of the second field.
        offset: u64,
        /// The end of the first field.
        end: u64,
    },
}

impl BuildError {
    /// Panics with a remedy, but without the numbers, which constants cannot print.
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
                "the element or the type has more words than its size: give its size in words, padding \
                 included"
            ),
            BuildError::RepeatOfMore { .. } => {
                panic!("a repeat of more words than exist: repeat fewer words")
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
                "{n} times {element} words after {words} others exceed the largest type, which has {MAX_WORDS} words"
            ),
            BuildError::TooManyBits { n } => write!(f, "the mask has {n} bits, and can have at most 64"),
            BuildError::BitBeyond { bit, n } => {
                write!(f, "bit {bit} of the mask is set, but it describes only {n} words")
            }
            BuildError::PadBackwards { words, to } => {
                write!(f, "the element or the type has {words} words, but a size of only {to}")
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
