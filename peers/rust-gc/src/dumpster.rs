//! dumpster, for one thread: counts, and finds cycles.

use crate::work::{LESS, REPLACED, Random, TREES};
use dumpster::Trace;
use dumpster::unsync::Gc;
use std::cell::RefCell;

#[derive(Trace)]
struct Tree(Option<Gc<Tree>>, Option<Gc<Tree>>);

fn full(depth: u32) -> Gc<Tree> {
    let child = || (depth > 0).then(|| full(depth - 1));
    Gc::new(Tree(child(), child()))
}

fn count(tree: &Tree) -> u64 {
    let child = |child: &Option<Gc<Tree>>| child.as_ref().map_or(0, |tree| count(tree));
    1 + child(&tree.0) + child(&tree.1)
}

pub fn trees(depth: usize) -> u64 {
    let depth = depth as u32;
    let long = full(depth);
    (0..TREES).map(|_| count(&full(depth - LESS))).sum::<u64>() + count(&long)
}

#[derive(Trace)]
struct Node {
    value: u64,
    next: Option<Gc<Node>>,
}

pub fn tables(slots: usize) -> u64 {
    let table = Gc::new(RefCell::new(vec![None::<Gc<Node>>; slots]));
    let mut random = Random::from_the_seed();
    for value in 0..(slots * REPLACED) as u64 {
        let next = Some(Gc::new(Node { value, next: None }));
        table.borrow_mut()[random.below(slots)] = Some(Gc::new(Node { value: value * 2, next }));
    }
    let sum = |node: &Gc<Node>| node.value + node.next.as_ref().map_or(0, |next| next.value);
    table.borrow().iter().flatten().map(sum).sum()
}
