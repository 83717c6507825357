//! A way through a nest, from any word on. Invariant: no pointer before the cursor's word is left, and it has no memory but
//! its own: a place in each of the loops that it is in.

use super::node::{MAX_DEPTH, Node, low};

/// Pointers that follow each other closely.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Piece {
    /// A few words, of which the first is a pointer.
    Bits {
        /// The first word.
        word: u64,
        /// Which are pointers, the first word in the lowest bit.
        bits: u64,
        /// How many words, 1 to 64. The cursor is behind them.
        len: u32,
    },
    /// Words that are all pointers.
    Ones {
        /// The first.
        word: u64,
        /// How many.
        words: u64,
    },
}

/// A way through the pointers of a type from some word on.
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    nodes: &'a [Node],
    /// The node, the words of it that were passed, and the word of the type that comes next.
    node: usize,
    passed: u64,
    word: u64,
    /// The word to end before, and those of the type.
    end: u64,
    words: u64,
    /// The loops that the node is in, from the outermost.
    loops: [Turn; MAX_DEPTH],
    depth: usize,
}

/// Where a cursor is in a loop.
#[derive(Clone, Copy, Debug)]
struct Turn {
    /// The first node of the body, and the one behind the last.
    first: u32,
    behind: u32,
    /// The iterations that follow this one.
    left: u64,
}

impl<'a> Cursor<'a> {
    #[inline]
    pub(super) fn new(nodes: &'a [Node], words: u64, from: u64, to: u64) -> Self {
        let none = Turn { first: 0, behind: 0, left: 0 };
        let mut cursor = Cursor {
            nodes,
            node: 0,
            passed: 0,
            word: from,
            end: to.min(words),
            words,
            loops: [none; MAX_DEPTH],
            depth: 0,
        };
        if from < cursor.end {
            cursor.seek(from);
        }
        cursor
    }

    /// Goes back to the type's first word, and ends behind its last: for an element that follows.
    pub fn restart(&mut self) {
        (self.node, self.passed, self.word, self.end, self.depth) = (0, 0, 0, self.words, 0);
        if self.end > 0 {
            self.descend();
        }
    }

    /// Ends before a word, if the type has it.
    pub fn end_before(&mut self, word: u64) {
        self.end = word.min(self.words);
    }

    /// Goes to a word that there is.
    fn seek(&mut self, word: u64) {
        let mut left = word;
        loop {
            let node = &self.nodes[self.node];
            if left >= node.words() {
                left -= node.words();
                self.node += node.span();
            } else if let Node::Loop { words, times, .. } = *node {
                self.enter(times - 1 - left / words);
                left %= words;
            } else {
                self.passed = left;
                return;
            }
        }
    }

    /// Goes to the first node of the loop that the cursor is at.
    #[inline]
    fn enter(&mut self, left: u64) {
        let behind = self.node + self.nodes[self.node].span();
        self.node += 1;
        self.loops[self.depth] = Turn { first: self.node as u32, behind: behind as u32, left };
        self.depth += 1;
    }

    /// Goes to the next node that is no loop. There is one, since the type has not ended.
    #[inline]
    fn advance(&mut self) {
        self.passed = 0;
        self.node += 1;
        while let Some(turn) = self.depth.checked_sub(1).map(|innermost| &mut self.loops[innermost]) {
            if self.node < turn.behind as usize {
                break;
            }
            if turn.left > 0 {
                turn.left -= 1;
                self.node = turn.first as usize;
                break;
            }
            self.depth -= 1;
        }
        self.descend();
    }

    #[inline]
    fn descend(&mut self) {
        while let Node::Loop { times, .. } = self.nodes[self.node] {
            self.enter(times - 1);
        }
    }

    /// The next pointers; `None` if there are no more. Costs as many steps as loops are in each other, however many words
    /// without pointers lie before.
    #[inline]
    pub fn next_run(&mut self) -> Option<Piece> {
        while self.word < self.end {
            let node = &self.nodes[self.node];
            let left = node.words() - self.passed;
            if left == 0 {
                self.advance();
                continue;
            }
            match *node {
                Node::Skip { .. } => self.pass(left),
                Node::Ones { .. } => {
                    let (word, words) = (self.word, left.min(self.end - self.word));
                    self.pass(words);
                    return Some(Piece::Ones { word, words });
                }
                _ => {
                    let (bits, len) = node.bits_from(self.passed);
                    let zeros = bits.trailing_zeros() as u64;
                    self.pass(zeros.min(len));
                    if zeros >= 64 || self.word >= self.end {
                        continue;
                    }
                    let (word, len) = (self.word, (len - zeros).min(self.end - self.word));
                    self.pass(len);
                    return Some(Piece::Bits { word, bits: bits >> zeros & low(len), len: len as u32 });
                }
            }
        }
        None
    }

    #[inline]
    fn pass(&mut self, words: u64) {
        self.passed += words;
        self.word += words;
    }

    /// The word that the cursor is at: no pointer before it is left.
    pub fn word(&self) -> u64 {
        self.word
    }
}
