//! On a plain heap: one `unsafe`, and `Gc`s on the stack, in objects and in roots only.

use heapwood::{Config, Gc, GcCell, Heap, Mutator, Trace};
use heapwood_small::work::{self, LESS, REPLACED, Random, TREES};

#[derive(Trace)]
struct Tree(Option<Gc<Tree>>, Option<Gc<Tree>>);

fn full(m: &Mutator, depth: u32) -> Gc<Tree> {
    let child = || (depth > 0).then(|| full(m, depth - 1));
    m.alloc(Tree(child(), child()))
}

fn count(tree: &Tree) -> u64 {
    1 + tree.0.map_or(0, |tree| count(&tree)) + tree.1.map_or(0, |tree| count(&tree))
}

fn trees(depth: usize) -> u64 {
    let depth = depth as u32;
    let heap = heap();
    let m = heap.attach().expect("the thread is not attached");
    let long = full(&m, depth);
    (0..TREES).map(|_| count(&full(&m, depth - LESS))).sum::<u64>() + count(&long)
}

#[derive(Trace)]
struct Node {
    value: u64,
    next: Option<Gc<Node>>,
}

fn tables(slots: usize) -> u64 {
    let heap = heap();
    let m = heap.attach().expect("the thread is not attached");
    let table = m.alloc_slice(slots, |_| GcCell::<Option<Gc<Node>>>::new(None));
    let mut random = Random::from_the_seed();
    for value in 0..(slots * REPLACED) as u64 {
        let next = Some(m.alloc(Node { value, next: None }));
        table[random.below(slots)].set(&m, Some(m.alloc(Node { value: value * 2, next })));
    }
    let sum = |node: Gc<Node>| node.value + node.next.map_or(0, |next| next.value);
    table.iter().filter_map(|slot| slot.get().map(sum)).sum()
}

fn heap() -> Heap {
    // SAFETY: this program keeps `Gc`s on its stack and in objects only.
    unsafe { Heap::new(Config::from_env()) }.expect("there is memory for a heap")
}

pub(crate) fn main() {
    work::main(&work::arguments(), trees, tables);
}
