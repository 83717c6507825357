//! Nests against types unrolled word by word: from any word to any other, a cursor yields exactly the pointers, in few
//! steps.

mod reference;
mod types;

use heapwood_layout::program::nest::MAX_DEPTH;
use heapwood_layout::program::{
    Builder, Cursor, Nest, NestError, NestErrorKind, Node, Op, Ops, Piece, Program, ProgramBuf,
};
use proptest::prelude::*;
use types::*;

fn made<const N: usize>(program: &ProgramBuf<N>) -> Vec<Node> {
    let mut nodes = vec![Node::EMPTY; program.bytes().len()];
    let nest = Nest::compile(program.program(), &mut nodes).expect("as many nodes as bytes suffice");
    check(nest);
    nest.nodes().to_vec()
}

/// The invariants of every nest.
fn check(nest: Nest<'_>) {
    fn level(nodes: &[Node], depth: usize) -> (u64, bool) {
        assert!(depth <= MAX_DEPTH);
        let (mut at, mut words, mut pointers) = (0, 0, false);
        while at < nodes.len() {
            pointers |= !matches!(nodes[at], Node::Skip { .. });
            match nodes[at] {
                Node::Loop { nodes: body, words: body_words, times } => {
                    let inner = level(&nodes[at + 1..at + 1 + body as usize], depth + 1);
                    assert_eq!(inner, (body_words, true));
                    assert!(times >= 2 && body >= 1);
                    at += body as usize;
                }
                Node::Bits { bits, len } => {
                    assert!((2..=64).contains(&len) && bits != 0 && bits.checked_shr(len).unwrap_or(0) == 0);
                }
                Node::Pattern { bits, period, words } => {
                    assert!((2..=64).contains(&period) && bits != 0 && words > period as u64);
                }
                Node::Skip { words } | Node::Ones { words } => assert!(words > 0),
            }
            at += 1;
        }
        // Again, by the nodes' own account.
        let mut at = 0;
        while at < nodes.len() {
            words += nodes[at].words();
            at += if let Node::Loop { nodes, .. } = nodes[at] { nodes as usize + 1 } else { 1 };
        }
        (words, pointers)
    }
    assert_eq!(level(nest.nodes(), 0).0, nest.words());
}

/// The words that a cursor yields, with the invariants of each piece.
fn yielded(mut cursor: Cursor<'_>) -> Vec<u64> {
    let mut all = Vec::new();
    while let Some(piece) = cursor.next_run() {
        match piece {
            Piece::Bits { word, bits, len } => {
                assert!((1..=64).contains(&len));
                assert!(bits & 1 == 1 && bits.checked_shr(len).unwrap_or(0) == 0);
                all.extend((0..len as u64).filter(|i| bits >> i & 1 == 1).map(|i| word + i));
                assert_eq!(cursor.word(), word + len as u64);
            }
            Piece::Ones { word, words } => {
                assert!(words > 0);
                all.extend(word..word + words);
                assert_eq!(cursor.word(), word + words);
            }
        }
    }
    assert_eq!(cursor.next_run(), None);
    all
}

/// Compares a nest with the expected bits, from every word or from some.
fn agrees(nest: Nest<'_>, expected: &[bool], seed: u64) {
    check(nest);
    assert_eq!(nest.words(), expected.len() as u64);
    let pointers: Vec<u64> = (0..expected.len() as u64).filter(|word| expected[*word as usize]).collect();
    assert_eq!(nest.pointers(), pointers.len() as u64);
    let words = expected.len() as u64;
    let starts: Vec<u64> = if words < 300 {
        (0..=words + 1).collect()
    } else {
        let random = |i: u64| (seed.wrapping_add(i).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 11) % words;
        (0..6).map(random).chain([0, words - 1, words]).collect()
    };
    for (i, from) in starts.iter().enumerate() {
        let rest = &pointers[pointers.partition_point(|word| word < from)..];
        assert_eq!(nest.first_pointer_at_or_after(*from), rest.first().copied());
        assert!(yielded(nest.cursor(*from)) == rest, "from {from}");
        let to = from + (seed.rotate_left(i as u32) % (words + 2)) / 2;
        let part = &rest[..rest.partition_point(|word| *word < to)];
        assert!(yielded(nest.cursor_between(*from, to)) == part, "{from} to {to}");
    }
    // Restarted from any position, for the next element.
    let mut cursor = nest.cursor(starts[seed as usize % starts.len()]);
    for to in [words, words / 2, words] {
        cursor.next_run();
        cursor.restart();
        cursor.end_before(to);
        let part = &pointers[..pointers.partition_point(|word| *word < to)];
        assert!(yielded(cursor.clone()) == part, "again, to {to}");
    }
}

