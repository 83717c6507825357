//! Heapwood's other kind of heap: a session, without `unsafe`. A tree is a call, and so are sixteen operations on a map.
#![forbid(unsafe_code)]

use crate::Report;
use crate::map::{self, Operation, Pair};
use crate::trees;
use heapwood::session::{Gc, Mutation, Rootable, Session};
use heapwood::{Config, GcCell, Slice, Trace};
use heapwood_workloads::lox::run_in_session;

#[derive(Trace)]
struct Node<'gc> {
    left: Option<Gc<'gc, Node<'gc>>>,
    right: Option<Gc<'gc, Node<'gc>>>,
}

#[derive(Trace, Rootable)]
struct Kept<'gc>(Option<Gc<'gc, Node<'gc>>>);

fn build<'gc>(m: &Mutation<'gc>, depth: u32) -> Gc<'gc, Node<'gc>> {
    let child = || (depth > 0).then(|| build(m, depth - 1));
    let (left, right) = (child(), child());
    m.alloc(Node { left, right })
}

fn count(node: Gc<'_, Node<'_>>) -> u64 {
    match (node.left, node.right) {
        (Some(left), Some(right)) => 1 + count(left) + count(right),
        _ => 1,
    }
}

pub(crate) struct Trees(Session<Kept<'static>>);

impl Trees {
    pub(crate) fn new() -> Self {
        Trees(Session::<Kept>::new(Config::default(), |_| Kept(None)).expect("there is memory"))
    }
}

impl trees::Trees for Trees {
    fn count_new(&mut self, depth: u32) -> u64 {
        self.0.mutate(|m, _| count(build(m, depth)))
    }

    fn keep(&mut self, depth: u32) {
        self.0.replace_root(|m, _| Kept(Some(build(m, depth))));
    }

    fn count_kept(&mut self) -> u64 {
        self.0.mutate(|_, kept| kept.0.map_or(0, count))
    }
}

#[derive(Trace)]
struct Entry<'gc> {
    key: u64,
    value: GcCell<Gc<'gc, Pair>>,
    next: Link<'gc>,
}

type Link<'gc> = GcCell<Option<Gc<'gc, Entry<'gc>>>>;

#[derive(Trace, Rootable)]
struct Buckets<'gc>(Gc<'gc, Slice<Link<'gc>>>);

fn operate<'gc>(m: &Mutation<'gc>, buckets: &'gc Slice<Link<'gc>>, op: Operation) -> Option<Pair> {
    let mut link = &buckets[map::bucket(op.key, buckets.len())];
    let first = link;
    while let Some(entry) = link.get() {
        let entry = m.get(entry);
        if entry.key == op.key {
            let found = *entry.value.get();
            match op.value {
                Some(value) => entry.value.set(m, m.alloc(value)),
                None => link.set(m, entry.next.get()),
            }
            return Some(found);
        }
        link = &entry.next;
    }
    if let Some(value) = op.value {
        let (value, next) = (GcCell::new(m.alloc(value)), GcCell::new(first.get()));
        first.set(m, Some(m.alloc(Entry { key: op.key, value, next })));
    }
    None
}

pub(crate) struct Map(Session<Buckets<'static>>);

impl Map {
    pub(crate) fn new(entries: u64) -> Self {
        let buckets = map::buckets(entries);
        let session = Session::<Buckets>::new(Config::default(), |m| {
            Buckets(m.alloc_slice(buckets, |_| GcCell::new(None)))
        });
        Map(session.expect("there is memory"))
    }
}

impl map::Map for Map {
    fn operate(&mut self, operations: &[Operation], found: impl FnMut(Pair)) {
        self.0.mutate(|m, root| {
            let buckets = m.get(root.0);
            operations.iter().filter_map(|op| operate(m, buckets, *op)).for_each(found);
        });
    }

    fn for_each(&mut self, mut f: impl FnMut(u64, Pair)) {
        self.0.mutate(|_, root| {
            for bucket in root.0.iter() {
                std::iter::successors(bucket.get(), |entry| entry.next.get())
                    .for_each(|entry| f(entry.key, *entry.value.get()));
            }
        });
    }
}

/// Heapwood's own machine for Lox, each program in a session.
pub(crate) fn lox(n: u64, report: Report<'_>) {
    run_in_session(n, Config::default(), report).expect("there is memory");
}
