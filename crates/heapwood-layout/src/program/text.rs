//! Programs as text, one instruction a line: its offset, its bytes, and its meaning. Bits are printed in the order of
//! emission; of a long literal only the beginning and the end. Any bytes can be described, up to the first error.
//! Invariant: every byte of the program is printed or counted.
//!
//! ```
//! use heapwood_layout::program::text::describe;
//!
//! let text = describe(&[0x01, 0x01, 0x81, 0xff, 0xff, 0xff, 0x7f, 0x00]).to_string();
//! assert_eq!(text, "\
//! 0000  01 01              emit 1 bit: 1
//! 0002  81 ff ff ff 7f     repeat the last 1 bit 268435455 more times (268435456 so far)
//! 0007  00                 end: 268435456 words
//! ");
//! ```

use core::fmt;

use super::check::Program;
use super::ops::{Op, Ops};
use crate::error::{ProgramError, ProgramErrorKind};

/// The bytes of one line.
const ROW: usize = 6;
/// A literal with more rows is printed as its first and last rows.
const ROWS: usize = 8;
/// The number of last rows that are printed.
const LAST_ROWS: usize = 2;

/// The program as text; the bytes may be an invalid program.
pub fn describe(bytes: &[u8]) -> impl fmt::Display {
    ProgramText { bytes }
}

impl fmt::Display for Program<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        ProgramText { bytes: self.bytes() }.fmt(f)
    }
}

struct ProgramText<'a> {
    bytes: &'a [u8],
}

impl fmt::Display for ProgramText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mut ops, mut emitted) = (Ops::new(self.bytes), 0u64);
        loop {
            let begin = ops.offset();
            let next = ops.read();
            let bytes = &self.bytes[begin..ops.offset()];
            let wrong = |at, kind| ProgramError { at, kind };
            let (at, op) = match next {
                Ok(Some(op)) => op,
                Ok(None) => {
                    line(f, begin, bytes, format_args!("end: {}", CountedNoun(emitted, "word")))?;
                    let trailing = self.bytes.len() - ops.offset();
                    if trailing != 0 {
                        return error(
                            f,
                            &wrong(ops.offset(), ProgramErrorKind::Trailing { bytes: trailing }),
                        );
                    }
                    return Ok(());
                }
                Err(e) => return error(f, &e),
            };
            let more = match op {
                Op::Literal { bits, .. } => Some(bits),
                Op::Repeat { last, .. } if last > emitted => {
                    return error(f, &wrong(at, ProgramErrorKind::RepeatOfMore { last, emitted }));
                }
                Op::Repeat { last, times } => last.checked_mul(times),
            };
            let Some(sum) = more.and_then(|more| emitted.checked_add(more)) else {
                return error(f, &wrong(at, ProgramErrorKind::TooLong { words: u64::MAX, emitted }));
            };
            emitted = sum;
            match op {
                Op::Literal { bits, bytes: data } => literal(f, begin, bytes, bits, data)?,
                Op::Repeat { last, times } => {
                    let (last, times) = (CountedNoun(last, "bit"), CountedNoun(times, "more time"));
                    let text = format_args!("repeat the last {last} {times} ({emitted} so far)");
                    line(f, begin, bytes, text)?;
                }
            }
        }
    }
}

/// A number with a noun.
struct CountedNoun(u64, &'static str);

impl fmt::Display for CountedNoun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}{}", self.0, self.1, if self.0 == 1 { "" } else { "s" })
    }
}

fn error(f: &mut fmt::Formatter<'_>, e: &ProgramError) -> fmt::Result {
    writeln!(f, "error: {e}")
}

/// A line of text beside its bytes. Bytes that do not fit follow on lines of their own.
fn line(f: &mut fmt::Formatter<'_>, at: usize, bytes: &[u8], text: fmt::Arguments<'_>) -> fmt::Result {
    for (i, row) in bytes.chunks(ROW).enumerate() {
        write!(f, "{:04x} ", at + i * ROW)?;
        for byte in row {
            write!(f, " {byte:02x}")?;
        }
        if i == 0 {
            // Three columns for each byte, and two between bytes and text.
            write!(f, "{:1$}{text}", "", (ROW - row.len()) * 3 + 2)?;
        }
        writeln!(f)?;
    }
    Ok(())
}

