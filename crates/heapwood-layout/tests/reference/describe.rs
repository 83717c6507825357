//! The reference for descriptions of types: a recursive reader of items that unrolls them, a printer, and the replay
//! of a fuzzer's bytes.

use super::program::bits;
use heapwood_layout::describe::{DescribeErrorKind, Item, compile, parse};
use heapwood_layout::program::Builder;

/// Larger types are not unrolled.
const UNROLLED: u128 = 1 << 16;
/// The most items that the C interface takes.
const ITEMS: usize = 128;
const BYTES: usize = 1024;

/// A type, read from a list of items.
struct Read {
    /// The number of its items.
    items: usize,
    words: u128,
}

/// Reads one type; `None` if an item is missing.
fn read(items: &[Item]) -> Option<Read> {
    let one = |words| Some(Read { items: 1, words });
    match *items.first()? {
        Item::Scalars(words) | Item::Pointers(words) => one(u128::from(words)),
        Item::Bits { words, .. } => one(u128::from(words)),
        Item::Struct { fields } => {
            let mut all = Read { items: 1, words: 0 };
            for _ in 0..fields {
                let field = read(&items[all.items..])?;
                all = Read { items: all.items + field.items, words: all.words.saturating_add(field.words) };
            }
            Some(all)
        }
        Item::Array { n } => {
            let element = read(&items[1..])?;
            Some(Read { items: 1 + element.items, words: element.words.saturating_mul(u128::from(n)) })
        }
    }
}

/// Unrolls the words of a type that is complete and not too long; returns the items after it.
fn unrolled<'i>(items: &'i [Item], out: &mut Vec<bool>) -> &'i [Item] {
    let (first, mut rest) = items.split_first().expect("the type is there");
    match *first {
        Item::Scalars(words) => out.extend(vec![false; words as usize]),
        Item::Pointers(words) => out.extend(vec![true; words as usize]),
        Item::Bits { mask, words } => out.extend((0..words).map(|i| mask >> i & 1 != 0)),
        Item::Struct { fields } => {
            for _ in 0..fields {
                rest = unrolled(rest, out);
            }
        }
        Item::Array { n } => {
            let mut element = Vec::new();
            // Without elements it may have any length.
            if n == 0 {
                return &rest[read(rest).expect("the element is there").items..];
            }
            rest = unrolled(rest, &mut element);
            out.extend(element.repeat(n as usize));
        }
    }
    rest
}

/// Items as text, if a text can express them.
fn text<'i>(items: &'i [Item], out: &mut String) -> &'i [Item] {
    let (first, mut rest) = items.split_first().expect("the type is there");
    match *first {
        Item::Scalars(_) => *out += "word ",
        Item::Pointers(_) => *out += "ptr ",
        Item::Bits { .. } => unreachable!("no text is read as a mask"),
        Item::Struct { fields } => {
            *out += "{";
            for _ in 0..fields {
                rest = text(rest, out);
            }
            *out += "}";
        }
        Item::Array { n } => {
            *out += &format!("[{n}]");
            rest = text(rest, out);
        }
    }
    rest
}

/// Compiles items and compares the result with them.
///
/// # Panics
/// They differ, or an error names the wrong item or has changed the builder.
pub(crate) fn compare(items: &[Item]) {
    let mut program = Builder::<BYTES>::new();
    program.push_bits(1, 2).expect("an empty builder takes two words");
    let (before, read) = (program, read(items));
    let words = match compile(items, &mut program) {
        Ok(words) => words,
        Err(e) => {
            assert_eq!(program.finish().bytes(), before.finish().bytes(), "{e}: changed");
            let right = match e.kind {
                DescribeErrorKind::Missing { of } => {
                    e.item == items.len() && read.is_none() && of < items.len()
                }
                DescribeErrorKind::Empty => items.is_empty(),
                DescribeErrorKind::Trailing => read.is_some_and(|read| read.items == e.item),
                _ => e.item < items.len(),
            };
            assert!(right, "{e}: {items:?}");
            assert!(!format!("{e}").is_empty());
            return;
        }
    };
    let read = read.unwrap_or_else(|| panic!("nothing is missing: {items:?}"));
    assert_eq!((read.items, read.words), (items.len(), u128::from(words)), "{items:?}");
    if read.words <= UNROLLED {
        let mut expected = vec![true, false];
        unrolled(items, &mut expected);
        assert_eq!(bits(&program.finish().program()), expected, "{items:?}");
    }
}

/// Replays a fuzzer's bytes: if the first is even, a text follows, for half as many items; otherwise items of nine
/// bytes each.
///
/// # Panics
/// Reading, printing or compiling them goes wrong.
pub(crate) fn replay(data: &[u8]) {
    let Some((&first, rest)) = data.split_first() else { return };
    let mut items = [Item::Scalars(0); ITEMS];
    if first % 2 == 0 {
        let Ok(source) = core::str::from_utf8(rest) else { return };
        let room = usize::from(first / 2);
        let items = match parse(source, &mut items[..room]) {
            Ok(items) => items,
            Err(e) => {
                assert!(e.at <= source.len() && !format!("{e}").is_empty(), "{e:?}");
                return;
            }
        };
        let (mut again, mut printed) = ([Item::Scalars(0); ITEMS], String::new());
        assert!(text(items, &mut printed).is_empty(), "{items:?}");
        assert_eq!(parse(&printed, &mut again).as_deref(), Ok(items), "{printed}");
        compare(items);
    } else {
        let mut len = 0;
        for (item, bytes) in items.iter_mut().zip(rest.chunks_exact(9)) {
            let number = u64::from_le_bytes(bytes[1..].try_into().expect("eight bytes"));
            // Small numbers make types, large ones errors.
            let small = number % 8;
            *item = match bytes[0] % 10 {
                0 => Item::Scalars(small),
                1 => Item::Pointers(small),
                2 => Item::Bits { mask: number >> 8, words: (number % 70) as u32 },
                3 => Item::Bits { mask: number >> 8 & ((1 << small) - 1), words: small as u32 },
                4 => Item::Struct { fields: small },
                5 => Item::Array { n: small },
                6 => Item::Scalars(number),
                7 => Item::Pointers(number),
                8 => Item::Struct { fields: number },
                _ => Item::Array { n: number },
            };
            len += 1;
        }
        compare(&items[..len]);
    }
}
