//! Singly linked lists of 16-byte nodes side by side, the graph with the fewest edges to follow at a time: a collector
//! that looks ahead has as many places to look as there are lists. Invariant: the walk unlinks the nodes, so that a
//! stale word on the stack keeps one node alive and not the rest.

use heapwood::{Gc, GcCell, Mutator, Root, Slice, Trace};

type Link = GcCell<Option<Gc<Node>>>;

/// The lists' first nodes.
pub(super) type Heads = Slice<Link>;

#[derive(Trace)]
pub(super) struct Node {
    next: Link,
    index: u64,
}

const _: () = assert!(size_of::<Node>() == 16);

/// Allocates nodes in index order and links them: list k has `order[k]`, `order[k + lists]` and so on. In its own
/// frame, so that no pointer to the table is left on the stack.
#[inline(never)]
pub(super) fn build(m: &Mutator, order: &[u32], lists: usize) -> Root<Heads> {
    let table: Gc<Heads> = m.alloc_slice(order.len(), |_| GcCell::new(None));
    for (index, slot) in table.iter().enumerate() {
        slot.set(m, Some(m.alloc(Node { next: GcCell::new(None), index: index as u64 })));
    }
    for (&from, &to) in order.iter().zip(order.iter().skip(lists)) {
        if let Some(node) = table[from as usize].get() {
            node.next.set(m, table[to as usize].get());
        }
    }
    m.root(m.alloc_slice(lists.min(order.len()), |k| GcCell::new(table[order[k] as usize].get())))
}

/// Counts the nodes, adds up their indices list by list, and unlinks the lists.
#[inline(never)]
pub(super) fn walk(m: &Mutator, heads: &Heads) -> (u64, u64) {
    let (mut nodes, mut checksum) = (0, 0u64);
    for head in heads.iter() {
        let mut next = head.replace(m, None);
        while let Some(node) = next {
            nodes += 1;
            checksum = checksum.wrapping_mul(31).wrapping_add(node.index);
            next = node.next.replace(m, None);
        }
    }
    (nodes, checksum)
}