#[test]
fn arrays_become_loops() {
    use Node::*;
    let pair = Builder::<8>::new().pointer().scalars(1);
    let pairs = made(&Builder::<64>::new().array(pair.body(), 2, 1000).finish());
    let wide = 0x5555_5555_5555_5555;
    assert_eq!(pairs, [Pattern { bits: wide, period: 2, words: 2000 }], "a word of 32 pairs at a time");

    let ones = made(&Builder::<64>::new().pointers(1 << 40).scalars(1 << 20).finish());
    assert_eq!(ones, [Ones { words: 1 << 40 }, Skip { words: 1 << 20 }]);

    let sparse = Builder::<64>::new().scalars(100).array(pair.body(), 2, 50).pointer();
    let nest = made(&Builder::<64>::new().pointers(9).array(sparse.body(), 1000, 30).finish());
    let expected = [
        Ones { words: 9 },
        Loop { nodes: 4, words: 1000, times: 30 },
        Skip { words: 100 },
        Pattern { bits: wide, period: 2, words: 100 },
        Ones { words: 1 },
        Skip { words: 799 },
    ];
    assert_eq!(nest, expected);
    // The element's first word equals the one before it: the run is divided between them.
    let element = Builder::<64>::new().pointers(100).scalars(100);
    let nest = made(&Builder::<64>::new().pointers(1000).array(element.body(), 200, 5).finish());
    let expected = [
        Ones { words: 1000 },
        Loop { nodes: 2, words: 200, times: 5 },
        Ones { words: 100 },
        Skip { words: 100 },
    ];
    assert_eq!(nest, expected);
}

#[test]
fn repeats_that_begin_inside_others_take_them_apart() {
    use Node::*;
    let nest = |program: &[u8], words, room| {
        let mut nodes = vec![Node::EMPTY; room];
        let nest = Nest::compile(Program::check(program, words).unwrap(), &mut nodes)?;
        agrees(nest, &expanded(program), 1);
        Ok::<_, NestError>(nest.nodes().to_vec())
    };
    // A pointer, 127 more, those 3 more times; and the last 5 of a run.
    let ones = [0x01, 0x01, 0x81, 0x7f, 0x80, 0x80, 0x01, 0x03, 0x85, 0x02, 0x00];
    assert_eq!(nest(&ones, 522, 2), Ok(vec![Ones { words: 522 }]));
    // 3 scalars and a pointer, 99 more times; the last 6 words (half of a period and a whole one) 20 more times.
    let pattern = [0x04, 0x08, 0x84, 0x63, 0x86, 0x14, 0x00];
    let six = 0b10_0010
        * (1 | 1 << 6 | 1 << 12 | 1 << 18 | 1 << 24 | 1 << 30 | 1 << 36 | 1 << 42 | 1 << 48 | 1 << 54);
    let expected = [
        Pattern { bits: 0x8888_8888_8888_8888, period: 4, words: 394 },
        Pattern { bits: six, period: 6, words: 126 },
    ];
    assert_eq!(nest(&pattern, 520, 2), Ok(expected.to_vec()));
    // A pointer and 99 scalars, 9 more times; the last 350 words 4 more times.
    let program = [0x02, 0x01, 0x81, 0x62, 0x80, 0x64, 0x09, 0x80, 0xde, 0x02, 0x04, 0x00];
    let apart = nest(&program, 2400, 20).unwrap();
    let expected = [
        Loop { nodes: 2, words: 100, times: 6 },
        Ones { words: 1 },
        Skip { words: 99 },
        Ones { words: 1 },
        Skip { words: 49 },
        Loop { nodes: 4, words: 350, times: 5 },
        Skip { words: 50 },
        Loop { nodes: 2, words: 100, times: 3 },
        Ones { words: 1 },
        Skip { words: 99 },
    ];
    assert_eq!(apart, expected);
    // It needs ten nodes, and the error says how many fit.
    assert!(nest(&program, 2400, 10).is_ok());
    for room in 0..10 {
        let NestError { at, kind } = nest(&program, 2400, room).unwrap_err();
        assert_eq!(kind, NestErrorKind::TooManyNodes { room });
        assert_eq!(at, [0, 2, 4].get(room).copied().unwrap_or(7), "{room}");
    }
}

