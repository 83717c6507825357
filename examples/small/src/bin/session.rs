//! In a session: nothing unsafe. Nothing is collected inside `mutate`, so a program that goes on for long leaves it now and then.
#![forbid(unsafe_code)]

use heapwood::session::{Gc, GcCell, Mutation, Session};
use heapwood::{Config, Rootable, Slice, Trace};
use heapwood_small::work::{self, BATCH, LESS, REPLACED, Random, TREES};

#[derive(Trace)]
struct Tree<'gc>(Option<Gc<'gc, Tree<'gc>>>, Option<Gc<'gc, Tree<'gc>>>);

fn full<'gc>(m: &Mutation<'gc>, depth: u32) -> Gc<'gc, Tree<'gc>> {
    let child = || (depth > 0).then(|| full(m, depth - 1));
    m.alloc(Tree(child(), child()))
}

fn count(tree: &Tree<'_>) -> u64 {
    1 + tree.0.map_or(0, |tree| count(&tree)) + tree.1.map_or(0, |tree| count(&tree))
}

fn trees(depth: usize) -> u64 {
    let depth = depth as u32;
    let mut session = Session::<Rootable![Gc<'_, Tree<'_>>]>::new(Config::from_env(), |m| full(m, depth))
        .expect("there is memory for a heap");
    let nodes: u64 = (0..TREES).map(|_| session.mutate(|m, _| count(&full(m, depth - LESS)))).sum();
    nodes + session.mutate(|_, long| count(long))
}

#[derive(Trace)]
struct Node<'gc> {
    value: u64,
    next: Option<Gc<'gc, Node<'gc>>>,
}

type Table<'gc> = Gc<'gc, Slice<GcCell<Option<Gc<'gc, Node<'gc>>>>>>;

fn tables(slots: usize) -> u64 {
    let mut session = Session::<Rootable![Table<'_>]>::new(Config::from_env(), |m| {
        m.alloc_slice(slots, |_| GcCell::default())
    })
    .expect("there is memory for a heap");
    let mut random = Random::from_the_seed();
    let end = (slots * REPLACED) as u64;
    for batch in (0..end).step_by(BATCH) {
        session.mutate(|m, table| {
            for value in batch..end.min(batch + BATCH as u64) {
                let next = Some(m.alloc(Node { value, next: None }));
                table[random.below(slots)].set(m, Some(m.alloc(Node { value: value * 2, next })));
            }
        });
    }
    session.mutate(|_, table| {
        let sum = |node: Gc<'_, Node<'_>>| node.value + node.next.map_or(0, |next| next.value);
        table.iter().filter_map(|slot| slot.get().map(sum)).sum()
    })
}

fn main() {
    work::main(&work::arguments(), trees, tables);
}
