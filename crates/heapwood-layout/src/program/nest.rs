//! Programs as nests of loops, for whoever must start anywhere in a type: a collector that scans a large object in parts.
//! A repeat of the last `n` bits becomes a loop around the items that are those bits, so any word is found by one division
//! a loop, and words without pointers are passed by in one step however many they are.
//!
//! Nodes are in prefix order: a loop comes before its body. Invariants: a loop has a pointer in it, and at least two
//! iterations; loops are at most [`MAX_DEPTH`] deep, so that a cursor needs no memory of its own. The idea of compiling
//! the repeats so that a scan may start anywhere is this crate's; Go expands such programs into bits before it scans.
//!
//! ```
//! use heapwood_layout::program::{Builder, Nest, Node, Piece};
//!
//! let cell = Builder::<16>::new().pointer().scalars(999);
//! let program = Builder::<32>::new().array(cell.body(), 1000, 1 << 30).finish();
//! let mut nodes = [Node::EMPTY; 32];
//! let nest = Nest::compile(program.program(), &mut nodes).unwrap();
//! let mut cursor = nest.cursor(7_000_000_001);
//! assert_eq!(cursor.next_run(), Some(Piece::Ones { word: 7_000_001_000, words: 1 }));
//! assert_eq!(nest.first_pointer_at_or_after(7_000_001_001), Some(7_000_002_000));
//! ```

mod cursor;
mod make;

pub use cursor::{Cursor, Piece};

use super::check::Program;
use crate::error::NestError;
use make::Maker;

/// How many loops may lie in each other.
pub const MAX_DEPTH: usize = 8;

/// One item of a nest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Node {
    /// Words without a pointer.
    Skip {
        /// How many.
        words: u64,
    },
    /// Words that are all pointers.
    Ones {
        /// How many.
        words: u64,
    },
    /// A few words, pointers and others.
    Bits {
        /// Which are pointers, the first word in the lowest bit.
        bits: u64,
        /// How many words, 2 to 64.
        len: u32,
    },
    /// Words that are a few repeated: a loop of one item.
    Pattern {
        /// As many whole periods as fit 64 bits, the first word in the lowest bit.
        bits: u64,
        /// The words of a period, 2 to 64.
        period: u32,
        /// How many words; the last period may end early.
        words: u64,
    },
    /// The nodes behind this one, repeated.
    Loop {
        /// How many nodes, those of loops in this one counted.
        nodes: u32,
        /// The words of one iteration.
        words: u64,
        /// How many iterations.
        times: u64,
    },
}

/// A program as a nest of loops.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Nest<'a> {
    nodes: &'a [Node],
    words: u64,
}

/// The lowest `n` bits, `n` at most 64.
const fn low(n: u64) -> u64 {
    if n >= 64 { u64::MAX } else { (1 << n) - 1 }
}

impl Node {
    /// Fills a buffer before a nest is written there.
    pub const EMPTY: Node = Node::Skip { words: 0 };

    /// The words, those of all iterations of a loop.
    pub const fn words(&self) -> u64 {
        match *self {
            Node::Skip { words } | Node::Ones { words } | Node::Pattern { words, .. } => words,
            Node::Bits { len, .. } => len as u64,
            Node::Loop { words, times, .. } => words * times,
        }
    }

    /// How many nodes this and what is in it are.
    const fn span(&self) -> usize {
        match self {
            Node::Loop { nodes, .. } => *nodes as usize + 1,
            _ => 1,
        }
    }

    /// The node of a few words.
    fn of_bits(bits: u64, len: u64) -> Node {
        if bits == 0 {
            Node::Skip { words: len }
        } else if bits == low(len) {
            Node::Ones { words: len }
        } else {
            Node::Bits { bits, len: len as u32 }
        }
    }

    /// The bits of up to 64 words that are no loop, from word `from` on; how many there are, at least 1.
    fn bits_from(&self, from: u64) -> (u64, u64) {
        match *self {
            Node::Skip { words } => (0, (words - from).min(64)),
            Node::Ones { words } => (low(words - from), (words - from).min(64)),
            Node::Bits { bits, len } => (bits >> from, len as u64 - from),
            Node::Pattern { bits, period, words } => {
                let period = period as u64;
                let (phase, wide) = (from % period, 64 / period * period);
                let len = (wide - phase).min(words - from);
                (bits >> phase & low(len), len)
            }
            Node::Loop { .. } => unreachable!("a loop has no bits of its own"),
        }
    }
}

impl<'a> Nest<'a> {
    /// Makes a nest of a program. For one that a [`Builder`](super::Builder) made, as many nodes as it has bytes suffice. In
    /// others a repeat may begin inside an earlier one, which is taken apart: that copies the earlier one's nodes, and they
    /// become too many where it happens again and again.
    ///
    /// # Errors
    /// The nodes do not fit, or loops are more than [`MAX_DEPTH`] deep.
    pub fn compile(program: Program<'_>, nodes: &'a mut [Node]) -> Result<Self, NestError> {
        Self::compile_or_unroll(program, nodes, &mut [])
    }

    /// The same; but a program of which that makes no nest is unrolled, into one without loops, if `unrolled` has a bit for
    /// each of its words. As many nodes as that has blocks suffice then.
    ///
    /// # Errors
    /// As of [`compile`](Self::compile), for a type of more words.
    pub fn compile_or_unroll(
        program: Program<'_>,
        nodes: &'a mut [Node],
        unrolled: &mut [u64],
    ) -> Result<Self, NestError> {
        let mut maker = Maker::new(nodes);
        if let Err(error) = maker.follow(program) {
            let blocks = program.words().div_ceil(64);
            let bits = unrolled.get_mut(..blocks as usize).ok_or(error)?;
            bits.fill(0);
            program.decode(bits, 0);
            maker = Maker::new(nodes);
            maker
                .literal(program.words(), bits.iter().copied())
                .map_err(|kind| NestError { at: error.at, kind })?;
        }
        let len = maker.into_prefix();
        Ok(Nest { nodes: &nodes[..len], words: program.words() })
    }

    /// The items, each loop before its body.
    pub fn nodes(&self) -> &'a [Node] {
        self.nodes
    }

    /// The words of the type.
    pub fn words(&self) -> u64 {
        self.words
    }

    /// The pointers from some word on.
    #[inline]
    pub fn cursor(&self, from: u64) -> Cursor<'a> {
        self.cursor_between(from, self.words)
    }

    /// The pointers from some word on and before another. Costs a division for each loop that the first word is in, and
    /// a look at each item before it there.
    #[inline]
    pub fn cursor_between(&self, from: u64, to: u64) -> Cursor<'a> {
        Cursor::new(*self, from, to)
    }

    /// The first pointer that is not before a word.
    pub fn first_pointer_at_or_after(&self, word: u64) -> Option<u64> {
        self.cursor(word).next_run().map(|piece| match piece {
            Piece::Bits { word, .. } | Piece::Ones { word, .. } => word,
        })
    }
}