/// A literal: on one line if it fits, otherwise a line with the instruction, and then rows of bytes with their bits.
fn literal(f: &mut fmt::Formatter<'_>, at: usize, bytes: &[u8], bits: u64, data: &[u8]) -> fmt::Result {
    let count = CountedNoun(bits, "bit");
    if bytes.len() <= ROW {
        return line(f, at, bytes, format_args!("emit {count}: {}", EmittedBits { bytes: data, bits }));
    }
    let head = bytes.len() - data.len();
    line(f, at, &bytes[..head], format_args!("emit {count}:"))?;
    let rows = data.len().div_ceil(ROW);
    let left_out = if rows > ROWS { ROWS - LAST_ROWS..rows - LAST_ROWS } else { 0..0 };
    for (i, row) in data.chunks(ROW).enumerate() {
        if left_out.contains(&i) {
            if i == left_out.start {
                // The bits are aligned with those of the rows.
                let bytes = left_out.len() * ROW;
                writeln!(f, "...   {bytes:6} bytes         {} more bits", bytes * 8)?;
            }
            continue;
        }
        let first = i * ROW;
        let bits = EmittedBits { bytes: row, bits: bits - first as u64 * 8 };
        line(f, at + head + first, row, format_args!("  {bits}"))?;
    }
    Ok(())
}

/// Bits in the order of emission, in groups of eight.
struct EmittedBits<'a> {
    bytes: &'a [u8],
    bits: u64,
}

impl fmt::Display for EmittedBits<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, byte) in self.bytes.iter().enumerate() {
            if i != 0 {
                write!(f, " ")?;
            }
            for bit in 0..(self.bits - i as u64 * 8).min(8) {
                write!(f, "{}", byte >> bit & 1)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_columns() {
        let text = describe(&[0x01, 0x00, 0x81, 0x7f, 0x02, 0x03, 0x00]).to_string();
        let expected = "\
0000  01 00              emit 1 bit: 0
0002  81 7f              repeat the last 1 bit 127 more times (128 so far)
0004  02 03              emit 2 bits: 11
0006  00                 end: 130 words
";
        assert_eq!(text, expected);
        assert_eq!(Program::check(&[0x02, 0x01, 0x00], 2).unwrap().to_string().lines().count(), 2);
        let text = describe(&[0x01, 0x01, 0x81, 0x01, 0x0a, 0x05, 0x02, 0x8c, 0x01, 0x00]).to_string();
        let expected = "\
0000  01 01              emit 1 bit: 1
0002  81 01              repeat the last 1 bit 1 more time (2 so far)
0004  0a 05 02           emit 10 bits: 10100000 01
0007  8c 01              repeat the last 12 bits 1 more time (24 so far)
0009  00                 end: 24 words
";
        assert_eq!(text, expected);
        // A repeat with more bytes than fit on a line.
        let text = describe(&[0x01, 0x01, 0x80, 0x81, 0x00, 0x81, 0x80, 0x80, 0x80, 0x00, 0x00]).to_string();
        let expected = "\
0000  01 01              emit 1 bit: 1
0002  80 81 00 81 80 80  repeat the last 1 bit 1 more time (2 so far)
0008  80 00
000a  00                 end: 2 words
";
        assert_eq!(text, expected);
    }

    #[test]
    fn long_literals_are_wrapped_and_then_left_out() {
        let mut bytes = vec![0x2b, 0xff, 0x00, 0x01, 0x80, 0xff, 0x07, 0x00];
        let expected = "\
0000  2b                 emit 43 bits:
0001  ff 00 01 80 ff 07    11111111 00000000 10000000 00000001 11111111 111
0007  00                 end: 43 words
";
        assert_eq!(describe(&bytes).to_string(), expected);
        bytes = vec![0x7f, 0xe8, 0x07];
        bytes.extend([0xaa; 125]);
        bytes.push(0);
        let text = describe(&bytes).to_string();
        let lines: Vec<&str> = text.lines().collect();
        let bits = "01010101 01010101 01010101 01010101 01010101 01010101";
        assert_eq!(lines[0], "0000  7f e8 07           emit 1000 bits:");
        assert_eq!(lines[1], format!("0003  aa aa aa aa aa aa    {bits}"));
        assert_eq!(lines[6], format!("0021  aa aa aa aa aa aa    {bits}"));
        assert_eq!(lines[7], "...       78 bytes         624 more bits");
        assert_eq!(lines[8], format!("0075  aa aa aa aa aa aa    {bits}"));
        assert_eq!(lines[9], "007b  aa aa aa aa aa       01010101 01010101 01010101 01010101 01010101");
        assert_eq!(lines[10], "0080  00                 end: 1000 words");
        assert_eq!(lines.len(), 11);
    }
}
