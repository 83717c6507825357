//! What the small programs do, and their command line. The peers in peers/rust-gc use this text, too.
//!
//! `trees N`: a tree of depth N lives; 300 of depth N - 3 are built, counted and dropped, one after the other.
//! `tables N`: a table of N slots; ten times N times a new pair of nodes replaces what is in a random slot.

use std::ops::RangeInclusive;
use std::process::exit;

/// How many trees are dropped.
pub const TREES: u32 = 300;
/// By how much their depth is less.
pub const LESS: u32 = 3;
/// The deepest.
const MOST_DEPTH: usize = 40;
/// The largest table.
const MOST_SLOTS: usize = 1 << 30;
/// Replacements for each slot.
pub const REPLACED: usize = 10;
/// Replacements that a program does at once, where it must say when it may be collected.
pub const BATCH: usize = 256;

/// A program: a number for its size.
pub type Work = fn(usize) -> u64;

/// Runs what the arguments name, and prints its number.
pub fn main(args: &[String], trees: Work, tables: Work) {
    let size = |text: &str, range: RangeInclusive<usize>| match text.parse() {
        Ok(size) if range.contains(&size) => size,
        _ => fail(),
    };
    let (name, number) = match args {
        [name, n] if name == "trees" => (name, trees(size(n, LESS as usize + 1..=MOST_DEPTH))),
        [name, n] if name == "tables" => (name, tables(size(n, 1..=MOST_SLOTS))),
        _ => fail(),
    };
    println!("{name} {number}");
}

fn fail() -> ! {
    eprintln!("usage: trees DEPTH (4 to 40), or tables SLOTS");
    exit(2);
}

/// The arguments of the process.
pub fn arguments() -> Vec<String> {
    std::env::args().skip(1).collect()
}

/// xorshift64*, as in the other workloads.
pub struct Random(u64);

impl Random {
    /// From the seed that all programs have.
    pub fn from_the_seed() -> Self {
        Random(0x9E37_79B9_7F4A_7C15)
    }

    /// A number below `below`.
    pub fn below(&mut self, below: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % below
    }
}
