//! Patterns, and how fast programs of them are decoded into bits, from the first bit of a word on; beside what others
//! measured with Go's programs of the same patterns, which is quoted and not made here.

use super::forms::unroll;
use super::stretch::Stretch;
use crate::failure::Failure;
use heapwood_layout::program::{BuildError, Builder, Program};
use std::hint::black_box;

/// Room for a program; a literal of 120,000 bits has 15,000 bytes.
const ROOM: usize = 16 << 10;

pub(super) struct Rate {
    pub(super) name: &'static str,
    pub(super) words: u64,
    /// The program.
    pub(super) bytes: Vec<u8>,
    /// Go's best, in bits a nanosecond.
    pub(super) go: f64,
    out: Vec<u64>,
    pub(super) ns: Stretch,
}

type Built = Result<Builder<ROOM>, BuildError>;

pub(super) fn all() -> Result<Vec<Rate>, Failure> {
    let cases: [(&str, f64, Built); 11] = [
        ("2^20 ones", 7.3, array(some([true]), 1 << 20)),
        ("2^20 alternating", 7.2, array(some([true, false]), 1 << 19)),
        ("7 x 100K", 7.2, array(some(mixed(7)), 100_000)),
        ("57 x 10K", 6.7, array(some(mixed(57)), 10_000)),
        ("58 x 10K", 5.4, array(some(mixed(58)), 10_000)),
        ("literal of 120,000", 5.9, some(mixed(120_000))),
        ("100 x 100 x 3", 6.2, array(array(some(mixed(3)), 100), 100)),
        ("Node128", 4.2, node(128)),
        ("Node1024", 8.7, node(1024)),
        ("Node128Slice", 5.8, array(node(128), 32)),
        ("Node1024Slice", 6.5, array(node(1024), 32)),
    ];
    let made = cases.into_iter().map(|(name, go, built)| Rate::new(name, go, built));
    made.collect::<Result<_, _>>().map_err(Failure::run)
}

/// Bits that repeat only after many.
fn mixed(n: usize) -> impl Iterator<Item = bool> {
    (0..n).map(|i| i * i % 11 % 3 == 1)
}

fn some(bits: impl IntoIterator<Item = bool>) -> Built {
    let mut all = Builder::new();
    let (mut block, mut n) = (0, 0);
    for bit in bits {
        block |= u64::from(bit) << n;
        n += 1;
        if n == 64 {
            all.push_bits(block, n)?;
            (block, n) = (0, 0);
        }
    }
    all.push_bits(block, n)?;
    Ok(all)
}

fn array(element: Built, n: u64) -> Built {
    let element = element?;
    let mut all = Builder::new();
    all.push_array(element.body(), element.words(), n)?;
    Ok(all)
}

fn node(words: u64) -> Built {
    let mut node = Builder::new();
    node.push_scalars(words)?;
    node.push_pointers(2)?;
    Ok(node)
}

impl Rate {
    fn new(name: &'static str, go: f64, built: Built) -> Result<Rate, BuildError> {
        let program = built?.try_finish()?;
        let out = unroll(&program.program());
        Ok(Rate {
            name,
            words: program.words(),
            bytes: program.bytes().to_vec(),
            go,
            out,
            ns: Stretch::new(),
        })
    }

    pub(super) fn round(&mut self, measuring: bool) {
        let Ok(program) = Program::check(&self.bytes, self.words) else { return };
        self.ns.round(measuring, |times| {
            for _ in 0..times {
                black_box(&program).decode(black_box(&mut self.out), 0);
            }
        });
    }
}
