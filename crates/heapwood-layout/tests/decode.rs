//! Decoding against the reference: literals, repeats and nests of all shapes at all start bits, each into a buffer of
//! the exact size, whose other bits must not change ([`compare`] checks both). The limits of the fast paths are at 64
//! bits, at multiples of the period of whole words, at 24 and 48 words, at stretches of 2048 words and at bodies of
//! 2^21 bits.

mod reference;

use heapwood_layout::program::Program;
use heapwood_layout::program::decode::mask_times;
use proptest::prelude::*;
use reference::program::{bits, compare, emitted};

/// A tiny encoder.
#[derive(Default)]
struct Encoder {
    bytes: Vec<u8>,
    random: u64,
}

impl Encoder {
    fn new(seed: usize) -> Encoder {
        Encoder { bytes: vec![], random: seed as u64 * 2 + 1 }
    }

    fn varint(mut self, mut n: usize) -> Encoder {
        while n >= 0x80 {
            self.bytes.push(n as u8 | 0x80);
            n >>= 7;
        }
        self.bytes.push(n as u8);
        self
    }

    fn next(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }

    fn bits(mut self, bits: &[bool]) -> Encoder {
        if bits.len() < 0x7f {
            self.bytes.push(bits.len() as u8);
        } else {
            self.bytes.push(0x7f);
            self = self.varint(bits.len());
        }
        let byte = |bits: &[bool]| bits.iter().rev().fold(0, |byte, &bit| byte << 1 | u8::from(bit));
        self.bytes.extend(bits.chunks(8).map(byte));
        self
    }

    /// Random bits.
    fn literal(mut self, bits: usize) -> Encoder {
        let bits: Vec<bool> = (0..bits).map(|_| self.next() >> 40 & 1 != 0).collect();
        self.bits(&bits)
    }

    fn repeat(mut self, last: usize, times: usize) -> Encoder {
        if last < 0x80 {
            self.bytes.push(0x80 | last as u8);
        } else {
            self.bytes.push(0x80);
            self = self.varint(last);
        }
        self.varint(times)
    }

