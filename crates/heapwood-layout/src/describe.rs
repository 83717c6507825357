//! A small language of types, for users without Rust constants: C, and the command line. A type is a flat list of
//! items in prefix order: each struct precedes its fields and each array its element. [`parse`] makes such a list of
//! text, and [`compile`] makes a program of the list. Invariant: neither recurses nor allocates; anything nested
//! deeper than [`MAX_NESTING`] is refused.
//!
//! ```text
//! type    = "ptr" | "word" | "[" number "]" type | "{" type ... "}"
//! number  = digits [ "<<" digits ]
//! ```
//!
//! ```
//! use heapwood_layout::describe::{Item, compile, parse};
//! use heapwood_layout::program::Builder;
//!
//! let mut items = [Item::Scalars(0); 16];
//! let items = parse("{ word ptr [100]{ptr word word} [1<<28]ptr }", &mut items).unwrap();
//! let mut program = Builder::<64>::new();
//! assert_eq!(compile(items, &mut program), Ok(2 + 300 + (1 << 28)));
//! assert_eq!(program.finish().bytes().len(), 12);
//! ```

pub use crate::error::{DescribeError, DescribeErrorKind, Expected, ParseError};
pub use crate::limits::MAX_NESTING;
use crate::program::Builder;

/// An item of a description.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Item {
    /// Words without pointers.
    Scalars(u64),
    /// Pointers.
    Pointers(u64),
    /// A few words with and without pointers.
    Bits {
        /// Bit `i` is set if word `i` is a pointer.
        mask: u64,
        /// The number of words, at most 64.
        words: u32,
    },
    /// A struct of the following items, the fields in order of offset.
    Struct {
        /// The number of fields; the items inside a field do not count.
        fields: u64,
    },
    /// An array of the following item.
    Array {
        /// The number of elements. With 0, the element must still be there.
        n: u64,
    },
}

/// An incomplete struct or array.
#[derive(Clone, Copy)]
struct Open {
    item: usize,
    /// The number of missing fields; 1 in an array.
    missing: u64,
    /// The number of elements; 1 in a struct.
    n: u64,
    /// Its first word.
    begin: u64,
    /// Whether it is, or lies in, an array without elements.
    void: bool,
}

/// Adds the type of `items` to `out`. Returns its words.
///
/// # Errors
/// The first invalid item. `out` is unchanged.
pub const fn compile<const N: usize>(items: &[Item], out: &mut Builder<N>) -> Result<u64, DescribeError> {
    let mut all = *out;
    let mut open = [Open { item: 0, missing: 0, n: 1, begin: 0, void: false }; MAX_NESTING];
    let (mut depth, mut done, mut at) = (0, false, 0);
    while at < items.len() {
        if done {
            return Err(DescribeError { item: at, kind: DescribeErrorKind::Trailing });
        }
        let void = depth > 0 && open[depth - 1].void;
        let (missing, n) = match items[at] {
            Item::Struct { fields } => (fields, 1),
            Item::Array { n } => (1, n),
            _ => (0, 1),
        };
        if missing > 0 {
            if depth == MAX_NESTING {
                return Err(DescribeError { item: at, kind: DescribeErrorKind::TooDeep });
            }
            open[depth] = Open { item: at, missing, n, begin: all.words(), void: void || n == 0 };
            depth += 1;
            at += 1;
            continue;
        }
        let pushed = match items[at] {
            _ if void => Ok(()),
            Item::Scalars(words) => all.push_scalars(words),
            Item::Pointers(n) => all.push_pointers(n),
            Item::Bits { mask, words } => all.push_bits(mask, words),
            Item::Struct { .. } | Item::Array { .. } => Ok(()),
        };
        if let Err(error) = pushed {
            return Err(DescribeError { item: at, kind: DescribeErrorKind::Build(error) });
        }
        // The item is complete, and perhaps those that it is the last part of.
        done = true;
        while depth > 0 {
            let last = &mut open[depth - 1];
            last.missing -= 1;
            if last.missing > 0 {
                done = false;
                break;
            }
            if !last.void && last.n > 1 {
                let Open { item, n, begin, .. } = *last;
                if let Err(error) = all.push_array_from(begin, n) {
                    return Err(DescribeError { item, kind: DescribeErrorKind::Build(error) });
                }
            }
            depth -= 1;
        }
        at += 1;
    }
    if !done {
        let kind = match depth {
            0 => DescribeErrorKind::Empty,
            _ => DescribeErrorKind::Missing { of: open[depth - 1].item },
        };
        return Err(DescribeError { item: at, kind });
    }
    let words = all.words() - out.words();
    *out = all;
    Ok(words)
}

