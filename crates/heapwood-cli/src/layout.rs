//! `heapwood layout show`: prints layout programs, which describe the pointers of a type, or says which byte is wrong. Invariant: no
//! allocation depends on the size of the described type, so a type of 2^60 words costs no more than one of two. Pointers are
//! counted by the nest of loops that a heap uses. The encoding goes back to Cox (Go commit 512f75e8, 2015).

use crate::args::Show;
use heapwood_heap::{MOST_NODES, Refusal};
use heapwood_layout::describe::{Item, compile, parse};
use heapwood_layout::program::{Builder, Nest, Node, Op, Ops, Program, text};
use heapwood_layout::{TypeDescriptor, WORD};
use heapwood_report::input::read_at_most;
use heapwood_report::legible::legible;
use heapwood_report::{CommandError, say};
use std::ffi::OsStr;
use std::path::Path;

/// The largest file: in digits and with comments, four times the largest program of a heap.
const MOST_BYTES: u64 = 4 << 20;
/// The most letters of the argument that an error repeats.
const MOST_LETTERS: usize = 200;
/// The most bytes of a type's program, and items of its text.
const MOST_OF_TYPE: usize = 32 << 10;
const MOST_ITEMS: usize = 8 << 10;

pub(crate) fn run(args: &Show) -> Result<(), CommandError> {
    let (bytes, words) = find(&args.what)?;
    match Program::check(&bytes, words) {
        Ok(program) => {
            // Ends with a newline.
            say!("{program}");
            say!("{}", facts(&program));
            Ok(())
        }
        Err(wrong) => {
            // The instructions before the error are useful.
            say!("{}", text::describe(&bytes));
            Err(CommandError::run(format!("{}: {wrong}", legible(&args.what))))
        }
    }
}

/// The bytes and words of a program: of a file, or of a type if there is no such file. It is not checked yet.
fn find(what: &OsStr) -> Result<(Vec<u8>, u64), CommandError> {
    match read_at_most(Path::new(what), MOST_BYTES) {
        Ok(content) => {
            let bytes = bytes_of(&content);
            let bytes = bytes.map_err(|why| CommandError::run(format!("{}: {why}", legible(what))))?;
            let words = emitted(&bytes);
            Ok((bytes, words))
        }
        Err(no_file) => of_type(what).map_err(|no_type| {
            let name = what.to_string_lossy();
            let some: String = name.chars().take(MOST_LETTERS).collect();
            let more = if some.len() < name.len() { " (and more)" } else { "" };
            CommandError::usage(format!("{some:?}{more} is neither a type: {no_type}; nor a file: {no_file}"))
        }),
    }
}

/// The bytes of a file's content: as they are, or two hexadecimal digits each.
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

/// Sizes, the number of pointers, and why no heap takes a valid program, if none does.
fn facts(program: &Program<'_>) -> String {
    let count = |n: u128, noun: &str| format!("{n} {noun}{}", if n == 1 { "" } else { "s" });
    let bytes = u128::from(program.words()) * WORD as u128;
    let mut said = format!("{}, {}", count(program.words().into(), "word"), count(bytes, "byte"));
    if let Some(bytes) = u64::try_from(bytes).ok().filter(|&bytes| bytes >= 1 << 10) {
        said += &format!(" ({})", heapwood_report::size::show(bytes));
    }
    let (mut nodes, mut unrolled) = (vec![Node::EMPTY; MOST_NODES], vec![0; MOST_NODES]);
    let nest = Nest::compile_or_unroll(*program, &mut nodes, &mut unrolled).map_err(Refusal::Nest);
    if let Ok(nest) = nest {
        said += &format!(", {}", count(nest.pointers().into(), "pointer"));
    }
    said += &format!("; {} of description", count(program.bytes().len() as u128, "byte"));
    let size = TypeDescriptor::conservative(usize::try_from(bytes).unwrap_or(usize::MAX));
    if let Some(why) = size.err().map(|e| e.to_string()).or(nest.err().map(|e| e.to_string())) {
        said += &format!("; right, but no heap takes it: {why}");
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heaps_refuse_sizes_that_no_type_has() {
        let said = |bytes: &[u8], words| facts(&Program::check(bytes, words).unwrap());
        assert!(said(&[0x00], 0).contains("no heap takes it: ") && said(&[0x00], 0).contains("0 bytes"));
        let mut huge = vec![0x01, 0x00, 0x81];
        huge.extend([0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0x00]);
        assert!(said(&huge, u64::MAX).contains("at most"));
        assert!(!said(&[0x02, 0x01, 0x00], 2).contains("no heap"));
    }

    #[test]
    fn files_are_bytes_or_text() {
        for text in ["02 01 00", "020100", "# a comment: é\n02\t01 # and\r\n 00\n", "0201 00#"] {
            assert_eq!(bytes_of(text.as_bytes()), Ok(vec![2, 1, 0]), "{text:?}");
        }
        assert_eq!(bytes_of(b"aA fF"), Ok(vec![0xaa, 0xff]));
        assert_eq!(bytes_of(&[2, 1, 0]), Ok(vec![2, 1, 0]));
        assert_eq!(bytes_of(b"00 00\0"), Ok(b"00 00\0".to_vec()));
        assert_eq!((bytes_of(b""), bytes_of(b"# nothing")), (Ok(vec![]), Ok(vec![])));
        for (text, line) in [("2 1 0 0", 1), ("02 01\n0x00", 2), ("02 01 0", 1), ("some words", 1)] {
            let why = bytes_of(text.as_bytes()).unwrap_err();
            assert!(why.starts_with(&format!("line {line}: ")) && why.contains("two digits"), "{why}");
        }
    }
}
