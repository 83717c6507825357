//! Errors of a program: the offset of the first fault, its value, and what was expected. Invariant: an error holds
//! everything that its message says.

use core::fmt;

/// Why a program was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProgramError {
    /// The offset of the invalid instruction, or of the invalid part of it.
    pub at: usize,
    /// The reason.
    pub kind: ProgramErrorKind,
}

/// Why a byte of a program is invalid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ProgramErrorKind {
    /// The program ends without an end instruction.
    NoEnd,
    /// It ends inside an instruction.
    Truncated {
        /// The least number of missing bytes.
        missing: usize,
    },
    /// A varint does not end within ten bytes, or is larger than 2^64 - 1.
    LongVarint,
    /// A literal of no bits.
    EmptyLiteral,
    /// The unused bits of a literal's last byte are not zero.
    Padding {
        /// The number of used bits in the byte.
        used: u32,
    },
    /// A repeat of no bits.
    RepeatOfNothing,
    /// A repeat of more bits than were emitted.
    RepeatOfMore {
        /// The bits to repeat.
        last: u64,
        /// The bits emitted before.
        emitted: u64,
    },
    /// A repeat zero more times.
    RepeatNever,
    /// The instruction emits bits beyond the type's last word.
    TooLong {
        /// The words of the type.
        words: u64,
        /// The bits emitted before.
        emitted: u64,
    },
    /// The program ends before the last word of the type.
    TooShort {
        /// The words of the type.
        words: u64,
        /// The bits emitted.
        emitted: u64,
    },
    /// Bytes come after the end.
    Trailing {
        /// The number of bytes.
        bytes: usize,
    },
}

impl fmt::Display for ProgramError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "byte {}: {}", self.at, self.kind)
    }
}

impl fmt::Display for ProgramErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            ProgramErrorKind::NoEnd => write!(f, "the program ends without an end instruction (byte 00)"),
            ProgramErrorKind::Truncated { missing } => {
                write!(
                    f,
                    "the program ends inside an instruction: at least {missing} more bytes were expected"
                )
            }
            ProgramErrorKind::LongVarint => {
                write!(f, "a count is larger than 2^64 - 1 or does not end within ten bytes")
            }
            ProgramErrorKind::EmptyLiteral => write!(f, "a literal of no bits: at least one was expected"),
            ProgramErrorKind::Padding { used } => {
                write!(
                    f,
                    "only the lowest {used} bits of this byte are part of the literal; zeros were expected above"
                )
            }
            ProgramErrorKind::RepeatOfNothing => {
                write!(f, "a repeat of the last 0 bits: at least 1 was expected")
            }
            ProgramErrorKind::RepeatOfMore { last, emitted } => {
                write!(f, "a repeat of the last {last} bits, but only {emitted} were emitted before")
            }
            ProgramErrorKind::RepeatNever => write!(f, "a repeat 0 more times: at least 1 was expected"),
            ProgramErrorKind::TooLong { words, emitted } => write!(
                f,
                "this instruction emits more than the {} bits that are left of the type's {words} words",
                words.saturating_sub(emitted)
            ),
            ProgramErrorKind::TooShort { words, emitted } => {
                write!(f, "the program ends after {emitted} bits, but the type has {words} words")
            }
            ProgramErrorKind::Trailing { bytes } => {
                write!(f, "{bytes} bytes follow the end of the program: none was expected")
            }
        }
    }
}

impl core::error::Error for ProgramError {}
