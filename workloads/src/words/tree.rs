//! A balanced tree of two words a node, made from the leaves up, as a program does that returns nodes.

use super::object::{Walked, Words, address, at};
use heapwood::{Gc, Mutator, Root};

type Node = Words<2>;

/// A tree of `n` nodes, at least one.
#[inline(never)]
pub(super) fn build(m: &Mutator, n: usize) -> Root<Node> {
    m.root(node(m, n))
}

fn node(m: &Mutator, n: usize) -> Gc<Node> {
    let left = n / 2;
    let [left, right] = [left, n - 1 - left].map(|n| (n > 0).then(|| node(m, n)));
    // Both are on the stack, which is scanned.
    m.alloc(Words([left, right].map(|child| child.map_or(0, address))))
}

/// Adds up the sizes of all subtrees, from the leaves up.
pub(super) fn walk(root: &Node) -> Walked {
    fn add(node: &Node, walked: &mut Walked) -> usize {
        let mut size = 1;
        for &child in &node.0 {
            // SAFETY: words are zero, or addresses of nodes, and the root keeps all of them.
            if let Some(child) = unsafe { at::<Node>(child) } {
                size += add(child, walked);
            }
        }
        walked.add(size);
        size
    }
    let mut walked = Walked::default();
    add(root, &mut walked);
    walked
}
