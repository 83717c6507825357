//! gc-arena: nothing is collected inside `mutate`; between two calls its debt is paid.

use crate::work::{BATCH, LESS, REPLACED, Random, TREES};
use gc_arena::lock::RefLock;
use gc_arena::{Arena, Collect, Gc, Mutation, Rootable};

#[derive(Collect)]
#[collect(no_drop)]
struct Tree<'gc>(Option<Gc<'gc, Tree<'gc>>>, Option<Gc<'gc, Tree<'gc>>>);

fn full<'gc>(m: &Mutation<'gc>, depth: u32) -> Gc<'gc, Tree<'gc>> {
    let child = || (depth > 0).then(|| full(m, depth - 1));
    let (left, right) = (child(), child());
    Gc::new(m, Tree(left, right))
}

fn count(tree: &Tree) -> u64 {
    1 + tree.0.map_or(0, |tree| count(&tree)) + tree.1.map_or(0, |tree| count(&tree))
}

pub fn trees(depth: usize) -> u64 {
    let depth = depth as u32;
    let mut arena = Arena::<Rootable![Gc<'_, Tree<'_>>]>::new(|m| full(m, depth));
    let mut nodes = 0;
    for _ in 0..TREES {
        nodes += arena.mutate(|m, _| count(&full(m, depth - LESS)));
        arena.collect_debt();
    }
    nodes + arena.mutate(|_, long| count(long))
}

#[derive(Collect)]
#[collect(no_drop)]
struct Node<'gc> {
    value: u64,
    next: Option<Gc<'gc, Node<'gc>>>,
}

type Table<'gc> = Gc<'gc, RefLock<Vec<Option<Gc<'gc, Node<'gc>>>>>>;

pub fn tables(slots: usize) -> u64 {
    let mut arena = Arena::<Rootable![Table<'_>]>::new(|m| Gc::new(m, RefLock::new(vec![None; slots])));
    let mut random = Random::from_the_seed();
    let end = (slots * REPLACED) as u64;
    for batch in (0..end).step_by(BATCH) {
        arena.mutate(|m, table| {
            for value in batch..end.min(batch + BATCH as u64) {
                let next = Some(Gc::new(m, Node { value, next: None }));
                let node = Gc::new(m, Node { value: value * 2, next });
                table.borrow_mut(m)[random.below(slots)] = Some(node);
            }
        });
        arena.collect_debt();
    }
    arena.mutate(|_, table| {
        let sum = |node: &Gc<'_, Node<'_>>| node.value + node.next.map_or(0, |next| next.value);
        table.borrow().iter().flatten().map(sum).sum()
    })
}
