//! Programs: the pointers of a type in a few bytes, however large the type is. A program emits one bit for each word of
//! the type, set where the word is a pointer, by two operations: emit bits, and repeat the last `n` bits `c` more times.
//! The idea, a Lempel-Ziv code of pointer bits without recursion, is Cox's in Go's commit 512f75e8 ("replace GC programs
//! with simpler encoding, faster decoder", 2015); the encoding of long counts differs.
//!
//! | byte | followed by | meaning |
//! |---|---|---|
//! | `00` | nothing | the end; no byte follows |
//! | `01`..`7e` | ceil(n / 8) bytes, n being the byte itself | emit n bits |
//! | `7f` | n as a varint, ceil(n / 8) bytes | emit n bits, n at least 1 |
//! | `80` | n as a varint, c as a varint | repeat the last n bits c more times, n and c at least 1 |
//! | `81`..`ff` | c as a varint | the same, n being the lower 7 bits of the byte |
//!
//! Bits are stored lowest first, in the lowest byte first; the unused bits of the last byte are zero. A varint has
//! seven bits a byte, lowest first, with the top bit set in all but the last (LEB128).
//!
//! ```text
//! 02 01 00                   two words, the first a pointer
//! 01 01 81 ff ff ff 7f 00    [2^28]pointer: a pointer, 2^28 - 1 more times (8 bytes)
//! 01 00 81 7f 02 03 00       130 words: a scalar, 127 more, then two pointers
//! 03 01 83 09 9e 63 00       [100][10] of (pointer, scalar, scalar): 3 bits, 9 more times,
//!                            and those 30 bits (1e has the top bit: 9e) 99 more times
//! ```
//!
//! | module | contents |
//! |---|---|
//! | [`ops`] | reading instructions |
//! | [`check`] | [`Program`]: a checked program |
//! | [`build`] | building programs of scalars, pointers, fields and arrays |
//! | [`nest`] | programs as nested loops, to start anywhere |
//! | [`decode`] | expanding programs into bits |
//! | [`text`] | programs as text |

pub mod build;
pub mod check;
pub mod decode;
mod emit;
pub mod nest;
pub mod ops;
pub mod text;

pub use crate::error::{BuildError, NestError, NestErrorKind, ProgramError, ProgramErrorKind};
pub use crate::limits::MAX_WORDS;
pub use build::{Body, Builder, Field, Part, ProgramBuf};
pub use check::Program;
pub use nest::{Cursor, Nest, Node, Piece};
pub use ops::{Op, Ops};