#[test]
fn depth_is_bounded() {
    // Each level is a loop of its own.
    fn level(n: usize) -> Builder<128> {
        let mut all = Builder::new();
        if n > 0 {
            let element = level(n - 1).pointer().scalars(70);
            all.push_array(element.body(), element.words() + 1, 2).unwrap();
        }
        all
    }
    let mut nodes = [Node::EMPTY; 128];
    let deep_body = level(MAX_DEPTH);
    let deep = deep_body.finish();
    let nest = Nest::compile(deep.program(), &mut nodes).unwrap();
    agrees(nest, &expanded(deep.bytes()), 3);
    let loops = nest.nodes().iter().filter(|node| matches!(node, Node::Loop { .. })).count();
    assert_eq!(loops, MAX_DEPTH);

    let deeper = level(MAX_DEPTH + 1).pointer().finish();
    let error = Nest::compile(deeper.program(), &mut nodes).unwrap_err();
    let repeats =
        Ops::new(deeper.bytes()).map_while(Result::ok).filter(|(_, op)| matches!(op, Op::Repeat { .. }));
    let last = repeats.last().unwrap().0;
    assert_eq!(error, NestError { at: last, kind: NestErrorKind::TooDeep });
    let said = format!("byte {}: this repeat is one loop around 8: no more are possible", error.at);
    assert_eq!(error.to_string(), said);
    // The deepest item of a body counts, wherever it is.
    let shallow = Builder::<128>::new().array(level(1).pointer().scalars(99).body(), 300, 2);
    for body in [
        Builder::<256>::new().append(shallow.body()).append(deep_body.body()).pointer(),
        Builder::<256>::new().append(deep_body.body()).append(shallow.body()).pointer(),
    ] {
        let all = Builder::<256>::new().array(body.body(), body.words() + 70, 2).finish();
        let error = Nest::compile(all.program(), &mut [Node::EMPTY; 256]).unwrap_err();
        assert_eq!(error.kind, NestErrorKind::TooDeep);
    }
    // Deeper, but loops of the same array count once.
    let mut all = Builder::<128>::new().pointer().scalars(99);
    for _ in 0..20 {
        all = Builder::new().array(all.body(), all.words(), 2);
    }
    assert_eq!(made(&all.finish()).len(), 3);
}

#[test]
fn huge_types_are_passed_in_few_steps() {
    let inner = Builder::<64>::new().scalars(1 << 20).pointer().scalars(1 << 19);
    let words = inner.words();
    let row = Builder::<64>::new().array(inner.body(), words, 1 << 10).pointers(1 << 20);
    let row_words = row.words();
    let all = Builder::<64>::new().scalars(1 << 40).array(row.body(), row_words, 1 << 20).pointer().finish();
    let mut nodes = [Node::EMPTY; 64];
    let nest = Nest::compile(all.program(), &mut nodes).unwrap();
    check(nest);
    let first = (1 << 40) + (1 << 20);
    assert_eq!(nest.first_pointer_at_or_after(0), Some(first));
    assert_eq!(nest.first_pointer_at_or_after(first + 1), Some(first + words));
    let last_row = (1 << 40) + row_words * ((1 << 20) - 1);
    let mut cursor = nest.cursor(last_row + words * 1023 + (1 << 20) + 1);
    let ones = Piece::Ones { word: last_row + words * 1024, words: 1 << 20 };
    assert_eq!(cursor.next_run(), Some(ones));
    assert_eq!(cursor.next_run(), Some(Piece::Ones { word: all.words() - 1, words: 1 }));
    assert_eq!(cursor.next_run(), None);
    assert_eq!(nest.first_pointer_at_or_after(u64::MAX), None);
    // Every part begins where the previous one ended.
    let (mut from, mut pieces) = (0, 0);
    while let Some(word) = nest.first_pointer_at_or_after(from) {
        assert!(word >= from);
        from = word + (all.words() >> 8);
        pieces += 1;
    }
    assert!((100..=257).contains(&pieces));
}

