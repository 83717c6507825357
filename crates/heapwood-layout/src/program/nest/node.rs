//! The items of a nest. Invariant: an item has at least one word, and a loop is followed by at least one node.

/// The deepest nesting of loops.
pub const MAX_DEPTH: usize = 8;

/// One item of a nest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Node {
    /// Words without a pointer.
    Skip {
        /// The number of words.
        words: u64,
    },
    /// Words that are all pointers.
    Ones {
        /// The number of words.
        words: u64,
    },
    /// A few words with and without pointers.
    Bits {
        /// Their pointers, the first word in the lowest bit.
        bits: u64,
        /// The number of words, 2 to 64.
        len: u32,
    },
    /// A few repeated words: a loop of one item.
    Pattern {
        /// As many whole periods as fit in 64 bits, the first word in the lowest bit.
        bits: u64,
        /// The words of a period, 2 to 64.
        period: u32,
        /// The number of words; the last period may be incomplete.
        words: u64,
    },
    /// The following nodes, repeated.
    Loop {
        /// The number of nodes, with those of inner loops.
        nodes: u32,
        /// The words of one iteration.
        words: u64,
        /// The number of iterations.
        times: u64,
    },
}

/// A mask of the lowest `n` bits, at most 64.
pub(super) const fn low(n: u64) -> u64 {
    if n >= 64 { u64::MAX } else { (1 << n) - 1 }
}

impl Node {
    /// Fills a buffer before a nest is written to it.
    pub const EMPTY: Node = Node::Skip { words: 0 };

    /// The words, over all iterations of a loop.
    pub const fn words(&self) -> u64 {
        match *self {
            Node::Skip { words } | Node::Ones { words } | Node::Pattern { words, .. } => words,
            Node::Bits { len, .. } => len as u64,
            Node::Loop { words, times, .. } => words * times,
        }
    }

    /// The number of nodes of this item.
    pub(super) const fn span(&self) -> usize {
        match self {
            Node::Loop { nodes, .. } => *nodes as usize + 1,
            _ => 1,
        }
    }

    /// The node of a few words.
    pub(super) fn of_bits(bits: u64, len: u64) -> Node {
        if bits == 0 {
            Node::Skip { words: len }
        } else if bits == low(len) {
            Node::Ones { words: len }
        } else {
            Node::Bits { bits, len: len as u32 }
        }
    }

    /// The bits of up to 64 words of an item that is no loop, from word `from` on, and their number, at least 1.
    pub(super) fn bits_from(&self, from: u64) -> (u64, u64) {
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

/// The pointers of a nest, or of the body of a loop.
pub(super) fn pointers(mut nodes: &[Node]) -> u64 {
    let mut sum = 0;
    while let Some((node, mut rest)) = nodes.split_first() {
        sum += match *node {
            Node::Skip { .. } => 0,
            Node::Ones { words } => words,
            Node::Bits { bits, .. } => u64::from(bits.count_ones()),
            Node::Pattern { bits, period, words } => {
                let first = |n: u64| u64::from((bits & low(n)).count_ones());
                words / u64::from(period) * first(period.into()) + first(words % u64::from(period))
            }
            Node::Loop { nodes, times, .. } => {
                let (body, behind) = rest.split_at(nodes as usize);
                rest = behind;
                // The recursion is as deep as the nesting of loops.
                times * pointers(body)
            }
        };
        nodes = rest;
    }
    sum
}
