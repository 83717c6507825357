//! Decoding against the reference: literals, repeats and nests of all shapes at all start bits, each into a buffer of
//! the exact size, whose other bits must not change ([`compare`] checks both). The limits of the fast paths are at 64
//! bits, at multiples of the period of whole words, at 24 and 48 words, at stretches of 2048 words and at bodies of
//! 2^21 bits.

mod reference;
mod types;

use heapwood_layout::program::Program;
use heapwood_layout::program::decode::mask_times;
use proptest::prelude::*;
use reference::program::{bits, compare, emitted};
use types::{encoded, expanded, instructions, write_literal, write_repeat};

/// A program in the making, and random numbers for its bits.
#[derive(Default)]
struct Encoder {
    bytes: Vec<u8>,
    random: u64,
}

impl Encoder {
    fn new(seed: usize) -> Encoder {
        Encoder { bytes: vec![], random: seed as u64 * 2 + 1 }
    }

    fn next(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }

    /// Random bits.
    fn literal(mut self, bits: usize) -> Encoder {
        let bits: Vec<bool> = (0..bits).map(|_| self.next() >> 40 & 1 != 0).collect();
        write_literal(&mut self.bytes, &bits);
        self
    }

    fn repeat(mut self, last: usize, times: usize) -> Encoder {
        write_repeat(&mut self.bytes, last, times);
        self
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
fn repeats_at_all_start_bits() {
    for n in [1, 2, 3, 5, 7, 31, 32, 33, 57, 58, 63, 64, 65, 66, 96, 127, 128, 129, 130, 192, 200] {
        for times in [1, 2, 3, 40] {
            Encoder::new(n).literal(n).repeat(n, times).compare(0..64);
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn random_programs(list in instructions(), start in 0usize..256) {
        let (bytes, words) = encoded(&list, 40_000);
        let program = Program::check(&bytes, words as u64).expect("the encoder is right");
        // The bits are known here too, so this tests the reference as well.
        prop_assert!(bits(&program) == expanded(&bytes));
        compare(&program, start);
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
