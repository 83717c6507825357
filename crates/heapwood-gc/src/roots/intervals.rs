//! Interval roots: a set of ambiguous words by their addresses, of which any part may be added and removed again, as libgc's
//! GC_add_roots and GC_remove_roots do it. Ranges that touch are one. A search tree of disjoint ranges, balanced by random
//! priorities: a treap (Seidel and Aragon, "Randomized search trees", 1996), whose nodes lie in mapped memory. Adding and removing
//! take the logarithm of the number of ranges, and a constant for each range that goes. Invariant: no two ranges overlap or
//! touch; a node's priority is at least its children's; every node below `used` is in the tree or on the free list.

use crate::error::Refusal;
use core::ops::Range;
use heapwood_os::memory::region::Zeroed;
use heapwood_os::{KernelRef, Mapped, MappedArray};

/// The most ranges of a heap.
const MAX_RANGES: usize = 1 << 20;
/// Nodes are committed in steps of this size.
const STEP: usize = 1 << 9;
/// The most nodes that one change adds: the two ends of a range whose middle goes.
const MOST_NEW: usize = 2;

/// A node by its number; 0 is none.
type Tree = u32;
const NONE: Tree = 0;

#[derive(Clone, Copy)]
#[repr(C)]
struct Node {
    start: usize,
    end: usize,
    left: Tree,
    /// In a node that is not in use, the next such.
    right: Tree,
    priority: u32,
}

// SAFETY: all-zero bytes are a node that is not in use; it holds plain numbers.
unsafe impl Zeroed for Node {}

/// The set.
pub(crate) struct Intervals {
    /// Their addresses are reserved with the first range: the process may have few.
    nodes: Option<MappedArray<Node>>,
    kernel: KernelRef,
    committed: usize,
    /// Nodes that were ever in use, with number 0, which never is.
    used: usize,
    free: Tree,
    root: Tree,
    ranges: usize,
    random: u64,
}

impl Intervals {
    /// The empty set.
    pub(crate) fn new(kernel: KernelRef) -> Self {
        let (committed, used, free, root, ranges, random) = (0, 1, NONE, NONE, 0, 0);
        Intervals { nodes: None, kernel, committed, used, free, root, ranges, random }
    }

    /// The number of ranges.
    pub(crate) fn ranges(&self) -> usize {
        self.ranges
    }

    fn node(&self, tree: Tree) -> &Node {
        debug_assert!(tree != NONE && (tree as usize) < self.committed);
        let nodes = self.nodes.as_ref().expect("a node exists");
        // SAFETY: nodes in use are committed; shared access only reads.
        unsafe { &*nodes.at(tree as usize) }
    }

    fn node_mut(&mut self, tree: Tree) -> &mut Node {
        debug_assert!(tree != NONE && (tree as usize) < self.committed);
        let nodes = self.nodes.as_ref().expect("a node exists");
        // SAFETY: nodes in use are committed, and the borrow is exclusive.
        unsafe { &mut *nodes.at(tree as usize) }
    }

    /// Has memory for what one change may add.
    fn prepare(&mut self) -> Result<(), Refusal> {
        if self.ranges + MOST_NEW > MAX_RANGES {
            return Err(Refusal::ManyRoots { most: MAX_RANGES });
        }
        // Those on the free list are not counted: there are fewer than ranges were once.
        if self.used + MOST_NEW > self.committed {
            const MOST: usize = MAX_RANGES + MOST_NEW + 1;
            let nodes = match &mut self.nodes {
                Some(nodes) => nodes,
                none => none.insert(MappedArray::new(self.kernel, MOST)?),
            };
            let end = (self.committed + STEP).min(MOST);
            nodes.commit(self.committed..end)?;
            self.committed = end;
        }
        Ok(())
    }

    /// A node of a new range; `prepare` has made room.
    fn make(&mut self, range: Range<usize>) -> Tree {
        let tree = match self.free {
            NONE => {
                self.used += 1;
                self.used as Tree - 1
            }
            free => {
                self.free = self.node(free).right;
                free
            }
        };
        // Numbers that no pattern of addresses follows (Steele and others, splitmix64).
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.random ^ self.random >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        let priority = (mixed >> 32) as u32;
        *self.node_mut(tree) = Node { start: range.start, end: range.end, left: NONE, right: NONE, priority };
        self.ranges += 1;
        tree
    }

