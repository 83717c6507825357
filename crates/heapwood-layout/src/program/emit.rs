//! The emitter behind [`Builder`](super::Builder), at compile time and at run time. It takes words as runs of equal
//! bits. The last run is kept pending until a different bit follows, so the instructions do not depend on how the run
//! was added. A short run joins the open literal; a long one becomes one bit and a repeat. Invariant: the bytes below
//! `len` are whole instructions, and together with the pending run they emit `words` bits. After an operation has
//! failed for lack of room, all later ones fail.

use super::ops::{LONG_LITERAL, Op, Ops, REPEAT};
use crate::error::BuildError;
use crate::limits::MAX_WORDS;

/// A run of at most this many bits joins a literal. A repeat costs two bytes, and often the header of another literal
/// and the rest of a byte.
const SHORT: u64 = 24;

/// The header bytes of a literal with `bits` bits.
const fn head(bits: u64) -> usize {
    if bits < LONG_LITERAL as u64 { 1 } else { 1 + (bits.ilog2() as usize / 7 + 1) }
}

/// The operator `?`, which is not available in constants.
macro_rules! ok {
    ($result:expr) => {
        match $result {
            Ok(value) => value,
            Err(error) => return Err(error),
        }
    };
}
pub(crate) use ok;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Emitter {
    /// The bytes written.
    pub(super) len: usize,
    /// The emitted bits, with the pending run.
    pub(super) words: u64,
    /// An operation has failed for lack of room.
    full: bool,
    /// The open literal: its offset and its number of bits, 0 if none is open.
    literal_at: usize,
    literal: u64,
    /// The last instruction if it is a repeat: its offset and its counts; 0 times if it is none.
    repeat_at: usize,
    repeat_last: u64,
    repeat_times: u64,
    /// The pending run.
    run_bit: bool,
    run: u64,
    /// The last 64 emitted bits, the latest in the top bit.
    recent: u64,
    /// The words up to and including the last one bit, and the last zero bit.
    ones_end: u64,
    zeros_end: u64,
    /// The last array: its first word, its end, and the words of its element.
    array_begin: u64,
    array_end: u64,
    array_unit: u64,
}

impl Emitter {
    pub(super) const NEW: Emitter = Emitter {
        len: 0,
        words: 0,
        full: false,
        literal_at: 0,
        literal: 0,
        repeat_at: 0,
        repeat_last: 0,
        repeat_times: 0,
        run_bit: false,
        run: 0,
        recent: 0,
        ones_end: 0,
        zeros_end: 0,
        array_begin: 0,
        array_end: 0,
        array_unit: 0,
    };

    /// Whether a word is a pointer.
    pub(super) const fn has_pointers(&self) -> bool {
        self.ones_end > 0
    }

    /// The size of `n` times `words` more words, checked against the largest type.
    const fn room(&self, words: u64, n: u64) -> Result<u64, BuildError> {
        match words.checked_mul(n) {
            Some(more) if more <= MAX_WORDS - self.words => Ok(more),
            _ => Err(BuildError::TooManyWords { words: self.words, element: words, n }),
        }
    }

    /// Adds `n` equal bits.
    pub(super) const fn run(&mut self, bytes: &mut [u8], bit: bool, n: u64) -> Result<(), BuildError> {
        if n == 0 {
            return Ok(());
        }
        ok!(self.room(1, n));
        if self.run > 0 && self.run_bit != bit {
            ok!(self.flush(bytes));
        }
        self.run_bit = bit;
        self.run += n;
        self.words += n;
        let fill = if bit { u64::MAX } else { 0 };
        self.recent = if n >= 64 { fill } else { self.recent >> n | fill << (64 - n) };
        if bit {
            self.ones_end = self.words;
        } else {
            self.zeros_end = self.words;
        }
        Ok(())
    }

    /// Adds the lowest `n` bits, at most 64.
    pub(super) const fn bits(&mut self, bytes: &mut [u8], mut bits: u64, n: u64) -> Result<(), BuildError> {
        ok!(self.room(1, n));
        let mut left = n;
        while left > 0 {
            let bit = bits & 1 == 1;
            let same = if bit { bits.trailing_ones() } else { bits.trailing_zeros() } as u64;
            let same = if same < left { same } else { left };
            ok!(self.run(bytes, bit, same));
            bits = if same == 64 { 0 } else { bits >> same };
            left -= same;
        }
        Ok(())
    }

    /// Repeats the last bits.
    pub(super) const fn repeat(&mut self, bytes: &mut [u8], last: u64, times: u64) -> Result<(), BuildError> {
        if last > self.words {
            return Err(BuildError::RepeatOfMore { last, words: self.words });
        }
        if last == 0 || times == 0 {
            return Ok(());
        }
        let more = ok!(self.room(last, times));
        let begin = self.words - last;
        if self.ones_end <= begin || self.zeros_end <= begin {
            return self.run(bytes, self.ones_end > begin, more);
        }
        let unit = self.recent >> 64u64.saturating_sub(last);
        if more <= SHORT {
            let mut i = 0;
            while i < times {
                ok!(self.bits(bytes, unit, last));
                i += 1;
            }
            return Ok(());
        }
        ok!(self.flush(bytes));
        ok!(self.write_repeat(bytes, last, times));
        self.words += more;
        // The repeated bits contain both values, at the same distance from the end.
        self.ones_end += more;
        self.zeros_end += more;
        if last < 64 {
            let mut filled = 0;
            let mut i = 0;
            while i < times && filled < 64 {
                self.recent = self.recent >> last | unit << (64 - last);
                filled += last;
                i += 1;
            }
        }
        Ok(())
    }

