//! The bytes of a program: from a file, raw or as hexadecimal text, or for a type. Invariant: the program is not
//! checked here. Only a file that cannot be a program, such as other text, is an error.

use heapwood_layout::describe::{Item, compile, parse};
use heapwood_layout::program::{Builder, Op, Ops};
use heapwood_report::CommandError;
use heapwood_report::input::read_at_most;
use heapwood_report::legible::legible;
use std::ffi::OsStr;
use std::path::Path;

/// The largest file: in digits and with comments, four times the largest program of a heap.
const MOST_BYTES: u64 = 4 << 20;
/// The most letters of the argument that an error repeats.
const MOST_LETTERS: usize = 200;
/// The most bytes of a type's program, and items of its text.
const MOST_OF_TYPE: usize = 32 << 10;
const MOST_ITEMS: usize = 8 << 10;

/// The source of the bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum From {
    File,
    Type,
}

/// The bytes of a program, with the words of the type.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) from: From,
    /// The user's argument.
    pub(super) name: String,
    pub(super) bytes: Vec<u8>,
    pub(super) words: u64,
}

impl Source {
    /// Reads a file, or a type if there is no such file.
    pub(super) fn find(what: &OsStr, words: Option<u64>) -> Result<Source, CommandError> {
        let path = Path::new(what);
        let no_file = match read_at_most(path, MOST_BYTES) {
            Ok(bytes) => return Self::of_file(path, &bytes, words),
            Err(e) => e,
        };
        let name = what.to_string_lossy().into_owned();
        let (bytes, of_type) = of_type(what).map_err(|no_type| {
            let some: String = name.chars().take(MOST_LETTERS).collect();
            let more = if some.len() < name.len() { " (and more)" } else { "" };
            CommandError::usage(format!("{some:?}{more} is neither a type: {no_type}; nor a file: {no_file}"))
        })?;
        if words.is_some() {
            return Err(CommandError::usage(
                "--words goes with a file only: a type has the words that it says",
            ));
        }
        Ok(Source { from: From::Type, name, bytes, words: of_type })
    }

    /// Reads a file.
    pub(super) fn file(path: &Path, words: Option<u64>) -> Result<Source, CommandError> {
        let bytes = read_at_most(path, MOST_BYTES)
            .map_err(|e| CommandError::run(format!("{} cannot be read: {e}", legible(path))))?;
        Self::of_file(path, &bytes, words)
    }

    fn of_file(path: &Path, content: &[u8], words: Option<u64>) -> Result<Source, CommandError> {
        let name = legible(path);
        let bytes = bytes_of(content).map_err(|why| CommandError::run(format!("{name}: {why}")))?;
        let words = words.unwrap_or_else(|| emitted(&bytes));
        Ok(Source { from: From::File, name, bytes, words })
    }
}

/// The bytes of a file's content.
fn bytes_of(content: &[u8]) -> Result<Vec<u8>, String> {
    let text = str::from_utf8(content).ok();
    match text.filter(|text| !text.contains(|c: char| c.is_control() && !c.is_whitespace())) {
        Some(text) => from_hex(text),
        None => Ok(content.to_vec()),
    }
}

/// Bytes of two digits each, without a blank between the two: `2 1 0 0` is an error and not `21 00`.
fn from_hex(text: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    for (at, line) in text.lines().enumerate() {
        for word in line.split('#').next().unwrap_or_default().split_whitespace() {
            let digits: Option<Vec<u8>> =
                word.chars().map(|c| c.to_digit(16).map(|digit| digit as u8)).collect();
            let pairs = digits.filter(|digits| digits.len().is_multiple_of(2)).ok_or_else(|| {
                format!("line {}: {word:?}: expected hexadecimal text, two digits a byte", at + 1)
            })?;
            bytes.extend(pairs.chunks(2).map(|pair| pair[0] << 4 | pair[1]));
        }
    }
    Ok(bytes)
}

/// The words that a program emits. For an invalid program, at least the words before the error.
fn emitted(bytes: &[u8]) -> u64 {
    let more = |op| match op {
        Op::Literal { bits, .. } => bits,
        Op::Repeat { last, times } => last.saturating_mul(times),
    };
    Ops::new(bytes).map_while(Result::ok).fold(0, |sum, (_, op)| sum.saturating_add(more(op)))
}

/// The program of a type with its words.
fn of_type(text: &OsStr) -> Result<(Vec<u8>, u64), String> {
    let text = text.to_str().ok_or("it is not text")?;
    let mut items = vec![Item::Scalars(0); MOST_ITEMS];
    let items = parse(text, &mut items).map_err(|e| e.to_string())?;
    let mut builder = Builder::<MOST_OF_TYPE>::new();
    let words = compile(items, &mut builder).map_err(|e| e.to_string())?;
    let program = builder.try_finish().map_err(|e| e.to_string())?;
    Ok((program.bytes().to_vec(), words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_bytes_or_text() {
        for text in ["02 01 00", "020100", "# a comment: é\n02\t01 # and\r\n 00\n", "0201 00#"] {
            assert_eq!(bytes_of(text.as_bytes()), Ok(vec![2, 1, 0]), "{text:?}");
        }
        assert_eq!(bytes_of(b"aA fF"), Ok(vec![0xaa, 0xff]));
        assert_eq!(bytes_of(&[2, 1, 0]), Ok(vec![2, 1, 0]));
        assert_eq!(bytes_of(b"00 00\0"), Ok(b"00 00\0".to_vec()));
        assert_eq!(bytes_of(&[0xff, 0x20]), Ok(vec![0xff, 0x20]));
        assert_eq!((bytes_of(b""), bytes_of(b"# nothing")), (Ok(vec![]), Ok(vec![])));
        for (text, line) in [("2 1 0 0", 1), ("02 01\n0x00", 2), ("02 01 0", 1), ("some words", 1)] {
            let why = bytes_of(text.as_bytes()).unwrap_err();
            assert!(why.starts_with(&format!("line {line}: ")) && why.contains("two digits"), "{why}");
        }
    }

    #[test]
    fn emitted_words_are_counted() {
        assert_eq!(emitted(&[0x01, 0x00, 0x81, 0x7f, 0x02, 0x03, 0x00]), 130);
        assert_eq!(emitted(&[0x02, 0x01]), 2);
        assert_eq!(emitted(&[]), 0);
        let mut bytes = vec![0x02, 0x01, 0x82];
        bytes.extend([0xff; 9]);
        bytes.extend([0x01, 0x00]);
        assert_eq!(emitted(&bytes), u64::MAX);
    }
}