struct Parser<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Parser<'_> {
    fn space(&mut self) {
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
    }

    /// Skips blanks, and takes the token if it follows.
    fn take(&mut self, token: &str) -> bool {
        self.space();
        let taken = self.bytes[self.at..].starts_with(token.as_bytes());
        self.at += if taken { token.len() } else { 0 };
        taken
    }

    /// Takes a word of letters.
    fn word(&mut self, word: &str) -> bool {
        let begin = self.at;
        let taken = self.take(word)
            && !self.bytes.get(self.at).is_some_and(|next| next.is_ascii_alphanumeric() || *next == b'_');
        if !taken {
            self.at = begin;
        }
        taken
    }

    fn error<T>(&mut self, expected: Expected) -> Result<T, ParseError> {
        self.space();
        Err(ParseError { at: self.at, expected })
    }

    fn digits(&mut self, expected: Expected) -> Result<u64, ParseError> {
        self.space();
        let begin = self.at;
        let mut value = 0u64;
        while let Some(digit @ b'0'..=b'9') = self.bytes.get(self.at) {
            let next = value.checked_mul(10).and_then(|value| value.checked_add((digit - b'0') as u64));
            value = next.ok_or(ParseError { at: begin, expected: Expected::SmallerNumber })?;
            self.at += 1;
        }
        if self.at == begin { self.error(expected) } else { Ok(value) }
    }

    fn number(&mut self) -> Result<u64, ParseError> {
        self.space();
        let begin = self.at;
        let value = self.digits(Expected::Number)?;
        if !self.take("<<") {
            return Ok(value);
        }
        let shift = self.digits(Expected::Shift)?;
        if value == 0 {
            return Ok(0);
        }
        if shift > value.leading_zeros() as u64 {
            return Err(ParseError { at: begin, expected: Expected::SmallerNumber });
        }
        Ok(value << shift)
    }
}

/// Parses a type into items in `out`. Returns these.
///
/// # Errors
/// The first invalid byte, and what was expected there.
pub fn parse<'a>(text: &str, out: &'a mut [Item]) -> Result<&'a [Item], ParseError> {
    let mut text = Parser { bytes: text.as_bytes(), at: 0 };
    let (mut len, mut depth, room) = (0, 0, out.len());
    // The open items.
    let mut open = [0; MAX_NESTING];
    loop {
        text.space();
        let begin = text.at;
        let in_struct = depth > 0 && matches!(out[open[depth - 1]], Item::Struct { .. });
        let closed = in_struct && text.take("}");
        if closed {
            depth -= 1;
        } else {
            let (item, opens) = if text.word("ptr") {
                (Item::Pointers(1), false)
            } else if text.word("word") {
                (Item::Scalars(1), false)
            } else if text.take("{") {
                (Item::Struct { fields: 0 }, true)
            } else if text.take("[") {
                let n = text.number()?;
                if !text.take("]") {
                    return text.error(Expected::Bracket);
                }
                (Item::Array { n }, true)
            } else {
                return text.error(if in_struct { Expected::TypeOrClose } else { Expected::Type });
            };
            if opens && depth == MAX_NESTING {
                return Err(ParseError { at: begin, expected: Expected::LessNesting });
            }
            if len == room {
                return Err(ParseError { at: begin, expected: Expected::FewerItems { room } });
            }
            out[len] = item;
            if opens {
                open[depth] = len;
                depth += 1;
            }
            len += 1;
            if opens {
                continue;
            }
        }
        // The type is complete, and the arrays whose element it is.
        while depth > 0 && matches!(out[open[depth - 1]], Item::Array { .. }) {
            depth -= 1;
        }
        match depth.checked_sub(1).map(|innermost| &mut out[open[innermost]]) {
            Some(Item::Struct { fields }) => *fields += 1,
            _ => break,
        }
    }
    text.space();
    if text.at < text.bytes.len() {
        return text.error(Expected::End);
    }
    Ok(&out[..len])
}
