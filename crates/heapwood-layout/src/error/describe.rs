//! Errors of a list of items, or of a text, that describes no type. Invariant: an error holds the position of the
//! first fault, and what was expected there.

use super::BuildError;
use crate::limits::MAX_NESTING;
use core::fmt;

/// Why a list of items describes no type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DescribeError {
    /// The index of the invalid item; the number of items if one is missing at the end.
    pub item: usize,
    /// The reason.
    pub kind: DescribeErrorKind,
}

/// Why an item is invalid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum DescribeErrorKind {
    /// The list ends before a field, an element or the type.
    Missing {
        /// The index of the incomplete struct or array, or `None` for the type itself.
        of: Option<usize>,
    },
    /// The type is complete before this item.
    Trailing,
    /// The struct or array lies in [`MAX_NESTING`] others.
    TooDeep,
    /// The builder refuses it.
    Build(BuildError),
}

impl fmt::Display for DescribeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "item {}: {}", self.item, self.kind)
    }
}

impl fmt::Display for DescribeErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DescribeErrorKind::Missing { of: Some(of) } => {
                write!(f, "the list ends here, but more items were expected for the struct or array at {of}")
            }
            DescribeErrorKind::Missing { of: None } => write!(f, "the list is empty: a type was expected"),
            DescribeErrorKind::Trailing => write!(f, "the type is complete: no further item was expected"),
            DescribeErrorKind::TooDeep => {
                write!(f, "this struct or array lies in {MAX_NESTING} others: no more are possible")
            }
            DescribeErrorKind::Build(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for DescribeError {}

/// Why a text describes no type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ParseError {
    /// The offset of the invalid byte; the length of the text if it ends too early.
    pub at: usize,
    /// What was expected there.
    pub expected: Expected,
}

/// The expected continuation of a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Expected {
    /// A type.
    Type,
    /// A type, or the end of a struct.
    TypeOrClose,
    /// The number of elements of an array.
    Number,
    /// A number below 2^64.
    SmallerNumber,
    /// The number of bits by which to shift a number.
    Shift,
    /// The closing bracket after an array's number.
    Bracket,
    /// The end of the text.
    End,
    /// No further struct or array: [`MAX_NESTING`] are open.
    LessNesting,
    /// No further item: the buffer is full.
    FewerItems {
        /// The size of the buffer, in items.
        room: usize,
    },
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "byte {}: expected {}", self.at, self.expected)
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Expected::Type => write!(f, "a type: `ptr`, `val`, `word`, `[N]T` or `{{T ...}}`"),
            Expected::TypeOrClose => {
                write!(f, "a type (`ptr`, `val`, `word`, `[N]T` or `{{T ...}}`) or `}}`")
            }
            Expected::Number => write!(f, "the number of elements, such as `100` or `1<<28`"),
            Expected::SmallerNumber => write!(f, "a number below 2^64"),
            Expected::Shift => write!(f, "a number of bits to shift by"),
            Expected::Bracket => write!(f, "`]` after the number of elements"),
            Expected::End => write!(f, "the end: the type is complete"),
            Expected::LessNesting => {
                write!(f, "`ptr`, `val` or `word`: at most {MAX_NESTING} structs and arrays may be nested")
            }
            Expected::FewerItems { room } => write!(f, "the end: there is room for {room} items only"),
        }
    }
}

impl core::error::Error for ParseError {}
