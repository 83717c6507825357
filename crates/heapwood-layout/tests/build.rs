//! Programs from builders and descriptions against types unrolled word by word; their size in bytes; and errors.

mod types;

use heapwood_layout::TypeMap;
use heapwood_layout::describe::{
    DescribeError, DescribeErrorKind, Expected, Item, MAX_NESTING, ParseError, compile, parse,
};
use heapwood_layout::program::MAX_WORDS;
use heapwood_layout::program::{BuildError, Builder, Field, Part, Program, ProgramBuf};
use proptest::prelude::*;
use std::panic::catch_unwind;
use types::*;

fn described(text: &str) -> (u64, Vec<u8>) {
    let mut items = [Item::Scalars(0); 64];
    let mut all = Builder::<256>::new();
    let words = compile(parse(text, &mut items).unwrap(), &mut all).unwrap();
    (words, all.finish().bytes().to_vec())
}

/// Arrays of arrays of structs, made by the compiler.
const PAIR: Builder<8> = Builder::new().pointer().scalars(1);
const ROW: Builder<8> = Builder::new().array(PAIR.body(), 2, 20);
const TABLE: Builder<16> = Builder::new().array(ROW.body(), 40, 10);
const HEADER: Builder<8> = Builder::new().bits(0b0001, 4);
const ONE: Builder<2> = Builder::new().pointer();
const BIG: ProgramBuf<32> =
    Builder::new().append(HEADER.body()).array(ONE.body(), 1, 1000).append(TABLE.body()).finish();
static BIG_BUF: ProgramBuf<32> = BIG;
const BIG_PROGRAM: Program<'static> = BIG_BUF.program();

#[test]
fn constants_are_made_by_the_compiler() {
    assert_eq!(BIG_PROGRAM.words(), 4 + 1000 + 400);
    let pairs = [true, false].repeat(200);
    let expected = [vec![true, false, false, false], vec![true; 1000], pairs].concat();
    assert_eq!(expanded(BIG_PROGRAM.bytes()), expected);
    assert_eq!(
        BIG.bytes(),
        [0x05, 0x11, 0x81, 0xe8, 0x07, 0x01, 0x00, 0x82, 0xc7, 0x01, 0x00],
        "header with the first pointers, 1000 more, the second word of a pair, 199 pairs more"
    );
    // An array of arrays is one, wherever it begins.
    const AGAIN: ProgramBuf<32> =
        Builder::new().append(HEADER.body()).pointers(1000).array(ROW.body(), 40, 10).finish();
    assert_eq!(AGAIN, BIG);
}

#[test]
fn descriptions_are_small() {
    let sizes: [(&str, u64, usize); 14] = [
        ("ptr", 1, 3),
        ("{ptr word}", 2, 3),
        ("[1<<28]ptr", 1 << 28, 8),
        ("[1<<40]word", 1 << 40, 10),
        ("[100][100]ptr", 10_000, 6),
        ("[100][100]{ptr ptr}", 20_000, 7),
        ("[100][100]word", 10_000, 6),
        ("[10][20]{ptr word}", 400, 6),
        ("[100][10]{ptr word word}", 3000, 6),
        ("[100]{[10]{ptr word word} word}", 3100, 9),
        ("{ptr word word word [1000]ptr [10][20]{ptr word}}", 1404, 11),
        ("{ word ptr [100]{ptr word word} [1<<28]ptr }", 302 + (1 << 28), 12),
        ("[4]{[4]{[4]{[4]{[4]{ptr word} ptr} ptr} ptr} ptr}", 2388, 22),
        ("{[500]word {[500]word} [2][500]word ptr}", 2001, 8),
    ];
    for (text, words, bytes) in sizes {
        let (described_words, program) = described(text);
        assert_eq!((described_words, program.len()), (words, bytes), "{text}: {program:02x?}");
        assert_eq!(Program::check(&program, words).map(|program| program.words()), Ok(words), "{text}");
    }
    assert_eq!(described("[1<<28]ptr").1, [0x01, 0x01, 0x81, 0xff, 0xff, 0xff, 0x7f, 0x00]);
}

#[test]
fn huge_arrays_take_no_time() {
    let (words, program) = described("[1<<20]{[1<<20]{ptr [1<<18]word} [1<<19]ptr}");
    assert_eq!(words, (1 << 20) * ((1 << 20) * ((1 << 18) + 1) + (1 << 19)));
    assert!(program.len() < 40, "{}", program.len());
    Program::check(&program, words).unwrap();
    let all = Builder::<64>::new().scalars(1 << 40).pointer().scalars(MAX_WORDS - 1 - (1 << 40));
    assert_eq!(all.finish().words(), MAX_WORDS);
}

