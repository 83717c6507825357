//! Programs as nests of loops, for readers that start anywhere in a type: a collector scans a large object in parts. A
//! repeat of the last `n` bits becomes a loop around the items of those bits. So any word is found by one division for
//! each loop, and any number of words without pointers is skipped in one step.
//!
//! Nodes are in prefix order: a loop precedes its body. To compile the repeats, so that a scan may start anywhere, is
//! this crate's idea; Go expands such programs into bits before it scans. Invariants: a loop contains a pointer, and
//! has at least two iterations; loops are nested at most [`MAX_DEPTH`] deep, so a cursor needs no allocation.
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
mod node;

pub use cursor::{Cursor, Piece};
pub use node::{MAX_DEPTH, Node};

use super::check::Program;
use crate::error::NestError;
use make::Maker;

/// A program as a nest of loops.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Nest<'a> {
    nodes: &'a [Node],
    words: u64,
}

impl<'a> Nest<'a> {
    /// Compiles a program. For one from a [`Builder`](super::Builder), as many nodes as it has bytes suffice. In other
    /// programs a repeat may begin inside an earlier one, which is then split. That copies the nodes of the earlier
    /// one, which may happen many times.
    ///
    /// # Errors
    /// The nodes do not fit, or loops are more than [`MAX_DEPTH`] deep.
    pub fn compile(program: Program<'_>, nodes: &'a mut [Node]) -> Result<Self, NestError> {
        Self::compile_or_unroll(program, nodes, &mut [])
    }

    /// The same, but a program that cannot be compiled is unrolled into one without loops, if `unrolled` has a bit for
    /// each of its words. As many nodes as it has blocks suffice then.
    ///
    /// # Errors
    /// As of [`compile`](Self::compile), for a type with more words.
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

    /// The number of pointers, computed from all items.
    pub fn pointers(&self) -> u64 {
        node::pointers(self.nodes)
    }

    /// The pointers from a word on.
    #[inline]
    pub fn cursor(&self, from: u64) -> Cursor<'a> {
        self.cursor_between(from, self.words)
    }

    /// The pointers from one word to another. Costs a division for each loop around the first word, and a step for
    /// each item before it in these loops.
    #[inline]
    pub fn cursor_between(&self, from: u64, to: u64) -> Cursor<'a> {
        Cursor::new(self.nodes, self.words, from, to)
    }

    /// The first pointer from a word on.
    pub fn first_pointer_at_or_after(&self, word: u64) -> Option<u64> {
        self.cursor(word).next_run().map(|piece| match piece {
            Piece::Bits { word, .. } | Piece::Ones { word, .. } => word,
        })
    }
}
