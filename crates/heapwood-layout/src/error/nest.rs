//! Why a program cannot be followed as a nest of loops.

use crate::program::nest::MAX_DEPTH;
use core::fmt;

/// Why a program cannot be made a nest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NestError {
    /// The byte of the program at which the instruction begins that cannot be followed.
    pub at: usize,
    /// Why.
    pub kind: NestErrorKind,
}

/// Why an instruction cannot be made part of a nest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum NestErrorKind {
    /// Its loop would be the ninth around an item.
    TooDeep,
    /// The nodes do not fit the buffer.
    TooManyNodes {
        /// How many do.
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
                write!(f, "the nodes up to here are more than the {room} that there is room for")
            }
        }
    }
}

impl core::error::Error for NestError {}
