//! The reference for the decoder: a plain expansion bit by bit, and the replay of a fuzzer's bytes through both.

use heapwood_layout::program::{Nest, Node, Op, Ops, Piece, Program, text};

/// The bits of a program, one by one, lowest word first.
pub(crate) fn bits(program: &Program<'_>) -> Vec<bool> {
    let mut bits = Vec::new();
    for op in program.ops() {
        match op {
            Op::Literal { bits: count, bytes } => {
                bits.extend((0..count as usize).map(|i| bytes[i / 8] >> (i % 8) & 1 != 0));
            }
            Op::Repeat { last, times } => {
                for _ in 0..last * times {
                    bits.push(bits[bits.len() - last as usize]);
                }
            }
        }
    }
    bits
}

/// The number of words that a program emits; unchecked, and meaningless for an invalid program.
pub(crate) fn emitted(bytes: &[u8]) -> u64 {
    Ops::new(bytes).flatten().fold(0, |sum, (_, op)| {
        let more = match op {
            Op::Literal { bits, .. } => bits,
            Op::Repeat { last, times } => last.saturating_mul(times),
        };
        sum.saturating_add(more)
    })
}

/// Larger programs are not decoded bit by bit.
const COMPARED: u64 = 1 << 16;
/// Larger programs are not decoded at all.
const DECODED: u64 = 1 << 22;

/// Decodes the program into a buffer of the exact size, at `start_bit` (modulo 256), among bits of different values.
///
/// # Panics
/// A bit is wrong, or a bit outside the program changes.
pub(crate) fn compare(program: &Program<'_>, start_bit: usize) {
    let (start, words) = (start_bit % 256, program.words() as usize);
    let end = start + words;
    let before: Vec<u64> = (0..end.div_ceil(64) as u64).map(scramble).collect();
    let mut out = before.clone();
    program.decode(&mut out, start);
    let bit = |bits: &[u64], i: usize| bits[i / 64] >> (i % 64) & 1 != 0;
    for i in (0..start).chain(end..out.len() * 64) {
        assert_eq!(bit(&out, i), bit(&before, i), "bit {i} is outside {start}..{end}: {program:?}");
    }
    if program.words() <= COMPARED {
        for (i, expected) in bits(program).into_iter().enumerate() {
            assert_eq!(bit(&out, start + i), expected, "bit {i} of {words} from bit {start} on: {program:?}");
        }
    } else {
        // The same bits at another position.
        let mut other = vec![0; words.div_ceil(64)];
        program.decode(&mut other, 0);
        for (i, &expected) in other.iter().enumerate() {
            let at = start + i * 64;
            let high = out.get(at / 64 + 1).map_or(0, |word| word << 1 << (63 - at % 64));
            let mask = u64::MAX >> (64 - (words - i * 64).min(64));
            let is = (out[at / 64] >> (at % 64) | high) & mask;
            assert_eq!(is, expected, "bits {}.. of {words} from bit {start} on: {program:?}", i * 64);
        }
    }
}

/// Replays a fuzzer's bytes. If the first is even, it is the start bit. Otherwise eight bytes with the number of words
/// follow; without them it is what the program emits. Then comes the program.
///
/// # Panics
/// Checking, describing or decoding it goes wrong.
pub(crate) fn replay(data: &[u8]) {
    let Some((&first, rest)) = data.split_first() else { return };
    let (words, bytes) = match rest.split_first_chunk::<8>() {
        Some((words, bytes)) if first & 1 != 0 => (u64::from_le_bytes(*words), bytes),
        _ => (emitted(rest), rest),
    };
    let mut lines = Lines { lines: 0 };
    let program = match Program::check(bytes, words) {
        Ok(program) => program,
        Err(e) => {
            assert!(e.at <= bytes.len(), "{e:?}");
            core::fmt::write(&mut lines, format_args!("{}\n{e}", text::describe(bytes))).expect("no limit");
            return;
        }
    };
    assert_eq!(words, emitted(bytes));
    core::fmt::write(&mut lines, format_args!("{program}")).expect("no limit");
    assert!(lines.lines >= program.ops().count(), "a line an instruction, and the end");
    if words <= DECODED {
        compare(&program, usize::from(first >> 1) * 3);
    }
    if words <= COMPARED {
        compare_others(&program, usize::from(first >> 1) * 3);
    }
}

/// Compares the other decoders with its bits: three consecutive elements, and the nest of loops from a word on.
fn compare_others(program: &Program<'_>, start: usize) {
    let (bits, words) = (bits(program), program.words() as usize);
    for word in (0..words).filter(|word| words < 300 || word % 97 == start % 97) {
        assert_eq!(program.is_pointer(word as u64), bits[word], "word {word} alone: {program:?}");
    }
    let mut out = vec![0u64; (start + 3 * words).div_ceil(64)];
    program.decode_times(3, &mut out, start);
    for i in 0..3 * words {
        let at = start + i;
        assert_eq!(out[at / 64] >> (at % 64) & 1 != 0, bits[i % words], "bit {i} of three: {program:?}");
    }
    let (mut nodes, mut unrolled) = (vec![Node::EMPTY; 256], vec![0; start % 256]);
    let Ok(nest) = Nest::compile_or_unroll(*program, &mut nodes, &mut unrolled) else { return };
    let mut next = start % (words + 1);
    let mut cursor = nest.cursor(next as u64);
    let mut pointer = |word: usize| {
        let passed = &bits[next..word];
        assert!(bits[word] && !passed.contains(&true), "word {word} of the nest: {program:?}");
        next = word + 1;
    };
    while let Some(piece) = cursor.next_run() {
        match piece {
            Piece::Ones { word, words } => (word..word + words).for_each(|word| pointer(word as usize)),
            Piece::Bits { word, bits, len } => {
                let set = (0..u64::from(len)).filter(|i| bits >> i & 1 != 0);
                set.for_each(|i| pointer((word + i) as usize));
            }
        }
    }
    assert!(!bits[next..].contains(&true), "the nest ends at word {next}: {program:?}");
}

/// Counts the ends of lines.
struct Lines {
    lines: usize,
}

impl core::fmt::Write for Lines {
    fn write_str(&mut self, s: &str) -> core::fmt::Result {
        self.lines += s.bytes().filter(|&b| b == b'\n').count();
        Ok(())
    }
}

/// Pseudorandom bits, different for every number.
fn scramble(i: u64) -> u64 {
    let x = (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x ^ x >> 27
}
