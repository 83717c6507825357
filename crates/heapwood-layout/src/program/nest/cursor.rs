//! A cursor over the pointers of a nest, from any word on. Invariant: no pointer before the cursor's word is left. Its
//! only memory is its position in each loop around it.

use super::node::{MAX_DEPTH, Node, low};

/// Adjacent pointers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Piece {
    /// A few words; the first is a pointer.
    Bits {
        /// The first word.
        word: u64,
        /// Their pointers, the first word in the lowest bit.
        bits: u64,
        /// The number of words, 1 to 64. The cursor is after them.
        len: u32,
    },
    /// Words that are all pointers.
    Ones {
        /// The first word.
        word: u64,
        /// The number of words.
        words: u64,
    },
}

/// A cursor over the pointers of a type from a word on.
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    nodes: &'a [Node],
    /// The node, the words of it that were passed, and the next word of the type.
    node: usize,
    passed: u64,
    word: u64,
    /// The end, and the words of the type.
    end: u64,
    words: u64,
    /// The loops around the node, the outermost first.
    loops: [Turn; MAX_DEPTH],
    depth: usize,
}

/// A position in a loop.
#[derive(Clone, Copy, Debug)]
struct Turn {
    /// The first node of the body, and the one after the last.
    first: u32,
    behind: u32,
    /// The remaining iterations after this one.
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

    /// Returns to the first word of the type, and ends after its last: for the next element.
    pub fn restart(&mut self) {
        (self.node, self.passed, self.word, self.end, self.depth) = (0, 0, 0, self.words, 0);
        if self.end > 0 {
            self.descend();
        }
    }

    /// Sets the end to a word, if the type has it.
    pub fn end_before(&mut self, word: u64) {
        self.end = word.min(self.words);
    }

    /// Moves to a word of the type.
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

    /// Enters the loop at the cursor.
    #[inline]
    fn enter(&mut self, left: u64) {
        let behind = self.node + self.nodes[self.node].span();
        self.node += 1;
        self.loops[self.depth] = Turn { first: self.node as u32, behind: behind as u32, left };
        self.depth += 1;
    }

    /// Moves to the next node that is no loop. There is one, since the type has not ended.
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

    /// The next pointers; `None` if there are none. Costs one step for each nested loop, however many words without
    /// pointers precede them.
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

    /// The cursor's word: no pointer before it is left.
    pub fn word(&self) -> u64 {
        self.word
    }
}