    /// Frees all nodes of a tree.
    fn free_all(&mut self, tree: Tree) {
        let mut next = tree;
        // Each left child is moved to the place of its parent, so that the tree is a list.
        while next != NONE {
            let Node { left, right, .. } = *self.node(next);
            if left != NONE {
                // The rightmost of the left ones leads to the rest.
                let mut last = left;
                while self.node(last).right != NONE {
                    last = self.node(last).right;
                }
                self.node_mut(last).right = right;
                self.node_mut(next).left = NONE;
                self.node_mut(next).right = left;
                continue;
            }
            let free = self.free;
            self.node_mut(next).right = free;
            self.free = next;
            self.ranges -= 1;
            next = right;
        }
    }

    /// Splits a tree into the ranges for which `is_before` holds, which come first, and the others.
    fn split(&mut self, tree: Tree, is_before: &impl Fn(&Node) -> bool) -> (Tree, Tree) {
        if tree == NONE {
            return (NONE, NONE);
        }
        let node = *self.node(tree);
        if is_before(&node) {
            let (before, others) = self.split(node.right, is_before);
            self.node_mut(tree).right = before;
            (tree, others)
        } else {
            let (before, others) = self.split(node.left, is_before);
            self.node_mut(tree).left = others;
            (before, tree)
        }
    }

    /// Joins two trees, of which the first has the lower addresses.
    fn join(&mut self, low: Tree, high: Tree) -> Tree {
        match (low, high) {
            (NONE, tree) | (tree, NONE) => tree,
            _ if self.node(low).priority >= self.node(high).priority => {
                let right = self.node(low).right;
                self.node_mut(low).right = self.join(right, high);
                low
            }
            _ => {
                let left = self.node(high).left;
                self.node_mut(high).left = self.join(low, left);
                high
            }
        }
    }

    fn first(&self, tree: Tree) -> Option<Range<usize>> {
        let mut at = (tree != NONE).then_some(tree)?;
        while self.node(at).left != NONE {
            at = self.node(at).left;
        }
        Some(self.node(at).start..self.node(at).end)
    }

    fn last(&self, tree: Tree) -> Option<Range<usize>> {
        let mut at = (tree != NONE).then_some(tree)?;
        while self.node(at).right != NONE {
            at = self.node(at).right;
        }
        Some(self.node(at).start..self.node(at).end)
    }

    /// Adds a range; it and those that it overlaps or touches are one range.
    ///
    /// # Errors
    /// There are too many ranges, or the kernel gives no memory for more. Nothing has changed.
    pub(crate) fn add(&mut self, range: Range<usize>) -> Result<(), Refusal> {
        if range.is_empty() {
            return Ok(());
        }
        self.prepare()?;
        let (below, rest) = self.split(self.root, &|node| node.end < range.start);
        let (touched, above) = self.split(rest, &|node| node.start <= range.end);
        let start = self.first(touched).map_or(range.start, |first| first.start.min(range.start));
        let end = self.last(touched).map_or(range.end, |last| last.end.max(range.end));
        self.free_all(touched);
        let new = self.make(start..end);
        let below = self.join(below, new);
        self.root = self.join(below, above);
        Ok(())
    }

    /// Removes a range, which may be a part of others, or have some that are no roots.
    ///
    /// # Errors
    /// As for [`add`](Self::add).
    pub(crate) fn remove(&mut self, range: Range<usize>) -> Result<(), Refusal> {
        if range.is_empty() || self.root == NONE {
            return Ok(());
        }
        self.prepare()?;
        let (mut below, rest) = self.split(self.root, &|node| node.end <= range.start);
        let (touched, mut above) = self.split(rest, &|node| node.start < range.end);
        let (first, last) = (self.first(touched), self.last(touched));
        self.free_all(touched);
        if let Some(first) = first.filter(|first| first.start < range.start) {
            let kept = self.make(first.start..range.start);
            below = self.join(below, kept);
        }
        if let Some(last) = last.filter(|last| last.end > range.end) {
            let kept = self.make(range.end..last.end);
            above = self.join(kept, above);
        }
        self.root = self.join(below, above);
        Ok(())
    }

    /// Removes all.
    pub(crate) fn clear(&mut self) {
        (self.used, self.free, self.root, self.ranges) = (1, NONE, NONE, 0);
    }

    /// Calls `f` with each range, in order of address.
    pub(crate) fn for_each(&self, f: &mut impl FnMut(Range<usize>)) {
        self.walk(self.root, f);
    }