#[test]
fn a_type_of_no_words_has_an_empty_nest() {
    let none = Builder::<1>::new().finish();
    let nest = Nest::compile(none.program(), &mut []).unwrap();
    assert_eq!((nest.nodes(), nest.words(), nest.first_pointer_at_or_after(0)), (&[][..], 0, None));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn types_become_nests_that_agree(ty in types(), seed: u64) {
        let program = ty.built().finish();
        let mut nodes = vec![Node::EMPTY; program.bytes().len()];
        match Nest::compile(program.program(), &mut nodes) {
            Ok(nest) => agrees(nest, &ty.unrolled(), seed),
            Err(error) => prop_assert_eq!(error.kind, NestErrorKind::TooDeep),
        }
    }

    #[test]
    fn programs_of_any_origin_become_nests_that_agree_or_are_refused(
        list in instructions(),
        limit in prop_oneof![Just(300usize), Just(20_000)],
        room in prop_oneof![3 => Just(10_000usize), 1 => 0usize..40],
        seed: u64,
    ) {
        let (program, words) = encoded(&list, limit);
        let bits = expanded(&program);
        let mut nodes = vec![Node::EMPTY; room];
        match Nest::compile(Program::check(&program, words as u64).unwrap(), &mut nodes) {
            Ok(nest) => agrees(nest, &bits, seed),
            Err(NestError { at, kind: NestErrorKind::TooManyNodes { room: said } }) => {
                prop_assert!(said == room && at < program.len());
                prop_assert!(room < 10_000, "10 000 nodes suffice for these few instructions");
            }
            Err(error) => prop_assert_eq!(error.kind, NestErrorKind::TooDeep),
        }
    }

    #[test]
    fn programs_are_unrolled_where_there_is_room(
        list in instructions(),
        room in 0usize..40,
        have in 0usize..8,
        seed: u64,
    ) {
        let (program, words) = encoded(&list, 400);
        let checked = Program::check(&program, words as u64).unwrap();
        let (mut nodes, mut plain) = (vec![Node::EMPTY; room], vec![Node::EMPTY; room]);
        // The buffer's old contents do not matter.
        let mut unrolled = vec![seed; have];
        let made = Nest::compile_or_unroll(checked, &mut nodes, &mut unrolled);
        match (Nest::compile(checked, &mut plain), made) {
            (Ok(nest), made) => prop_assert_eq!(made, Ok(nest)),
            (Err(_), Ok(nest)) => {
                prop_assert!(words.div_ceil(64) <= have && nest.nodes().len() <= words.div_ceil(64));
                agrees(nest, &expanded(&program), seed);
            }
            (Err(error), made) if words.div_ceil(64) > have => prop_assert_eq!(made, Err(error)),
            (Err(error), made) => {
                let kind = NestErrorKind::TooManyNodes { room };
                prop_assert_eq!(made, Err(NestError { kind, ..error }));
                prop_assert!(words.div_ceil(64) > room);
            }
        }
    }
}

#[test]
fn pointers_are_counted_as_they_are_emitted() {
    let programs: [(&[u8], u64); 6] = [
        (&[0x02, 0x01, 0x00], 2),
        (&[0x01, 0x00, 0x81, 0x7f, 0x02, 0x03, 0x00], 130),
        (&[0x03, 0x01, 0x83, 0x09, 0x9e, 0x63, 0x00], 3000),
        // A pattern that ends early, and one of 64 words.
        (&[0x03, 0x05, 0x83, 0x31, 0x02, 0x01, 0xa8, 0x07, 0x00], 152 + 40 * 7),
        (&[0x40, 1, 2, 3, 4, 5, 6, 7, 8, 0xc0, 0x05, 0x00], 384),
        (&[0x00], 0),
    ];
    let count = |program| Nest::compile(program, &mut [Node::EMPTY; 64]).unwrap().pointers();
    for (bytes, words) in programs {
        let program = Program::check(bytes, words).unwrap();
        let expected = reference::program::bits(&program).into_iter().filter(|bit| *bit).count();
        assert_eq!(count(program), expected as u64, "{program}");
    }
    let huge = Program::check(&[0x01, 0x01, 0x81, 0xff, 0xff, 0xff, 0x7f, 0x00], 1 << 28).unwrap();
    assert_eq!(count(huge), 1 << 28);
}
