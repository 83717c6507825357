//! With counted memory.
#![forbid(unsafe_code)]

use heapwood_small::work::{self, LESS, REPLACED, Random, TREES};
use std::cell::RefCell;
use std::rc::Rc;

struct Tree(Option<Rc<Tree>>, Option<Rc<Tree>>);

fn full(depth: u32) -> Rc<Tree> {
    let child = || (depth > 0).then(|| full(depth - 1));
    Rc::new(Tree(child(), child()))
}

fn count(tree: &Tree) -> u64 {
    let child = |child: &Option<Rc<Tree>>| child.as_ref().map_or(0, |tree| count(tree));
    1 + child(&tree.0) + child(&tree.1)
}

fn trees(depth: usize) -> u64 {
    let depth = depth as u32;
    let long = full(depth);
    (0..TREES).map(|_| count(&full(depth - LESS))).sum::<u64>() + count(&long)
}

struct Node {
    value: u64,
    next: Option<Rc<Node>>,
}

fn tables(slots: usize) -> u64 {
    let table: Rc<[RefCell<Option<Rc<Node>>>]> = (0..slots).map(|_| RefCell::new(None)).collect();
    let mut random = Random::from_the_seed();
    for value in 0..(slots * REPLACED) as u64 {
        let next = Some(Rc::new(Node { value, next: None }));
        *table[random.below(slots)].borrow_mut() = Some(Rc::new(Node { value: value * 2, next }));
    }
    let sum = |node: &Rc<Node>| node.value + node.next.as_ref().map_or(0, |next| next.value);
    table.iter().filter_map(|slot| slot.borrow().as_ref().map(sum)).sum()
}

fn main() {
    work::main(&work::arguments(), trees, tables);
}
