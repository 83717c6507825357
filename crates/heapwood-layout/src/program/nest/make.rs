//! Compiling a program into a nest. Invariant: the items have the words of the instructions so far; a repeat that
//! begins inside an item splits it.

use super::super::check::Program;
use super::super::ops::{Op, Ops};
use super::node::{MAX_DEPTH, Node, low};
use crate::error::{NestError, NestErrorKind};

/// Up to eight bytes, the first in the lowest bits.
fn block(bytes: &[u8]) -> u64 {
    let mut block = [0; 8];
    block[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(block)
}

/// The lowest `period` bits, repeated as often as whole periods fit in 64 bits.
fn widened(bits: u64, period: u32) -> u64 {
    let (mut wide, mut len) = (bits & low(period as u64), period);
    while len + period <= 64 {
        wide |= (bits & low(period as u64)) << len;
        len += period;
    }
    wide
}

impl Node {
    /// All bits of a node of at most 64 words that is no loop.
    fn all_bits(&self) -> u64 {
        let (mut all, mut at) = (0, 0);
        while at < self.words() {
            let (bits, len) = self.bits_from(at);
            all |= bits << at;
            at += len;
        }
        all
    }

    /// Splits words that are no loop at word `at`; neither part is empty.
    fn split(&self, at: u64) -> (Node, Node) {
        match *self {
            Node::Skip { words } => (Node::Skip { words: at }, Node::Skip { words: words - at }),
            Node::Ones { words } => (Node::Ones { words: at }, Node::Ones { words: words - at }),
            Node::Bits { bits, len } => {
                (Node::of_bits(bits & low(at), at), Node::of_bits(bits >> at, len as u64 - at))
            }
            Node::Pattern { bits, period, words } => {
                let (phase, one) = ((at % period as u64) as u32, bits & low(period as u64));
                // Rotated so that it begins with the bit of that word.
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

    /// One node for two adjacent ones that are no loops, if there is one.
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

/// A nest under construction. Here a loop comes *after* its body, so the last node is always the last item, and the
/// items of the last `n` bits are found from the end.
pub(super) struct Maker<'b> {
    nodes: &'b mut [Node],
    len: usize,
}

impl<'b> Maker<'b> {
    /// An empty nest in this buffer, with at most as many nodes as a loop can count.
    pub(super) fn new(nodes: &'b mut [Node]) -> Self {
        let room = nodes.len().min(u32::MAX as usize);
        Maker { nodes: &mut nodes[..room], len: 0 }
    }

    fn push(&mut self, node: Node) -> Result<(), NestErrorKind> {
        let room = self.nodes.len();
        *self.nodes.get_mut(self.len).ok_or(NestErrorKind::TooManyNodes { room })? = node;
        self.len += 1;
        Ok(())
    }

    /// Adds words that are no loop, to the last node if they fit.
    fn add(&mut self, node: Node) -> Result<(), NestErrorKind> {
        if let Some(last) = self.len.checked_sub(1).map(|last| &mut self.nodes[last]) {
            if let Some(joined) = last.joined(&node) {
                *last = joined;
                return Ok(());
            }
            // Fills a partly used node with the first of many bits.
            if let (Node::Bits { bits, len: have @ ..64 }, Node::Bits { bits: more, len }) = (*last, node) {
                let part = 64 - have;
                *last = Node::Bits { bits: bits | more << have, len: 64 };
                return self.push(Node::of_bits(more >> part, (len - part) as u64));
            }
        }
        self.push(node)
    }

    /// Adds words in blocks of 64.
    pub(super) fn literal(
        &mut self,
        words: u64,
        blocks: impl Iterator<Item = u64>,
    ) -> Result<(), NestErrorKind> {
        let mut left = words;
        for block in blocks {
            self.add(Node::of_bits(block, left.min(64)))?;
            left = left.saturating_sub(64);
        }
        Ok(())
    }

    /// Makes room for `n` nodes at `at`.
    fn open(&mut self, at: usize, n: usize) -> Result<(), NestErrorKind> {
        if n > self.nodes.len() - self.len {
            return Err(NestErrorKind::TooManyNodes { room: self.nodes.len() });
        }
        self.nodes.copy_within(at..self.len, at + n);
        self.len += n;
        Ok(())
    }

    /// The first node of the items that are exactly the last `n` bits, and the depth of the loops among them. Splits
    /// the item of the first bit.
    fn items(&mut self, n: u64) -> Result<(usize, usize), NestErrorKind> {
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

    /// The depth of the loops of an item in `begin..end`.
    fn depth(&self, begin: usize, end: usize) -> usize {
        // From the end, a loop comes before its body. The loops around a node are those whose bodies begin before it.
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

    /// Splits the item with the nodes `begin..=last`, so that its word `split`, which is not the first, is no longer
    /// inside it, or less deep. Returns the end of the result.
    fn take_apart(&mut self, begin: usize, last: usize, split: u64) -> Result<usize, NestErrorKind> {
        let Node::Loop { nodes, words, times } = self.nodes[last] else {
            let (before, behind) = self.nodes[last].split(split);
            self.open(last, 1)?;
            (self.nodes[last], self.nodes[last + 1]) = (before, behind);
            return Ok(last + 2);
        };
        // The iterations before the word's, that one if the word is inside it, and those after it.
        let (before, inside) = (split / words, !split.is_multiple_of(words));
        let behind = times - before - inside as u64;
        let body = nodes as usize;
        let parts = [before, inside as u64, behind];
        let span = |times: u64| if times == 0 { 0 } else { body + (times > 1) as usize };
        let needed = parts.iter().map(|times| span(*times)).sum::<usize>();
        self.open(last + 1, needed - (body + 1))?;
        // The body is at `begin` and stays there as that of the first part, or of the next if there is no first part.
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
    fn repeat(&mut self, n: u64, times: u64) -> Result<(), NestErrorKind> {
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
        // No loop is so short; it would have been a pattern.
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
            return Err(NestErrorKind::TooDeep);
        }
        let nodes = (self.len - begin) as u32;
        self.push(Node::Loop { nodes, words: n, times })
    }

    /// Compiles the instructions of a program.
    pub(super) fn follow(&mut self, program: Program<'_>) -> Result<(), NestError> {
        let mut ops = Ops::new(program.bytes());
        while let Ok(Some((at, op))) = ops.read() {
            let done = match op {
                Op::Literal { bits, bytes } => self.literal(bits, bytes.chunks(8).map(block)),
                Op::Repeat { last, times } => self.repeat(last, times),
            };
            done.map_err(|kind| NestError { at, kind })?;
        }
        Ok(())
    }

    /// Moves every loop before its body.
    pub(super) fn into_prefix(self) -> usize {
        // From the end, a loop is met before its body, moved to where its body begins, and skipped there.
        let (mut moved, mut open, mut at) = ([usize::MAX; MAX_DEPTH], 0, self.len);
        while at > 0 {
            at -= 1;
            while open > 0 && moved[open - 1] == at {
                // Loops may begin at the same node.
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
