//! gc-arena with its usual pacing, which collects what is due after each call: a tree, or sixteen operations on a map.

use crate::map::{self, Operation, Pair};
use crate::trees;
use gc_arena::barrier::unlock;
use gc_arena::lock::Lock;
use gc_arena::{Arena, Collect, Gc, Mutation, Rootable};

#[derive(Collect)]
#[collect(no_drop)]
struct Node<'gc> {
    left: Option<Gc<'gc, Node<'gc>>>,
    right: Option<Gc<'gc, Node<'gc>>>,
}

fn build<'gc>(m: &Mutation<'gc>, depth: u32) -> Gc<'gc, Node<'gc>> {
    let child = || (depth > 0).then(|| build(m, depth - 1));
    let (left, right) = (child(), child());
    Gc::new(m, Node { left, right })
}

fn count(node: Gc<'_, Node<'_>>) -> u64 {
    match (node.left, node.right) {
        (Some(left), Some(right)) => 1 + count(left) + count(right),
        _ => 1,
    }
}

type Kept = Rootable![Option<Gc<'_, Node<'_>>>];

pub(crate) struct Trees(Arena<Kept>);

impl Trees {
    pub(crate) fn new() -> Self {
        Trees(Arena::new(|_| None))
    }
}

impl trees::Trees for Trees {
    fn count_new(&mut self, depth: u32) -> u64 {
        let nodes = self.0.mutate(|m, _| count(build(m, depth)));
        self.0.collect_debt();
        nodes
    }

    fn keep(&mut self, depth: u32) {
        self.0.mutate_root(|m, kept| *kept = Some(build(m, depth)));
    }

    fn count_kept(&mut self) -> u64 {
        self.0.mutate(|_, kept| kept.map_or(0, count))
    }
}

#[derive(Collect)]
#[collect(no_drop)]
struct Entry<'gc> {
    key: u64,
    value: Lock<Gc<'gc, Pair>>,
    next: Lock<Option<Gc<'gc, Entry<'gc>>>>,
}

/// An object of its own: a vector in one object would be traced again as a whole after a store.
type Bucket<'gc> = Gc<'gc, Lock<Option<Gc<'gc, Entry<'gc>>>>>;

fn operate<'gc>(m: &Mutation<'gc>, buckets: &[Bucket<'gc>], op: Operation) -> Option<Pair> {
    let bucket = buckets[map::bucket(op.key, buckets.len())];
    let (mut before, mut next) = (None::<Gc<'gc, Entry<'gc>>>, bucket.get());
    while let Some(entry) = next {
        if entry.key == op.key {
            let found = *entry.value.get();
            match (op.value, before) {
                (Some(value), _) => unlock!(Gc::write(m, entry), Entry, value).set(Gc::new(m, value)),
                (None, Some(before)) => unlock!(Gc::write(m, before), Entry, next).set(entry.next.get()),
                (None, None) => bucket.set(m, entry.next.get()),
            }
            return Some(found);
        }
        (before, next) = (next, entry.next.get());
    }
    if let Some(value) = op.value {
        let (value, next) = (Lock::new(Gc::new(m, value)), Lock::new(bucket.get()));
        bucket.set(m, Some(Gc::new(m, Entry { key: op.key, value, next })));
    }
    None
}

type Buckets = Rootable![Vec<Bucket<'_>>];

pub(crate) struct Map(Arena<Buckets>);

impl Map {
    pub(crate) fn new(entries: u64) -> Self {
        Map(Arena::new(|m| (0..map::buckets(entries)).map(|_| Gc::new(m, Lock::new(None))).collect()))
    }
}

impl map::Map for Map {
    fn operate(&mut self, operations: &[Operation], found: impl FnMut(Pair)) {
        self.0
            .mutate(|m, buckets| operations.iter().filter_map(|op| operate(m, buckets, *op)).for_each(found));
        self.0.collect_debt();
    }

    fn for_each(&mut self, mut f: impl FnMut(u64, Pair)) {
        self.0.mutate(|_, buckets| {
            for bucket in buckets {
                std::iter::successors(bucket.get(), |entry| entry.next.get())
                    .for_each(|entry| f(entry.key, *entry.value.get()));
            }
        });
    }
}