    /// Makes the words from `begin` on the first of `n` elements (at least one), and adds the others.
    pub(super) const fn array_from(
        &mut self,
        bytes: &mut [u8],
        begin: u64,
        n: u64,
    ) -> Result<(), BuildError> {
        let element = self.words - begin;
        ok!(self.room(element, n - 1));
        // An array of arrays is a longer array.
        let unit = if element > 0 && self.array_begin == begin && self.array_end == self.words {
            self.array_unit
        } else {
            element
        };
        if element > 0 {
            ok!(self.repeat(bytes, unit, element / unit * (n - 1)));
        }
        self.array_begin = begin;
        self.array_end = self.words;
        self.array_unit = unit;
        Ok(())
    }

    /// Adds everything that another emitter has emitted.
    pub(super) const fn append(
        &mut self,
        bytes: &mut [u8],
        other: &Emitter,
        other_bytes: &[u8],
    ) -> Result<(), BuildError> {
        if other.full {
            return Err(BuildError::Full { bytes: other_bytes.len() });
        }
        ok!(self.room(1, other.words));
        let begin = self.words;
        let (written, _) = other_bytes.split_at(other.len);
        let mut ops = Ops::new(written);
        while ops.offset() < written.len() {
            match ops.read() {
                Ok(Some((_, Op::Literal { bits, bytes: literal }))) => {
                    let mut i = 0;
                    while i < literal.len() {
                        let left = bits - 8 * i as u64;
                        ok!(self.bits(bytes, literal[i] as u64, if left < 8 { left } else { 8 }));
                        i += 1;
                    }
                }
                Ok(Some((_, Op::Repeat { last, times }))) => ok!(self.repeat(bytes, last, times)),
                _ => panic!("an emitter writes whole instructions"),
            }
        }
        ok!(self.run(bytes, other.run_bit, other.run));
        if other.array_end == other.words && other.array_unit > 0 {
            self.array_begin = begin + other.array_begin;
            self.array_end = self.words;
            self.array_unit = other.array_unit;
        }
        Ok(())
    }

    /// Writes the pending run.
    pub(super) const fn flush(&mut self, bytes: &mut [u8]) -> Result<(), BuildError> {
        let run = self.run;
        let mut i = 0;
        while i < run && (run <= SHORT || i < 1) {
            ok!(self.write_bit(bytes, self.run_bit));
            i += 1;
        }
        if run > SHORT {
            ok!(self.write_repeat(bytes, 1, run - 1));
        }
        self.run = 0;
        if self.full { Err(BuildError::Full { bytes: bytes.len() }) } else { Ok(()) }
    }

    const fn write_bit(&mut self, bytes: &mut [u8], bit: bool) -> Result<(), BuildError> {
        if self.literal == 0 {
            self.literal_at = self.len;
            self.repeat_times = 0;
            ok!(self.write(bytes, 0));
        }
        ok!(self.widen(
            bytes,
            self.literal_at + head(self.literal),
            head(self.literal + 1) - head(self.literal)
        ));
        if self.literal.is_multiple_of(8) {
            ok!(self.write(bytes, 0));
        }
        bytes[self.len - 1] |= (bit as u8) << (self.literal % 8);
        self.literal += 1;
        if self.literal < LONG_LITERAL as u64 {
            bytes[self.literal_at] = self.literal as u8;
            return Ok(());
        }
        bytes[self.literal_at] = LONG_LITERAL;
        let (mut left, mut at) = (self.literal, self.literal_at + 1);
        while left >= 0x80 {
            bytes[at] = left as u8 | 0x80;
            (left, at) = (left >> 7, at + 1);
        }
        bytes[at] = left as u8;
        Ok(())
    }

    /// Moves the bytes from `at` on up by `by`, for a literal whose count has become longer. This is rare.
    const fn widen(&mut self, bytes: &mut [u8], at: usize, by: usize) -> Result<(), BuildError> {
        let mut k = 0;
        while k < by {
            ok!(self.write(bytes, 0));
            let mut i = self.len - 1;
            while i > at {
                bytes[i] = bytes[i - 1];
                i -= 1;
            }
            k += 1;
        }
        Ok(())
    }

    const fn write_repeat(&mut self, bytes: &mut [u8], last: u64, times: u64) -> Result<(), BuildError> {
        if self.repeat_times > 0 && self.repeat_last == last {
            // An array of arrays: the repeats add up.
            self.len = self.repeat_at;
            self.repeat_times += times;
        } else {
            self.repeat_times = times;
        }
        self.literal = 0;
        self.repeat_at = self.len;
        self.repeat_last = last;
        if last < REPEAT as u64 {
            ok!(self.write(bytes, REPEAT | last as u8));
        } else {
            ok!(self.write(bytes, REPEAT));
            ok!(self.write_varint(bytes, last));
        }
        self.write_varint(bytes, self.repeat_times)
    }

    const fn write_varint(&mut self, bytes: &mut [u8], mut value: u64) -> Result<(), BuildError> {
        while value >= 0x80 {
            ok!(self.write(bytes, value as u8 | 0x80));
            value >>= 7;
        }
        self.write(bytes, value as u8)
    }

    pub(super) const fn write(&mut self, bytes: &mut [u8], byte: u8) -> Result<(), BuildError> {
        if self.full || self.len >= bytes.len() {
            self.full = true;
            return Err(BuildError::Full { bytes: bytes.len() });
        }
        bytes[self.len] = byte;
        self.len += 1;
        Ok(())
    }
}