    fn with<T>(mut self, run: impl FnOnce(&Program<'_>) -> T) -> T {
        self.bytes.push(0);
        run(&Program::check(&self.bytes, emitted(&self.bytes)).expect("the tests' programs are right"))
    }

    /// At some start bits.
    fn compare(self, starts: impl IntoIterator<Item = usize>) {
        self.with(|program| starts.into_iter().for_each(|start| compare(program, start)));
    }
}

/// All within a word, at its start and in the middle.
const SOME: [usize; 6] = [0, 1, 31, 62, 63, 64];

#[test]
fn literals_of_all_lengths_at_all_start_bits() {
    for len in 1..=200 {
        Encoder::new(len).literal(len).compare(0..64);
        // After some bits, so that the literal begins elsewhere.
        Encoder::new(len).literal(len % 61 + 1).literal(len).literal(3).compare(SOME);
    }
    for len in (250..700).step_by(7).chain([1023, 1024, 1025, 4095, 4096, 4097, 20_000]) {
        Encoder::new(len).literal(len).literal(1).compare(SOME);
    }
}

#[test]
fn repeats_of_all_lengths() {
    let around = |n: usize| n - 3..=n + 3;
    for n in (1..=200).chain(around(256)).chain(around(4096)).chain([320, 640, 1000, 1536, 2048]) {
        for times in [1, 2, 3, 4, 7, 62, 63, 64, 65, 66] {
            if n * times < 100_000 {
                Encoder::new(n).literal(n).repeat(n, times).literal(2).compare([n, n + times, times]);
            }
        }
    }
}

#[test]
fn repeats_at_all_start_bits() {
    for n in [1, 2, 3, 5, 7, 31, 32, 33, 57, 58, 63, 64, 65, 66, 96, 127, 128, 129, 130, 192, 200] {
        for times in [1, 2, 3, 40] {
            Encoder::new(n).literal(n).repeat(n, times).compare(0..64);
        }
    }
}

#[test]
fn every_end_of_a_repeat() {
    // All totals, hence all bits at which a repeat may end, for bodies of one bit ...
    for total in 1..=400 {
        for body in [[true], [false]] {
            Encoder::new(total).bits(&body).repeat(1, total).literal(3).compare(SOME);
        }
    }
    // ... and for others, by a literal of varying length before them.
    for n in [2, 3, 6, 31, 63, 64, 65, 100, 128] {
        for ahead in 1..=64 {
            Encoder::new(ahead).literal(ahead).literal(n).repeat(n, 5).repeat(n + 1, 2).compare([0, 17]);
        }
    }
}

#[test]
fn around_the_limits_of_the_fast_paths() {
    let gcd64 = |n: usize| 1 << n.trailing_zeros().min(6);
    for n in [1, 2, 3, 5, 6, 7, 12, 24, 32, 33, 48, 57, 58, 60, 62, 63, 64] {
        // Derived words and copied words.
        let period = n / gcd64(n);
        for words in [23, 24, 25, 47, 48, 49, 50, 2 * period, period + 24, 96, 200] {
            let times = words * 64 / n;
            for times in times.saturating_sub(2).max(1)..times + 4 {
                Encoder::new(n).literal(n).repeat(n, times).literal(1).compare([0, 5, 63]);
            }
        }
    }
    for n in [65, 66, 72, 96, 100, 127, 128, 129, 130, 192, 256, 320, 448, 1472, 1536, 1600] {
        // The distance doubles until it is a number of words, and then words are copied.
        let period = n / gcd64(n);
        for words in [1, 2, 3, period - 1, period, period + 1, 2 * period, 3 * period, 200] {
            let times = words * 64 / n;
            for times in times.saturating_sub(1).max(1)..times + 3 {
                Encoder::new(n).literal(n).repeat(n, times).literal(1).compare([0, 5, 63]);
            }
        }
    }
    // Stretches of up to 2048 words.
    for (n, words) in [(3, 2048), (3, 4096), (192, 2048), (64 * 2047, 3), (64 * 2048, 3), (64 * 2049, 3)] {
        let times = if n < 1000 { words * 64 / n } else { words };
        for times in times..times + 2 {
            Encoder::new(n).literal(n).repeat(n, times).literal(1).compare([0, 5]);
        }
    }
}

#[test]
fn large_ones() {
    // Compared with the same program at another start bit, whose words differ, and by a formula.
    for (n, times) in
        [(1, 1 << 21), (2, 1 << 20), (57, 20_000), (64, 20_000), (1001, 3000), (64_001, 64), (999, 4000)]
    {
        Encoder::new(n).literal(n).repeat(n, times).literal(2).compare([0, 1, 40, 63]);
        Encoder::new(n).literal(n).repeat(n, times).with(|program| {
            let mut out = vec![0; program.words().div_ceil(64) as usize];
            program.decode(&mut out, 0);
            let bit = |i: usize| out[i / 64] >> (i % 64) & 1;
            assert!((n..program.words() as usize).all(|i| bit(i) == bit(i % n)), "{n} x {times}");
        });
    }
    // Bodies of more than 2^21 bits: the distance no longer doubles.
    let n = (1 << 21) + 77;
    Encoder::new(5).literal(99).repeat(99, n / 99).literal(n % 99).repeat(n, 5).with(|program| {
        let mut out = vec![0; program.words().div_ceil(64) as usize];
        program.decode(&mut out, 0);
        let bit = |i: usize| out[i / 64] >> (i % 64) & 1;
        assert!((n + 99..program.words() as usize).all(|i| bit(i) == bit(i - n)));
    });
}

#[test]
fn a_repeat_of_less_than_was_emitted_or_of_more_than_one_instruction() {
    for n in 1..=150 {
        for more in [1, 30, 64, 100] {
            Encoder::new(n).literal(n + more).repeat(n, 3).repeat(n + more, 2).compare([0, 9, 63]);
            Encoder::new(n).literal(n).literal(more).repeat(n + more, 2).repeat(more, 1).compare([0, 9, 63]);
        }
    }
}

#[test]
fn five_levels() {
    for widths in [[1, 2, 3, 4, 5], [3, 5, 2, 9, 2], [64, 2, 2, 3, 5], [7, 9, 3, 2, 4], [2, 31, 2, 3, 9]] {
        let (mut encoder, mut n) = (Encoder::new(n_of(&widths)), 0);
        for width in widths {
            // A scalar of more bits at each level, and all of it repeated.
            encoder = encoder.literal(width);
            n += width;
            encoder = encoder.repeat(n, width);
            n *= width + 1;
        }
        encoder.compare([0, 1, 7, 63]);
    }
}

fn n_of(widths: &[usize]) -> usize {
    widths.iter().fold(0, |n, w| n * 10 + w)
}

#[test]
fn the_worked_examples() {
    let decoded = |bytes: &[u8], words: u64| {
        let mut out = vec![0; words.div_ceil(64) as usize];
        Program::check(bytes, words).unwrap().decode(&mut out, 0);
        out
    };
    assert_eq!(decoded(&[0x02, 0x01, 0x00], 2), [1]);
    assert_eq!(decoded(&[0x01, 0x00, 0x81, 0x7f, 0x02, 0x03, 0x00], 130), [0, 0, 3]);
    let ones = decoded(&[0x01, 0x01, 0x81, 0xff, 0xff, 0xff, 0x7f, 0x00], 1 << 28);
    assert!(ones.iter().all(|&word| word == u64::MAX));
    let hundreds = decoded(&[0x03, 0x01, 0x83, 0x09, 0x9e, 0x63, 0x00], 3000);
    assert!((0..3000).all(|i| hundreds[i / 64] >> (i % 64) & 1 == u64::from(i % 3 == 0)));
    assert_eq!(hundreds[46] >> (3000 % 64), 0);
    Encoder::new(1).literal(1).compare(0..256);
}

#[test]
fn nothing_is_written_for_a_type_of_no_words() {
    let program = Program::check(&[0x00], 0).unwrap();
    program.decode(&mut [], 0);
    let mut out = [0x1234_5678_9abc_def0; 2];
    for start in 0..=128 {
        program.decode(&mut out, start);
    }
    assert_eq!(out, [0x1234_5678_9abc_def0; 2]);
}

#[test]
fn a_short_buffer_is_refused_before_anything_is_written() {
    let bytes = [0x01, 0x01, 0x81, 0x7f, 0x02, 0x03, 0x00];
    let program = Program::check(&bytes, 130).unwrap();
    for (len, start) in [(0, 0), (2, 0), (3, 63), (3, 64), (3, 1000), (3, usize::MAX - 100), (3, usize::MAX)]
    {
        let mut out = vec![7; len];
        let decode = std::panic::AssertUnwindSafe(|| program.decode(&mut out, start));
        let panic = std::panic::catch_unwind(decode).unwrap_err();
        let said = panic.downcast_ref::<String>().unwrap();
        assert!(said.starts_with("the 130 bits of the type do not fit from bit"), "{said}");
        assert!(out.iter().all(|&word| word == 7));
    }
    let mut out = [0; 3];
    program.decode(&mut out, 62);
    assert_eq!(out, [!0 << 62, !0, !0]);
    let panic =
        std::panic::catch_unwind(|| Program::check(&[0x00], 0).unwrap().decode(&mut [0], 65)).unwrap_err();
    let said = panic.downcast_ref::<String>().unwrap();
    assert_eq!(said, "the 0 bits of the type do not fit from bit 65 on into 1 words of 64 bits");
}

#[derive(Clone, Debug)]
enum Step {
    Literal(Vec<bool>),
    /// A repeat of a part of the bits so far, in 65536ths, or of a number of bits if there are enough.
    Repeat(u16, Option<usize>, usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let short = prop::collection::vec(any::<bool>(), 1..140);
    let times = prop_oneof![6 => 1usize..5, 3 => 5usize..80, 1 => 80usize..3000];
    let exact = prop_oneof![2 => Just(None), 3 => (1usize..200).prop_map(Some), 1 => (1usize..20).prop_map(|n| Some(n * 64))];
    let step = prop_oneof![
        short.prop_map(Step::Literal),
        (any::<u16>(), exact, times).prop_map(|(part, exact, times)| Step::Repeat(part, exact, times)),
    ];
    prop::collection::vec(step, 1..12)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn random_programs(steps in steps(), start in 0usize..256) {
        // The bits are also known here, so this tests the reference as well.
        let (mut encoder, mut known) = (Encoder::new(0), Vec::<bool>::new());
        for step in steps {
            match step {
                Step::Literal(bits) => {
                    encoder = encoder.bits(&bits);
                    known.extend(bits);
                }
                Step::Repeat(part, exact, times) => {
                    let last = exact.unwrap_or((known.len() * (usize::from(part) + 1)) >> 16).clamp(1, known.len().max(1));
                    let times = times.min((40_000 - known.len()) / last);
                    if known.is_empty() || times == 0 {
                        continue;
                    }
                    encoder = encoder.repeat(last, times);
                    let body = known[known.len() - last..].to_vec();
                    (0..times).for_each(|_| known.extend(&body));
                }
            }
            if known.len() > 30_000 {
                break;
            }
        }
        encoder.with(|program| {
            assert_eq!(bits(program), known);
            compare(program, start);
        });
    }
}

/// Consecutive elements, by program and by mask, are equal to single ones, and no other bit changes.
#[test]
fn elements_are_repeated() {
    for words in [1, 2, 3, 7, 31, 32, 63, 64, 65, 66, 100, 127, 128, 129, 200, 256] {
        Encoder::new(words).literal(words).with(repeated);
        if words > 2 {
            // The last word lies in a repeat.
            Encoder::new(words).literal(2).repeat(1, words - 2).with(repeated);
        }
    }
}

fn repeated(program: &Program<'_>) {
    let (one, words) = (bits(program), program.words() as usize);
    let mut mask = vec![0u64; words.div_ceil(64)];
    program.decode(&mut mask, 0);
    for (times, start) in [0, 1, 2, 3, 5, 33, 64, 100].into_iter().flat_map(|n| SOME.map(|start| (n, start)))
    {
        let end = start + words * times;
        for background in [0, u64::MAX] {
            let mut expected = vec![background; end.div_ceil(64).max(2)];
            for i in start..end {
                let bit = u64::from(one[(i - start) % words]);
                expected[i / 64] = expected[i / 64] & !(1 << (i % 64)) | bit << (i % 64);
            }
            let mut decoded = vec![background; expected.len()];
            program.decode_times(times, &mut decoded, start);
            assert_eq!(decoded, expected, "{times} of {words} words from {start} on");
            let mut masked = vec![background; expected.len()];
            mask_times(&mask, words, times, &mut masked, start);
            assert_eq!(masked, expected, "{times} of {words} words from {start} on, by mask");
        }
    }
}

#[test]
fn elements_that_do_not_fit_are_refused() {
    let program = Program::check(&[0x02, 0x01, 0x00], 2).unwrap();
    for times in [33, usize::MAX / 2, usize::MAX] {
        let mut out = [7; 1];
        let decode = std::panic::AssertUnwindSafe(|| program.decode_times(times, &mut out, 0));
        std::panic::catch_unwind(decode).unwrap_err();
        assert_eq!(out, [7]);
    }
}