    fn walk(&self, tree: Tree, f: &mut impl FnMut(Range<usize>)) {
        let mut at = tree;
        while at != NONE {
            let node = self.node(at);
            self.walk(node.left, f);
            f(node.start..node.end);
            at = node.right;
        }
    }
}

impl Mapped for Intervals {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        self.nodes.iter().for_each(|nodes| nodes.for_each_mapping(f));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::slice::from_ref;

    fn all(set: &Intervals) -> Vec<Range<usize>> {
        let mut all = Vec::new();
        set.for_each(&mut |range| all.push(range));
        assert_eq!(all.len(), set.ranges());
        all
    }

    fn depth(set: &Intervals, tree: Tree) -> usize {
        if tree == NONE {
            return 0;
        }
        let Node { left, right, .. } = *set.node(tree);
        1 + depth(set, left).max(depth(set, right))
    }

    /// The ranges of the set bits.
    fn ranges(bits: &[bool]) -> Vec<Range<usize>> {
        let starts = (0..bits.len()).filter(|&at| bits[at] && (at == 0 || !bits[at - 1]));
        let end = |start: usize| (start..bits.len()).find(|&at| !bits[at]).unwrap_or(bits.len());
        starts.map(|start| start..end(start)).collect()
    }

    #[test]
    fn random_ranges_are_those_of_a_bitmap() {
        let mut state = 1u64;
        let mut below = |n: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % n
        };
        for longest in [3, 40, 400] {
            let mut set = Intervals::new(&heapwood_os::SYSTEM);
            let mut model = vec![false; 1000];
            for step in 0..4000 {
                let start = below(1000);
                let range = start..(start + below(longest)).min(1000);
                match below(5) {
                    0 if step % 500 == 499 => {
                        set.clear();
                        model.fill(false);
                    }
                    0..3 => {
                        set.add(range.clone()).unwrap();
                        model[range].fill(true);
                    }
                    _ => {
                        set.remove(range.clone()).unwrap();
                        model[range].fill(false);
                    }
                }
                assert_eq!(all(&set), ranges(&model), "longest {longest}, step {step}");
            }
        }
    }

    #[test]
    fn many_ranges_in_any_order_make_a_shallow_tree() {
        const RANGES: usize = 100_000;
        for stride in [1, 7, RANGES - 1] {
            let mut set = Intervals::new(&heapwood_os::SYSTEM);
            let range = |index: usize| index * stride % RANGES * 32..index * stride % RANGES * 32 + 16;
            (0..RANGES).for_each(|index| set.add(range(index)).unwrap());
            assert_eq!(set.ranges(), RANGES);
            let depth = depth(&set, set.root);
            assert!(depth < 80, "{depth} levels");
            // A piece of each is cut out, and then all are one.
            (0..RANGES).for_each(|index| set.remove(index * 32 + 4..index * 32 + 8).unwrap());
            assert_eq!(set.ranges(), 2 * RANGES);
            assert_eq!(all(&set)[..3], [0..4, 8..16, 32..36]);
            set.add(0..RANGES * 32).unwrap();
            assert_eq!(all(&set).as_slice(), from_ref(&(0..RANGES * 32)));
            // The nodes are used again.
            let used = set.used;
            (0..RANGES).for_each(|index| set.remove(index * 32 + 4..index * 32 + 8).unwrap());
            assert!(set.ranges() == RANGES + 1 && set.used == used);
        }
    }

    #[test]
    fn a_full_set_says_so() {
        let mut set = Intervals::new(&heapwood_os::SYSTEM);
        let refused = (0..).find_map(|index| set.add(index * 32..index * 32 + 16).err().map(|e| (index, e)));
        assert_eq!(refused, Some((MAX_RANGES - 1, Refusal::ManyRoots { most: MAX_RANGES })));
        set.clear();
        assert!(set.add(0..8).is_ok() && all(&set).as_slice() == from_ref(&(0..8)));
    }

    #[test]
    fn a_kernel_that_refuses_changes_nothing() {
        static KERNEL: heapwood_os_testing::faulty::Faulty = heapwood_os_testing::faulty::Faulty::new();
        let mut set = Intervals::new(&KERNEL);
        KERNEL.refuse(0);
        assert!(matches!(set.add(0..8), Err(Refusal::Kernel(_))));
        assert!(all(&set).is_empty() && set.add(0..8).is_ok());
    }
}
