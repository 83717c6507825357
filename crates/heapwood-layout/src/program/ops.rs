//! Reading instructions one by one. The reader checks each instruction by itself; [`check`](super::check) checks that
//! repeats have bits to repeat, and that the bits fill the type. Invariant: nothing beyond the given bytes is read.

use crate::error::{ProgramError, ProgramErrorKind};

/// One instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op<'a> {
    /// Emit the bits.
    Literal {
        /// The number of bits, at least 1.
        bits: u64,
        /// Their bytes, the lowest first.
        bytes: &'a [u8],
    },
    /// Repeat the last bits.
    Repeat {
        /// The number of bits, at least 1.
        last: u64,
        /// The number of repetitions, at least 1.
        times: u64,
    },
}

/// The instructions of a program up to its end or the first invalid one, each with its offset.
#[derive(Clone, Debug)]
pub struct Ops<'a> {
    bytes: &'a [u8],
    at: usize,
    done: bool,
}

/// The first byte of a literal whose count follows.
pub(crate) const LONG_LITERAL: u8 = 0x7f;
/// The top bit of a repeat. If no other bit is set, the count of bits follows.
pub(crate) const REPEAT: u8 = 0x80;

impl<'a> Ops<'a> {
    /// Reads from the first byte on.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Ops { bytes, at: 0, done: false }
    }

    /// The offset of the next byte; after the end, that of the first byte after the program.
    pub const fn offset(&self) -> usize {
        self.at
    }

    const fn fail<T>(at: usize, kind: ProgramErrorKind) -> Result<T, ProgramError> {
        Err(ProgramError { at, kind })
    }

    /// The next instruction with its offset; `None` at the end instruction.
    ///
    /// # Errors
    /// The instruction is incomplete or has a count of zero.
    pub const fn read(&mut self) -> Result<Option<(usize, Op<'a>)>, ProgramError> {
        let begin = self.at;
        if begin >= self.bytes.len() {
            return Self::fail(begin, ProgramErrorKind::NoEnd);
        }
        let first = self.bytes[begin];
        self.at += 1;
        if first == 0 {
            return Ok(None);
        }
        if first & REPEAT == 0 {
            let bits = if first == LONG_LITERAL {
                match self.varint() {
                    Ok(bits) => bits,
                    Err(e) => return Err(e),
                }
            } else {
                first as u64
            };
            return match self.literal(begin, bits) {
                Ok(op) => Ok(Some((begin, op))),
                Err(e) => Err(e),
            };
        }
        let last = if first == REPEAT {
            match self.varint() {
                Ok(last) => last,
                Err(e) => return Err(e),
            }
        } else {
            (first & !REPEAT) as u64
        };
        let times = match self.varint() {
            Ok(times) => times,
            Err(e) => return Err(e),
        };
        if last == 0 {
            return Self::fail(begin, ProgramErrorKind::RepeatOfNothing);
        }
        if times == 0 {
            return Self::fail(begin, ProgramErrorKind::RepeatNever);
        }
        Ok(Some((begin, Op::Repeat { last, times })))
    }

    const fn literal(&mut self, begin: usize, bits: u64) -> Result<Op<'a>, ProgramError> {
        if bits == 0 {
            return Self::fail(begin, ProgramErrorKind::EmptyLiteral);
        }
        let (_, rest) = self.bytes.split_at(self.at);
        let needed = bits.div_ceil(8);
        if needed > rest.len() as u64 {
            let missing = needed - rest.len() as u64;
            let missing = if missing > usize::MAX as u64 { usize::MAX } else { missing as usize };
            return Self::fail(self.bytes.len(), ProgramErrorKind::Truncated { missing });
        }
        let (bytes, _) = rest.split_at(needed as usize);
        self.at += needed as usize;
        let used = bits % 8;
        if used != 0 && bytes[bytes.len() - 1] >> used != 0 {
            return Self::fail(self.at - 1, ProgramErrorKind::Padding { used: used as u32 });
        }
        Ok(Op::Literal { bits, bytes })
    }

    const fn varint(&mut self) -> Result<u64, ProgramError> {
        let begin = self.at;
        let (mut value, mut shift) = (0u64, 0);
        loop {
            if self.at >= self.bytes.len() {
                return Self::fail(self.at, ProgramErrorKind::Truncated { missing: 1 });
            }
            let byte = self.bytes[self.at];
            self.at += 1;
            let part = (byte & 0x7f) as u64;
            if shift == 63 && part > 1 {
                return Self::fail(begin, ProgramErrorKind::LongVarint);
            }
            value |= part << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
            shift += 7;
            if shift > 63 {
                return Self::fail(begin, ProgramErrorKind::LongVarint);
            }
        }
    }
}

impl<'a> Iterator for Ops<'a> {
    type Item = Result<(usize, Op<'a>), ProgramError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let next = self.read().transpose();
        self.done = !matches!(next, Some(Ok(_)));
        next
    }
}
