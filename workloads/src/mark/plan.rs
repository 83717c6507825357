//! Graphs of 32-byte objects with two pointers each, planned over indices: a balanced tree whose objects lie in a given
//! order, and a random graph. Invariant: only its root refers to a graph that is built.

use crate::random::Random;
use heapwood::{Gc, GcCell, Mutator, Root, Slice, Trace};

const ROOT_STRIDE: usize = 64;
const NONE: u32 = u32::MAX;

#[derive(Trace)]
pub(super) struct Object {
    links: [GcCell<Option<Gc<Object>>>; 2],
    _id: u64,
    _seen: u64,
}

const _: () = assert!(size_of::<Object>() == 32);

/// The root of a graph.
pub(super) type Roots = Slice<Option<Gc<Object>>>;

/// A graph over indices, in the ordinary heap.
pub(super) struct Plan {
    links: Vec<[u32; 2]>,
    roots: Vec<u32>,
}

impl Plan {
    /// A balanced binary tree with `order` as its preorder.
    pub(super) fn tree(order: &[u32]) -> Plan {
        let mut links = vec![[NONE; 2]; order.len()];
        let mut stack = vec![(0, order.len())];
        while let Some((first, size)) = stack.pop() {
            let left = size / 2;
            for (k, child) in [(first + 1, left), (first + 1 + left, size - 1 - left)].into_iter().enumerate()
            {
                if child.1 > 0 {
                    links[order[first] as usize][k] = order[child.0];
                    stack.push(child);
                }
            }
        }
        Plan { links, roots: vec![order[0]] }
    }

    pub(super) fn random(n: usize) -> Plan {
        let mut random = Random::new();
        let links = (0..n).map(|_| [(); 2].map(|()| (random.next_u64() % n as u64) as u32)).collect();
        Plan { links, roots: (0..n as u32).step_by(ROOT_STRIDE).collect() }
    }

    pub(super) fn reached(&self) -> u64 {
        let mut seen = vec![false; self.links.len()];
        let mut stack = self.roots.clone();
        let mut reached = 0;
        while let Some(i) = stack.pop() {
            if i != NONE && !core::mem::replace(&mut seen[i as usize], true) {
                reached += 1;
                stack.extend(self.links[i as usize]);
            }
        }
        reached
    }

    /// Allocates the objects in index order and links them. In its own frame, so that no pointer to the table is left
    /// on the stack.
    #[inline(never)]
    pub(super) fn build(self, m: &Mutator) -> Root<Roots> {
        let table: Gc<Slice<GcCell<Option<Gc<Object>>>>> =
            m.alloc_slice(self.links.len(), |_| GcCell::new(None));
        for (i, slot) in table.iter().enumerate() {
            let links = [const { None }; 2].map(GcCell::new);
            slot.set(m, Some(m.alloc(Object { links, _id: i as u64, _seen: 0 })));
        }
        for (slot, links) in table.iter().zip(&self.links) {
            let Some(object) = slot.get() else { continue };
            for (cell, &to) in object.links.iter().zip(links) {
                if to != NONE {
                    cell.set(m, table[to as usize].get());
                }
            }
        }
        m.root(m.alloc_slice(self.roots.len(), |r| table[self.roots[r] as usize].get()))
    }
}
