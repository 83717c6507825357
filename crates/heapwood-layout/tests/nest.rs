//! Nests against types unrolled word by word: from any word to any other, a cursor yields exactly the pointers, in few
//! steps.

mod reference;
mod types;

use heapwood_layout::program::nest::MAX_DEPTH;
use heapwood_layout::program::{
    Builder, Cursor, Nest, NestError, NestErrorKind, Node, Op, Ops, Piece, Program,
};
use proptest::prelude::*;
use types::*;

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
    assert!(Nest::compile(all.finish().program(), &mut nodes).is_ok());
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