#[test]
fn full_builders_refuse_and_go_on_refusing() {
    fn made<const N: usize>() -> Result<ProgramBuf<N>, BuildError> {
        let mut all = Builder::<N>::new();
        all.push_body(HEADER.body())?;
        all.push_array(ONE.body(), 1, 1000)?;
        all.push_body(TABLE.body())?;
        all.try_finish()
    }
    macro_rules! full {
        ($($n:literal)*) => { $(assert_eq!(made::<$n>(), Err(BuildError::Full { bytes: $n }));)* };
    }
    full!(0 1 2 3 4 5 6 7 8 9 10);
    assert_eq!(made::<11>().unwrap().bytes(), BIG.bytes());

    let mut all = Builder::<3>::new();
    all.push_bits(0b01, 2).unwrap();
    assert_eq!(all.push_array(TABLE.body(), 400, 2), Err(BuildError::Full { bytes: 3 }));
    assert_eq!(all.try_finish(), Err(BuildError::Full { bytes: 3 }));
    assert_eq!(
        Builder::<64>::new().push_body(all.body()),
        Err(BuildError::Full { bytes: 3 }),
        "what is not whole is not taken over"
    );
}

#[test]
fn mistakes_are_refused() {
    let mut all = Builder::<64>::new().pointers(2);
    assert_eq!(all.push_bits(0, 65), Err(BuildError::TooManyBits { n: 65 }));
    assert_eq!(all.push_bits(0b100, 2), Err(BuildError::BitBeyond { bit: 2, n: 2 }));
    assert_eq!(all.push_padding(1), Err(BuildError::PadBackwards { words: 2, to: 1 }));
    assert_eq!(all.push_array(PAIR.body(), 1, 5), Err(BuildError::PadBackwards { words: 2, to: 1 }));
    assert_eq!(all.push_repeat(3, 1), Err(BuildError::RepeatOfMore { last: 3, words: 2 }));
    assert_eq!(
        all.push_array(PAIR.body(), u64::MAX, 2),
        Err(BuildError::TooManyWords { words: 2, element: u64::MAX, n: 2 })
    );
    assert_eq!(
        all.push_array(PAIR.body(), MAX_WORDS - 1, 1),
        Err(BuildError::TooManyWords { words: 2, element: MAX_WORDS - 1, n: 1 })
    );
    assert!(all.push_scalars(MAX_WORDS - 1).is_err());
    assert!(all.push_repeat(2, 1 << 59).is_err());
    assert_eq!(all.finish(), Builder::new().bits(3, 2).finish(), "a refusal changes nothing");
    all.push_repeat(2, 3).unwrap();
    all.push_repeat(0, 3).unwrap();
    all.push_repeat(3, 0).unwrap();
    assert_eq!(all.finish().bytes(), [0x08, 0xff, 0x00]);
    let message = BuildError::Full { bytes: 3 }.to_string();
    assert_eq!(message, "the description of the type does not fit the 3 bytes given for it");
}

#[test]
fn panics_name_a_remedy() {
    let said = |f: fn()| *catch_unwind(f).unwrap_err().downcast::<&'static str>().unwrap();
    let full = said(|| {
        Builder::<4>::new().pointers(1000).finish();
    });
    assert!(full.contains("give it more bytes, such as Builder<256>"), "{full}");
    let overlap = said(|| {
        let field = Part::Body(PAIR.body());
        Builder::<64>::of_fields(4, &[Field { offset: 0, part: field }, Field { offset: 1, part: field }]);
    });
    assert!(overlap.contains("two fields hold the same word"), "{overlap}");
}

/// A struct whose fields are in the order of declaration, not of offset.
const MAP: TypeMap = TypeMap::NO_POINTERS.with_field(8, TypeMap::POINTER).with_field(800, TypeMap::POINTER);
const SHUFFLED: ProgramBuf<64> = Builder::of_fields(
    2000,
    &[
        Field { offset: 1500, part: Part::Body(TABLE.body()) },
        Field { offset: 300, part: Part::Mask(MAP.mask()) },
        Field { offset: 300, part: Part::Mask(TypeMap::NO_POINTERS.mask()) },
        Field { offset: 0, part: Part::Body(ONE.body()) },
        Field { offset: 1, part: Part::Body(Builder::<2>::new().body()) },
    ],
)
.finish();

