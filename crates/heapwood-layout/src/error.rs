//! Errors of descriptions of types. Each sentence has the numbers that contradict each other. Invariant: an error holds
//! everything that its sentence says, and nothing is allocated for it.
//!
//! | type | errors of |
//! |---|---|
//! | [`LayoutError`] | a size with a mask |
//! | [`ProgramError`] | the bytes of a program |
//! | [`BuildError`] | a step of a builder. In a constant it is a compile error, which cannot print the numbers |
//! | [`NestError`] | compiling a program into loops |
//! | [`DescribeError`], [`ParseError`] | a list of items, or a text |
#![allow(missing_docs, reason = "the sentence of each variant says what it is, and what its numbers are")]

use crate::limits::{MAX_NESTING, MAX_WORDS};
use crate::program::nest::MAX_DEPTH;
use crate::{MAX_MASK_WORDS, WORD};
use thiserror::Error;

/// Why the description of a type was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum LayoutError {
    #[error("the type's size is 0 bytes, and must be at least 1")]
    ZeroSize,
    #[error("the type's size is {size} bytes, and can be at most {}", isize::MAX)]
    TooLarge { size: usize },
    #[error(
        "the type's size is {size} bytes, and must be a multiple of {WORD}, because it may hold pointers"
    )]
    NotWholeWords { size: usize },
    #[error("bit {bit} of the pointer mask is set, but the type has only {words} words")]
    BitBeyondType { bit: usize, words: usize },
    #[error("the pointer mask has {given} words of 64 bits, but the type needs no more than {needed}")]
    MaskTooLong { given: usize, needed: usize },
    #[error(
        "word {word} of the type is a pointer, but a mask reaches only the first {MAX_MASK_WORDS} words ({} bytes): describe the \
         type by a program, or move the pointers to an object of their own",
        MAX_MASK_WORDS * WORD
    )]
    BeyondMask { word: usize },
}

/// Why a program was refused, and the offset of the invalid instruction, or of the invalid part of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("byte {at}: {kind}")]
pub struct ProgramError {
    pub at: usize,
    pub kind: ProgramErrorKind,
}

/// Why a byte of a program is invalid.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum ProgramErrorKind {
    #[error("the program ends without an end instruction (byte 00)")]
    NoEnd,
    #[error("the program ends inside an instruction: at least {missing} more bytes were expected")]
    Truncated { missing: usize },
    #[error("a count is larger than 2^64 - 1 or does not end within ten bytes")]
    LongVarint,
    #[error("a literal of no bits: at least one was expected")]
    EmptyLiteral,
    #[error("only the lowest {used} bits of this byte are part of the literal; zeros were expected above")]
    Padding { used: u32 },
    #[error("a repeat of the last 0 bits: at least 1 was expected")]
    RepeatOfNothing,
    #[error("a repeat of the last {last} bits, but only {emitted} were emitted before")]
    RepeatOfMore { last: u64, emitted: u64 },
    #[error("a repeat 0 more times: at least 1 was expected")]
    RepeatNever,
    #[error(
        "this instruction emits more than the {} bits that are left of the type's {words} words",
        .words.saturating_sub(*.emitted)
    )]
    TooLong { words: u64, emitted: u64 },
    #[error("the program ends after {emitted} bits, but the type has {words} words")]
    TooShort { words: u64, emitted: u64 },
    #[error("{bytes} bytes follow the end of the program: none was expected")]
    Trailing { bytes: usize },
}

/// Why a program cannot be made a nest, and the offset of the instruction that cannot be compiled.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("byte {at}: {kind}")]
pub struct NestError {
    pub at: usize,
    pub kind: NestErrorKind,
}

/// Why an instruction cannot be made part of a nest.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum NestErrorKind {
    #[error("this repeat is one loop around {MAX_DEPTH}: no more are possible")]
    TooDeep,
    #[error("the nodes up to here exceed the {room} nodes of the buffer")]
    TooManyNodes { room: usize },
}

/// Why a builder refuses an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum BuildError {
    #[error("the description of the type does not fit the {bytes} bytes given for it")]
    Full { bytes: usize },
    #[error(
        "{n} times {element} words after {words} others exceed the largest type, which has {MAX_WORDS} words"
    )]
    TooManyWords { words: u64, element: u64, n: u64 },
    #[error("the mask has {n} bits, and can have at most 64")]
    TooManyBits { n: u32 },
    #[error("bit {bit} of the mask is set, but it describes only {n} words")]
    BitBeyond { bit: u32, n: u32 },
    #[error("the element or the type has {words} words, but a size of only {to}")]
    PadBackwards { words: u64, to: u64 },
    #[error("a repeat of the last {last} words, but there are only {words}")]
    RepeatOfMore { last: u64, words: u64 },
    #[error("a field begins at word {offset}, but the one before it reaches to the end of word {}", .end - 1)]
    Overlap { offset: u64, end: u64 },
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
                "the element or the type has more words than its size: give its size in words, padding included"
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

/// Why a list of items describes no type, and the index of the invalid item; the number of items if one is missing at the end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("item {item}: {kind}")]
pub struct DescribeError {
    pub item: usize,
    pub kind: DescribeErrorKind,
}

/// Why an item is invalid.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum DescribeErrorKind {
    #[error("the list ends here, but more items were expected for the struct or array at {of}")]
    Missing { of: usize },
    #[error("the list is empty: a type was expected")]
    Empty,
    #[error("the type is complete: no further item was expected")]
    Trailing,
    #[error("this struct or array lies in {MAX_NESTING} others: no more are possible")]
    TooDeep,
    #[error(transparent)]
    Build(BuildError),
}

/// Why a text describes no type, and the offset of the invalid byte; the length of the text if it ends too early.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("byte {at}: expected {expected}")]
pub struct ParseError {
    pub at: usize,
    pub expected: Expected,
}

/// The expected continuation of a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum Expected {
    #[error("a type: `ptr`, `word`, `[N]T` or `{{T ...}}`")]
    Type,
    #[error("a type (`ptr`, `word`, `[N]T` or `{{T ...}}`) or `}}`")]
    TypeOrClose,
    #[error("the number of elements, such as `100` or `1<<28`")]
    Number,
    #[error("a number below 2^64")]
    SmallerNumber,
    #[error("a number of bits to shift by")]
    Shift,
    #[error("`]` after the number of elements")]
    Bracket,
    #[error("the end: the type is complete")]
    End,
    #[error("`ptr` or `word`: at most {MAX_NESTING} structs and arrays may be nested")]
    LessNesting,
    #[error("the end: there is room for {room} items only")]
    FewerItems { room: usize },
}
