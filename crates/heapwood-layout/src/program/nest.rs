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
//! assert_eq!(cursor.next_run(64), Some(Piece::Ones { word: 7_000_001_000, words: 1 }));
//! assert_eq!(nest.first_pointer_at_or_after(7_000_001_001), Some(7_000_002_000));
//! ```

use super::check::Program;
use super::ops::{Op, Ops};
use core::fmt;

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

/// Why a program cannot be made a nest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NestError {
    /// The byte of the program at which the instruction begins that cannot be followed.
    pub at: usize,
    /// Why.
    pub fault: NestFault,
}

/// Why an instruction cannot be made part of a nest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum NestFault {
    /// Its loop would be the ninth around an item.
    TooDeep,
    /// The nodes do not fit the buffer.
    TooManyNodes {
        /// How many do.
        room: usize,
    },
}

/// A program as a nest of loops.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Nest<'a> {
    nodes: &'a [Node],
    words: u64,
}

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

/// The lowest `n` bits, `n` at most 64.
const fn low(n: u64) -> u64 {
    if n >= 64 { u64::MAX } else { (1 << n) - 1 }
}

/// Up to eight bytes, the first in the lowest bits.
fn block(bytes: &[u8]) -> u64 {
    let mut block = [0; 8];
    block[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(block)
}

/// The lowest `period` bits as many times as fit 64 bits.
fn widened(bits: u64, period: u32) -> u64 {
    let (mut wide, mut len) = (bits & low(period as u64), period);
    while len + period <= 64 {
        wide |= (bits & low(period as u64)) << len;
        len += period;
    }
    wide
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

    /// All bits of at most 64 words that are no loop.
    fn all_bits(&self) -> u64 {
        let (mut all, mut at) = (0, 0);
        while at < self.words() {
            let (bits, len) = self.bits_from(at);
            all |= bits << at;
            at += len;
        }
        all
    }

    /// What lies before word `at` of words that are no loop, and what lies behind: neither is nothing.
    fn split(&self, at: u64) -> (Node, Node) {
        match *self {
            Node::Skip { words } => (Node::Skip { words: at }, Node::Skip { words: words - at }),
            Node::Ones { words } => (Node::Ones { words: at }, Node::Ones { words: words - at }),
            Node::Bits { bits, len } => {
                (Node::of_bits(bits & low(at), at), Node::of_bits(bits >> at, len as u64 - at))
            }
            Node::Pattern { bits, period, words } => {
                let (phase, one) = ((at % period as u64) as u32, bits & low(period as u64));
                // Turned so that it begins with what comes at that word.
                let turned = if phase == 0 { one } else { one >> phase | one << (period - phase) };
                let part = |bits, words: u64| {
                    if words <= period as u64 {
                        Node::of_bits(bits & low(words), words)
                    } else {
                        Node::Pattern { bits: widened(bits, period), period, words }
                    }
                };
                (part(one, at), part(turned, words - at))
            }
            Node::Loop { .. } => unreachable!("a loop is taken apart otherwise"),
        }
    }

    /// One node for two that follow each other and are no loops, if there is one.
    fn joined(&self, next: &Node) -> Option<Node> {
        match (*self, *next) {
            (Node::Skip { words: a }, Node::Skip { words: b }) => Some(Node::Skip { words: a + b }),
            (Node::Ones { words: a }, Node::Ones { words: b }) => Some(Node::Ones { words: a + b }),
            (Node::Loop { .. }, _) | (_, Node::Loop { .. }) => None,
            _ if self.words() <= 64 && next.words() <= 64 - self.words() => Some(Node::of_bits(
                self.all_bits() | next.all_bits() << self.words(),
                self.words() + next.words(),
            )),
            _ => None,
        }
    }
}

/// A nest in the making. Here a loop comes *behind* its body: the last node is the last item, whatever it is, so that the
/// items which are the last `n` bits are found from the end.
struct Maker<'b> {
    nodes: &'b mut [Node],
    len: usize,
}

