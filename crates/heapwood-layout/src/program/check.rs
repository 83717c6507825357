//! Checked programs. Checking reads each instruction once and emits nothing, so `[2^28]pointer` costs no more than a
//! pointer. Invariant: a [`Program`] emits exactly one bit for each word of its type, and repeats only emitted bits.

use super::ops::{Op, Ops};
use crate::error::{ProgramError, ProgramErrorKind};

/// The checked instructions of a type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Program<'a> {
    bytes: &'a [u8],
    words: u64,
}

impl<'a> Program<'a> {
    /// Checks a program for a type of `words` words.
    ///
    /// # Errors
    /// The first invalid byte, and what was expected there.
    pub const fn check(bytes: &'a [u8], words: u64) -> Result<Self, ProgramError> {
        let (mut ops, mut emitted) = (Ops::new(bytes), 0u64);
        loop {
            let end = ops.offset();
            let (at, op) = match ops.read() {
                Ok(Some(op)) => op,
                Ok(None) if emitted < words => {
                    return Err(ProgramError {
                        at: end,
                        kind: ProgramErrorKind::TooShort { words, emitted },
                    });
                }
                Ok(None) if ops.offset() < bytes.len() => {
                    let bytes = bytes.len() - ops.offset();
                    return Err(ProgramError {
                        at: ops.offset(),
                        kind: ProgramErrorKind::Trailing { bytes },
                    });
                }
                Ok(None) => return Ok(Program { bytes, words }),
                Err(e) => return Err(e),
            };
            let more = match op {
                Op::Literal { bits, .. } => Some(bits),
                Op::Repeat { last, .. } if last > emitted => {
                    return Err(ProgramError { at, kind: ProgramErrorKind::RepeatOfMore { last, emitted } });
                }
                Op::Repeat { last, times } => last.checked_mul(times),
            };
            emitted = match more {
                Some(more) if more <= words - emitted => emitted + more,
                _ => return Err(ProgramError { at, kind: ProgramErrorKind::TooLong { words, emitted } }),
            };
        }
    }

    /// The words of the type, which is the number of emitted bits.
    pub const fn words(&self) -> u64 {
        self.words
    }

