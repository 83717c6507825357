//! Errors of compiling a program into a nest of loops. Invariant: an error holds everything that its message says.

use crate::program::nest::MAX_DEPTH;
use core::fmt;

/// Why a program cannot be made a nest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NestError {
    /// The offset of the instruction that cannot be compiled.
    pub at: usize,
    /// The reason.
    pub kind: NestErrorKind,
}

/// Why an instruction cannot be made part of a nest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum NestErrorKind {
    /// It would be the ninth loop around an item.
    TooDeep,
    /// The nodes do not fit the buffer.
    TooManyNodes {
        /// The size of the buffer, in nodes.
        room: usize,
    },
}

impl fmt::Display for NestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "byte {}: {}", self.at, self.kind)
    }
}

impl fmt::Display for NestErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            NestErrorKind::TooDeep => {
                write!(f, "this repeat is one loop around {MAX_DEPTH}: no more are possible")
            }
            NestErrorKind::TooManyNodes { room } => {
                write!(f, "the nodes up to here exceed the {room} nodes of the buffer")
            }
        }
    }
}

impl core::error::Error for NestError {}