impl Maker<'_> {
    fn push(&mut self, node: Node) -> Result<(), NestFault> {
        let room = self.nodes.len();
        *self.nodes.get_mut(self.len).ok_or(NestFault::TooManyNodes { room })? = node;
        self.len += 1;
        Ok(())
    }

    /// Adds words that are no loop, to the last node if they fit there.
    fn add(&mut self, node: Node) -> Result<(), NestFault> {
        if let Some(last) = self.len.checked_sub(1).map(|last| &mut self.nodes[last]) {
            if let Some(joined) = last.joined(&node) {
                *last = joined;
                return Ok(());
            }
            // Fills a node that has room with the first of many bits.
            if let (Node::Bits { bits, len: have @ ..64 }, Node::Bits { bits: more, len }) = (*last, node) {
                let part = 64 - have;
                *last = Node::Bits { bits: bits | more << have, len: 64 };
                return self.push(Node::of_bits(more >> part, (len - part) as u64));
            }
        }
        self.push(node)
    }

    /// Adds so many words, 64 of them a block.
    fn literal(&mut self, words: u64, blocks: impl Iterator<Item = u64>) -> Result<(), NestFault> {
        let mut left = words;
        for block in blocks {
            self.add(Node::of_bits(block, left.min(64)))?;
            left = left.saturating_sub(64);
        }
        Ok(())
    }

    /// Makes room for `n` nodes at `at`.
    fn open(&mut self, at: usize, n: usize) -> Result<(), NestFault> {
        if n > self.nodes.len() - self.len {
            return Err(NestFault::TooManyNodes { room: self.nodes.len() });
        }
        self.nodes.copy_within(at..self.len, at + n);
        self.len += n;
        Ok(())
    }

    /// The first node of the items that are exactly the last `n` bits, and the loops in each other among them. Takes apart
    /// what the first bit lies in.
    fn items(&mut self, n: u64) -> Result<(usize, usize), NestFault> {
        let (mut at, mut left, mut depth) = (self.len, n, 0);
        while left > 0 {
            let item = self.nodes[at - 1];
            let begin = at - item.span();
            if item.words() > left {
                at = self.take_apart(begin, at - 1, item.words() - left)?;
                continue;
            }
            if matches!(item, Node::Loop { .. }) {
                depth = depth.max(self.depth(begin, at));
            }
            left -= item.words();
            at = begin;
        }
        Ok((at, depth))
    }

    /// How deep the loops of an item in `begin..end` are.
    fn depth(&self, begin: usize, end: usize) -> usize {
        // From the end, a loop is met before its body; those that a node is in are those whose bodies begin before it.
        let (mut begins, mut open, mut deepest) = ([0; MAX_DEPTH], 0, 0);
        for at in (begin..end).rev() {
            while open > 0 && begins[open - 1] > at {
                open -= 1;
            }
            if let Node::Loop { nodes, .. } = self.nodes[at] {
                begins[open] = at - nodes as usize;
                open += 1;
                deepest = deepest.max(open);
            }
        }
        deepest
    }

    /// Takes the item whose nodes are `begin..=last` apart, so that word `split` of it, not the first, is not inside
    /// it any more, or less deep. Returns the end of what was made of it.
    fn take_apart(&mut self, begin: usize, last: usize, split: u64) -> Result<usize, NestFault> {
        let Node::Loop { nodes, words, times } = self.nodes[last] else {
            let (before, behind) = self.nodes[last].split(split);
            self.open(last, 1)?;
            (self.nodes[last], self.nodes[last + 1]) = (before, behind);
            return Ok(last + 2);
        };
        // The iterations before the one that has the word, that one if the word is inside it, and those behind.
        let (before, inside) = (split / words, !split.is_multiple_of(words));
        let behind = times - before - inside as u64;
        let body = nodes as usize;
        let parts = [before, inside as u64, behind];
        let span = |times: u64| if times == 0 { 0 } else { body + (times > 1) as usize };
        let needed = parts.iter().map(|times| span(*times)).sum::<usize>();
        self.open(last + 1, needed - (body + 1))?;
        // The body is at `begin` and stays there, as that of the first part or, with no such part, of the next.
        let mut at = begin;
        for times in parts.into_iter().filter(|times| *times > 0) {
            if at != begin {
                self.nodes.copy_within(begin..begin + body, at);
            }
            at += body;
            if times > 1 {
                self.nodes[at] = Node::Loop { nodes, words, times };
                at += 1;
            }
        }
        Ok(at)
    }

    /// Repeats the last `n` bits.
    fn repeat(&mut self, n: u64, times: u64) -> Result<(), NestFault> {
        let (begin, depth) = self.items(n)?;
        let times = times + 1;
        let items = &mut self.nodes[begin..self.len];
        if items.iter().all(|node| matches!(node, Node::Skip { .. })) {
            self.len = begin;
            return self.add(Node::Skip { words: n * times });
        }
        if items.iter().all(|node| matches!(node, Node::Ones { .. })) {
            self.len = begin;
            return self.add(Node::Ones { words: n * times });
        }
        // No loop is so short: this would have been a pattern.
        if n <= 64 {
            let (mut bits, mut at) = (0, 0);
            for node in items {
                bits |= node.all_bits() << at;
                at += node.words();
            }
            self.len = begin;
            let (period, words) = (n as u32, n * times);
            let wide = widened(bits, period);
            if words <= 64 {
                return self.add(Node::of_bits(wide & low(words), words));
            }
            return self.push(Node::Pattern { bits: wide, period, words });
        }
        match items {
            [Node::Pattern { period, words, .. }] if words.is_multiple_of(*period as u64) => {
                *words *= times;
                return Ok(());
            }
            [.., Node::Loop { nodes, times: before, .. }] if *nodes as usize == self.len - begin - 1 => {
                *before *= times;
                return Ok(());
            }
            _ => {}
        }
        if depth == MAX_DEPTH {
            return Err(NestFault::TooDeep);
        }
        let nodes = (self.len - begin) as u32;
        self.push(Node::Loop { nodes, words: n, times })
    }

    /// Does what a program says.
    fn follow(&mut self, program: Program<'_>) -> Result<(), NestError> {
        let mut ops = Ops::new(program.bytes());
        while let Ok(Some((at, op))) = ops.read() {
            let done = match op {
                Op::Literal { bits, bytes } => self.literal(bits, bytes.chunks(8).map(block)),
                Op::Repeat { last, times } => self.repeat(last, times),
            };
            done.map_err(|fault| NestError { at, fault })?;
        }
        Ok(())
    }

    /// Puts every loop before its body.
    fn into_prefix(self) -> usize {
        // From the end: a loop is met before what is in it, put where its body begins, and passed by there.
        let (mut moved, mut open, mut at) = ([usize::MAX; MAX_DEPTH], 0, self.len);
        while at > 0 {
            at -= 1;
            while open > 0 && moved[open - 1] == at {
                // One loop's place may be that of the loop around it plus one.
                open -= 1;
                if at == 0 {
                    return self.len;
                }
                at -= 1;
            }
            if let Node::Loop { nodes, .. } = self.nodes[at] {
                let begin = at - nodes as usize;
                self.nodes[begin..=at].rotate_right(1);
                moved[open] = begin;
                open += 1;
                // The body's last node is here now.
                at += 1;
            }
        }
        self.len
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
        let mut maker = Maker { nodes: &mut *nodes, len: 0 };
        if let Err(error) = maker.follow(program) {
            let blocks = program.words().div_ceil(64);
            let bits = unrolled.get_mut(..blocks as usize).ok_or(error)?;
            bits.fill(0);
            program.decode(bits, 0);
            maker.len = 0;
            maker.literal(program.words(), bits.iter().copied()).map_err(|_| error)?;
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
        let none = Turn { first: 0, behind: 0, left: 0 };
        let mut cursor = Cursor {
            nodes: self.nodes,
            node: 0,
            passed: 0,
            word: from,
            end: to.min(self.words),
            words: self.words,
            loops: [none; MAX_DEPTH],
            depth: 0,
        };
        if from < cursor.end {
            cursor.seek(from);
        }
        cursor
    }

    /// The first pointer that is not before a word.
    pub fn first_pointer_at_or_after(&self, word: u64) -> Option<u64> {
        self.cursor(word).next_run(u64::MAX).map(|piece| match piece {
            Piece::Bits { word, .. } | Piece::Ones { word, .. } => word,
        })
    }
}

impl Cursor<'_> {
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

    /// The next pointers, of at most `limit` words; `None` if there are no more, or the limit is 0. Costs as many steps
    /// as loops are in each other, however many words without pointers lie before.
    #[inline]
    pub fn next_run(&mut self, limit: u64) -> Option<Piece> {
        while self.word < self.end && limit > 0 {
            let node = &self.nodes[self.node];
            let left = node.words() - self.passed;
            if left == 0 {
                self.advance();
                continue;
            }
            match *node {
                Node::Skip { .. } => self.pass(left),
                Node::Ones { .. } => {
                    let (word, words) = (self.word, left.min(limit).min(self.end - self.word));
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
                    let (word, len) = (self.word, (len - zeros).min(limit).min(self.end - self.word));
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

impl fmt::Display for NestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "byte {}: {}", self.at, self.fault)
    }
}

impl fmt::Display for NestFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            NestFault::TooDeep => {
                write!(f, "this repeat is one loop around {MAX_DEPTH}: no more are possible")
            }
            NestFault::TooManyNodes { room } => {
                write!(f, "the nodes up to here are more than the {room} that there is room for")
            }
        }
    }
}

impl core::error::Error for NestError {}