    /// The instructions, with the end instruction.
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Whether a word of the type is a pointer. It reads instructions from the first on, once for each repeat around
    /// the word: simple rather than fast, for checks.
    ///
    /// # Panics
    /// The type has fewer words.
    pub fn is_pointer(&self, word: u64) -> bool {
        assert!(word < self.words, "word {word} of a type of {} words", self.words);
        let mut word = word;
        'again: loop {
            let mut begin = 0;
            for op in self.ops() {
                match op {
                    Op::Literal { bits, bytes } if word < begin + bits => {
                        let bit = word - begin;
                        return bytes[(bit / 8) as usize] >> (bit % 8) & 1 == 1;
                    }
                    Op::Repeat { last, times } if word < begin + last * times => {
                        word = begin - last + (word - begin) % last;
                        continue 'again;
                    }
                    Op::Literal { bits, .. } => begin += bits,
                    Op::Repeat { last, times } => begin += last * times,
                }
            }
            unreachable!("a checked program emits all words");
        }
    }

    /// The instructions, without the end instruction.
    pub fn ops(&self) -> impl Iterator<Item = Op<'a>> + use<'a> {
        Ops::new(self.bytes).map_while(|op| op.ok().map(|(_, op)| op))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(bytes: &[u8], words: u64) -> (usize, ProgramErrorKind) {
        let e = Program::check(bytes, words).unwrap_err();
        (e.at, e.kind)
    }

    #[test]
    fn the_worked_examples() {
        let examples: [(&[u8], u64); 4] = [
            (&[0x02, 0x01, 0x00], 2),
            (&[0x01, 0x01, 0x81, 0xff, 0xff, 0xff, 0x7f, 0x00], 1 << 28),
            (&[0x01, 0x00, 0x81, 0x7f, 0x02, 0x03, 0x00], 130),
            (&[0x03, 0x01, 0x83, 0x09, 0x9e, 0x63, 0x00], 3000),
        ];
        for (bytes, words) in examples {
            assert_eq!(Program::check(bytes, words).map(|p| p.words()), Ok(words));
            assert_eq!(
                refused(bytes, words + 1).1,
                ProgramErrorKind::TooShort { words: words + 1, emitted: words }
            );
            assert!(matches!(refused(bytes, words - 1).1, ProgramErrorKind::TooLong { .. }));
            // Every truncation is an error.
            for len in 0..bytes.len() {
                let (at, kind) = refused(&bytes[..len], words);
                assert!(
                    at <= len && matches!(kind, ProgramErrorKind::NoEnd | ProgramErrorKind::Truncated { .. }),
                    "{len}: {kind:?}"
                );
            }
        }
    }

    #[test]
    fn every_mistake_is_named_with_its_byte() {
        let huge = [0x80, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        assert_eq!(refused(&[], 1), (0, ProgramErrorKind::NoEnd));
        assert_eq!(refused(&[0x00], 1), (0, ProgramErrorKind::TooShort { words: 1, emitted: 0 }));
        assert_eq!(refused(&[0x09, 0xff], 9), (2, ProgramErrorKind::Truncated { missing: 1 }));
        assert_eq!(refused(&[0x7f, 0xff], 9), (2, ProgramErrorKind::Truncated { missing: 1 }));
        assert_eq!(refused(&[0x7f, 0x00, 0x00], 9), (0, ProgramErrorKind::EmptyLiteral));
        assert_eq!(refused(&[0x03, 0x09, 0x00], 3), (1, ProgramErrorKind::Padding { used: 3 }));
        assert_eq!(refused(&[0x01, 0x01, 0x80, 0x00, 0x01, 0x00], 3), (2, ProgramErrorKind::RepeatOfNothing));
        assert_eq!(refused(&[0x01, 0x01, 0x81, 0x00, 0x00], 3), (2, ProgramErrorKind::RepeatNever));
        assert_eq!(
            refused(&[0x01, 0x01, 0x82, 0x01, 0x00], 3),
            (2, ProgramErrorKind::RepeatOfMore { last: 2, emitted: 1 })
        );
        assert_eq!(
            refused(&[0x82, 0x01, 0x00], 3),
            (0, ProgramErrorKind::RepeatOfMore { last: 2, emitted: 0 })
        );
        assert_eq!(refused(&[0x02, 0x01, 0x00, 0x00, 0x07], 2), (3, ProgramErrorKind::Trailing { bytes: 2 }));
        // Counts that overflow.
        let mut bytes = vec![0x01, 0x01];
        bytes.extend(huge);
        bytes.extend([0x02, 0x00]);
        assert_eq!(refused(&bytes, 9).1, ProgramErrorKind::RepeatOfMore { last: u64::MAX, emitted: 1 });
        let mut bytes = vec![0x02, 0x01, 0x82];
        bytes.extend(&huge[1..]);
        bytes.push(0x00);
        assert_eq!(refused(&bytes, u64::MAX), (2, ProgramErrorKind::TooLong { words: u64::MAX, emitted: 2 }));
        let mut bytes = vec![0x7f];
        bytes.extend(&huge[1..]);
        assert!(matches!(refused(&bytes, u64::MAX).1, ProgramErrorKind::Truncated { .. }));
        let long = [0x01, 0x01, 0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x02, 0x00];
        assert_eq!(refused(&long, 9), (3, ProgramErrorKind::LongVarint));
        let said = Program::check(&[0x01, 0x01, 0x82, 0x01, 0x00], 3).unwrap_err().to_string();
        assert_eq!(said, "byte 2: a repeat of the last 2 bits, but only 1 were emitted before");
    }
}