#[test]
fn fields_are_put_in_order() {
    let mut expected = vec![false; 2000];
    expected[0] = true;
    expected[301] = true;
    expected[400] = true;
    (1500..1900).step_by(2).for_each(|word| expected[word] = true);
    assert_eq!(expanded(SHUFFLED.bytes()), expected);

    let field = |offset| Field { offset, part: Part::Body(TABLE.body()) };
    let refused = |words, fields: &[Field<'_>]| Builder::<64>::try_of_fields(words, fields).unwrap_err();
    assert_eq!(refused(399, &[field(0)]), BuildError::PadBackwards { words: 400, to: 399 });
    assert_eq!(refused(900, &[field(400), field(1)]), BuildError::Overlap { offset: 400, end: 401 });
    assert_eq!(refused(900, &[field(0), field(0)]), BuildError::Overlap { offset: 0, end: 400 });
    assert!(matches!(refused(900, &[field(u64::MAX)]), BuildError::TooManyWords { .. }));
    assert!(!Builder::<2>::of_fields(2000, &[]).has_pointers());
}

#[test]
fn descriptions_are_refused_at_their_item() {
    use Item::*;
    let refused = |items: &[Item]| {
        let mut all = Builder::<64>::new().pointers(3);
        let error = compile(items, &mut all).unwrap_err();
        assert_eq!(all.words(), 3, "a refusal changes nothing");
        (error.item, error.kind)
    };
    let missing = |of| DescribeErrorKind::Missing { of };
    assert_eq!(refused(&[]), (0, DescribeErrorKind::Empty));
    assert_eq!(refused(&[Array { n: 3 }]), (1, missing(0)));
    assert_eq!(refused(&[Struct { fields: 2 }, Pointers(1)]), (2, missing(0)));
    assert_eq!(refused(&[Struct { fields: 2 }, Array { n: 0 }, Pointers(1)]), (3, missing(0)));
    assert_eq!(refused(&[Struct { fields: 0 }, Pointers(1)]), (1, DescribeErrorKind::Trailing));
    assert_eq!(refused(&[Array { n: 2 }, Pointers(1), Scalars(1)]), (2, DescribeErrorKind::Trailing));
    let deep = vec![Array { n: 1 }; MAX_NESTING + 1];
    assert_eq!(refused(&deep), (MAX_NESTING, DescribeErrorKind::TooDeep));
    assert_eq!(refused(&[Struct { fields: u64::MAX }, Pointers(1)]), (2, missing(0)));
    let bits = Bits { mask: 8, words: 3 };
    assert_eq!(
        refused(&[Struct { fields: 2 }, Pointers(1), bits]),
        (2, DescribeErrorKind::Build(BuildError::BitBeyond { bit: 3, n: 3 }))
    );
    // The array is at fault, not its element.
    let large = [Struct { fields: 1 }, Array { n: 1 << 40 }, Array { n: 1 << 30 }, Pointers(1)];
    assert!(matches!(refused(&large), (1, DescribeErrorKind::Build(BuildError::TooManyWords { .. }))));
    // The element of an empty array is not added, however large.
    let mut all = Builder::<64>::new();
    let none = [Struct { fields: 2 }, Array { n: 0 }, Array { n: u64::MAX }, Scalars(u64::MAX), Pointers(1)];
    assert_eq!(compile(&none, &mut all), Ok(1));
    let error = DescribeError { item: 4, kind: DescribeErrorKind::Missing { of: 1 } };
    let said = "item 4: the list ends here, but more items were expected for the struct or array at 1";
    assert_eq!(error.to_string(), said);
}

#[test]
fn text_is_refused_at_its_byte() {
    let refused = |text: &str| {
        let ParseError { at, expected } = parse(text, &mut [Item::Scalars(0); 40]).unwrap_err();
        (at, expected)
    };
    assert_eq!(refused(""), (0, Expected::Type));
    assert_eq!(refused("  "), (2, Expected::Type));
    assert_eq!(refused("ptrs"), (0, Expected::Type));
    assert_eq!(refused("ptr ptr"), (4, Expected::End));
    assert_eq!(refused("{ptr"), (4, Expected::TypeOrClose));
    assert_eq!(refused("{ptr ]"), (5, Expected::TypeOrClose));
    assert_eq!(refused("}"), (0, Expected::Type));
    assert_eq!(refused("[3]}"), (3, Expected::Type));
    assert_eq!(refused("{[3]}"), (4, Expected::Type));
    assert_eq!(refused("{ptr}}"), (5, Expected::End));
    assert_eq!(refused("[ ]ptr"), (2, Expected::Number));
    assert_eq!(refused("[x]ptr"), (1, Expected::Number));
    assert_eq!(refused("[3 ptr"), (3, Expected::Bracket));
    assert_eq!(refused("[3<"), (2, Expected::Bracket));
    assert_eq!(refused("[3<<]"), (4, Expected::Shift));
    assert_eq!(refused("[1<<64]ptr"), (1, Expected::SmallerNumber));
    assert_eq!(refused("[3<<63]ptr"), (1, Expected::SmallerNumber));
    assert_eq!(refused("[ 18446744073709551616]ptr"), (2, Expected::SmallerNumber));
    assert_eq!(refused("[3]"), (3, Expected::Type));
    assert_eq!(refused("{ptr é}"), (5, Expected::TypeOrClose));
    let deep = "[1]".repeat(MAX_NESTING);
    assert_eq!(refused(&format!("{deep}[1]ptr")), (3 * MAX_NESTING, Expected::LessNesting));
    assert!(parse(&format!("{deep}ptr"), &mut [Item::Scalars(0); 40]).is_ok());
    let error = parse("{ptr word}", &mut [Item::Scalars(0); 2]).unwrap_err();
    assert_eq!((error.at, error.expected), (5, Expected::FewerItems { room: 2 }));
    assert_eq!(
        parse("{ ptr [7]x }", &mut [Item::Scalars(0); 9]).unwrap_err().to_string(),
        "byte 9: expected a type: `ptr`, `word`, `[N]T` or `{T ...}`"
    );
    let read = parse("{}", &mut [Item::Scalars(0); 1]).unwrap().to_vec();
    assert_eq!(read, [Item::Struct { fields: 0 }]);
    let read =
        parse("[18446744073709551615][0<<99]{word{}ptr}", &mut [Item::Scalars(0); 9]).unwrap().to_vec();
    use Item::*;
    let fields = [Struct { fields: 3 }, Scalars(1), Struct { fields: 0 }, Pointers(1)];
    assert_eq!(read[..2], [Array { n: u64::MAX }, Array { n: 0 }]);
    assert_eq!(read[2..], fields);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn builders_emit_the_added_words(ty in types()) {
        let built = ty.built();
        let program = built.finish();
        let expected = ty.unrolled();
        prop_assert_eq!(program.words(), expected.len() as u64);
        prop_assert_eq!(program.program().words(), expected.len() as u64);
        prop_assert_eq!(built.has_pointers(), expected.contains(&true));
        prop_assert!(expanded(program.bytes()) == expected, "{:02x?}", program.bytes());
    }

    #[test]
    fn descriptions_emit_their_types(ty in types(), before in types()) {
        let mut items = Vec::new();
        ty.items(&mut items);
        let mut all = before.built();
        prop_assert_eq!(compile(&items, &mut all), Ok(ty.words() as u64));
        let expected = [before.unrolled(), ty.unrolled()].concat();
        prop_assert!(expanded(all.finish().bytes()) == expected);
        // The same for the text, which describes the type by other items.
        let mut buffer = vec![Item::Scalars(0); 20_000];
        let parsed = parse(&ty.text(), &mut buffer);
        if ty.nesting() < MAX_NESTING {
            let mut all = Builder::<BYTES>::new();
            prop_assert_eq!(compile(parsed.unwrap(), &mut all), Ok(ty.words() as u64));
            prop_assert!(expanded(all.finish().bytes()) == ty.unrolled());
        }
    }

    #[test]
    fn raw_repeats_emit_their_words(list in instructions()) {
        let mut all = Builder::<BYTES>::new();
        let mut expected: Vec<bool> = Vec::new();
        for one in &list {
            let (last, times) = match one {
                Instruction::Literal(bits) => {
                    for part in bits.chunks(64) {
                        all.push_bits(as_bits(part), part.len() as u32).unwrap();
                    }
                    expected.extend(bits);
                    continue;
                }
                Instruction::Share(share, times) => (expected.len() * share / 1000, *times),
                Instruction::Last(last, times) => ((*last).min(expected.len()), *times),
            };
            if expected.len() + last * times <= LIMIT {
                all.push_repeat(last as u64, times as u64).unwrap();
                let unit = expected[expected.len() - last..].to_vec();
                (0..times).for_each(|_| expected.extend(&unit));
            }
        }
        prop_assert!(expanded(all.finish().bytes()) == expected);
    }
}
