//! Patterns of pointers, each as a program and in the older recursive form, and the speed of expanding both into bits,
//! from the first bit of a word on. Quoted figures are published measurements of Go's programs for the same patterns.
//! Invariant: both forms of a pattern have the same bits, which is checked when it is made.

use crate::layouts::forms::unroll;
use crate::layouts::recursive::RecursiveForm;
use crate::timing::{Clock, Series};
use heapwood_layout::program::{BuildError, Builder, Program};
use heapwood_report::CommandError;
use std::hint::black_box;

/// Room for a program: a literal of 120,000 bits has 15,000 bytes.
const ROOM: usize = 16 << 10;

pub(crate) struct Pattern {
    pub(crate) name: &'static str,
    pub(crate) words: u64,
    /// The program.
    pub(crate) bytes: Vec<u8>,
    /// Go's best pass, in bits a nanosecond, if published.
    pub(crate) go: Option<f64>,
    old: RecursiveForm,
    out: Vec<u64>,
    pub(crate) decode: Series,
    pub(crate) older: Series,
}

/// Both forms while they are built.
struct Both {
    program: Builder<ROOM>,
    old: Vec<RecursiveForm>,
}

type Built = Result<Both, BuildError>;

pub(crate) fn all() -> Result<Vec<Pattern>, CommandError> {
    let cases: [(&str, Option<f64>, Built); 15] = [
        ("2^20 ones", Some(7.3), array(some([true]), 1 << 20)),
        ("2^20 alternating", Some(7.2), array(some([true, false]), 1 << 19)),
        ("7 x 100K", Some(7.2), array(some(mixed(7)), 100_000)),
        ("57 x 10K", Some(6.7), array(some(mixed(57)), 10_000)),
        ("58 x 10K", Some(5.4), array(some(mixed(58)), 10_000)),
        ("65 x 10K", None, array(some(mixed(65)), 10_000)),
        ("1001 x 1000", None, array(some(mixed(1001)), 1000)),
        ("literal of 120,000", Some(5.9), some(mixed(120_000))),
        ("100 x 100 x 3", Some(6.2), array(array(some(mixed(3)), 100), 100)),
        ("Node128", Some(4.2), node(128)),
        ("Node130", None, node(130)),
        ("Node1024", Some(8.7), node(1024)),
        ("Node128Slice", Some(5.8), array(node(128), 32)),
        ("Node130Slice", None, array(node(130), 32)),
        ("Node1024Slice", Some(6.5), array(node(1024), 32)),
    ];
    cases.into_iter().map(|(name, go, built)| Pattern::new(name, go, built)).collect()
}

/// Bits with a long period.
fn mixed(n: usize) -> impl Iterator<Item = bool> {
    (0..n).map(|i| i * i % 11 % 3 == 1)
}

fn some(bits: impl IntoIterator<Item = bool>) -> Built {
    let bits: Vec<bool> = bits.into_iter().collect();
    let mut program = Builder::new();
    for block in bits.chunks(64) {
        let word = block.iter().rev().fold(0, |word, &bit| word << 1 | u64::from(bit));
        program.push_bits(word, block.len() as u32)?;
    }
    Ok(Both { program, old: vec![RecursiveForm::Bits(bits)] })
}

fn array(element: Built, n: u64) -> Built {
    let Both { program: element, old } = element?;
    let mut program = Builder::new();
    program.push_array(element.body(), element.words(), n)?;
    Ok(Both { program, old: vec![RecursiveForm::Array(Box::new(RecursiveForm::Seq(old)), n)] })
}

fn node(words: u64) -> Built {
    let mut program = Builder::new();
    program.push_scalars(words)?;
    program.push_pointers(2)?;
    let scalars =
        RecursiveForm::Array(Box::new(RecursiveForm::Seq(vec![RecursiveForm::Bits(vec![false])])), words);
    Ok(Both { program, old: vec![scalars, RecursiveForm::Bits(vec![true, true])] })
}

impl Pattern {
    fn new(name: &'static str, go: Option<f64>, built: Built) -> Result<Pattern, CommandError> {
        let Both { program, old } = built.map_err(CommandError::run)?;
        let (program, old) = (program.try_finish().map_err(CommandError::run)?, RecursiveForm::Seq(old));
        let out = unroll(&program.program());
        let mut again = vec![0u64; out.len()];
        old.decode(&mut again, 0);
        if out != again {
            return Err(CommandError::run(format!(
                "{name}: the older form has other pointers than the program"
            )));
        }
        let (words, bytes) = (program.words(), program.bytes().to_vec());
        Ok(Pattern { name, words, bytes, go, old, out, decode: Series::new(), older: Series::new() })
    }

    /// A stretch of decoding the program, and one of interpreting the older form, bit by bit.
    pub(crate) fn round(&mut self, clock: &Clock, measuring: bool) {
        let Ok(program) = Program::check(&self.bytes, self.words) else { return };
        self.decode.round(clock, measuring, |times| {
            for _ in 0..times {
                black_box(&program).decode(black_box(&mut self.out), 0);
            }
        });
        self.older.round(clock, measuring, |times| {
            for _ in 0..times {
                black_box(&self.old).decode(black_box(&mut self.out), 0);
            }
        });
    }
}
