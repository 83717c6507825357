//! The collector of the JavaScript engine Boa, with its usual thresholds.

use crate::map::{self, Operation, Pair};
use crate::trees;
use boa_gc::{Finalize, Gc, GcRefCell, Trace};

#[derive(Trace, Finalize)]
struct Node {
    left: Option<Gc<Node>>,
    right: Option<Gc<Node>>,
}

fn build(depth: u32) -> Gc<Node> {
    let child = || (depth > 0).then(|| build(depth - 1));
    let (left, right) = (child(), child());
    Gc::new(Node { left, right })
}

fn count(node: &Node) -> u64 {
    match (&node.left, &node.right) {
        (Some(left), Some(right)) => 1 + count(left) + count(right),
        _ => 1,
    }
}

#[derive(Default)]
pub(crate) struct Trees(Option<Gc<Node>>);

impl trees::Trees for Trees {
    fn count_new(&mut self, depth: u32) -> u64 {
        count(&build(depth))
    }

    fn keep(&mut self, depth: u32) {
        self.0 = Some(build(depth));
    }

    fn count_kept(&mut self) -> u64 {
        self.0.as_deref().map_or(0, count)
    }
}

#[derive(Trace, Finalize)]
struct Entry {
    key: u64,
    value: GcRefCell<Gc<Pair>>,
    next: Link,
}

type Link = GcRefCell<Option<Gc<Entry>>>;

pub(crate) struct Map(Gc<Vec<Link>>);

impl Map {
    pub(crate) fn new(entries: u64) -> Self {
        Map(Gc::new((0..map::buckets(entries)).map(|_| GcRefCell::new(None)).collect()))
    }

    fn operate(&mut self, op: Operation) -> Option<Pair> {
        let first = &self.0[map::bucket(op.key, self.0.len())];
        let (mut before, mut next) = (None::<Gc<Entry>>, first.borrow().clone());
        while let Some(entry) = next {
            if entry.key == op.key {
                let found = **entry.value.borrow();
                match op.value {
                    Some(value) => *entry.value.borrow_mut() = Gc::new(value),
                    None => {
                        let link = before.as_ref().map_or(first, |before| &before.next);
                        *link.borrow_mut() = entry.next.borrow().clone();
                    }
                }
                return Some(found);
            }
            next = entry.next.borrow().clone();
            before = Some(entry);
        }
        if let Some(value) = op.value {
            let next = GcRefCell::new(first.borrow().clone());
            let value = GcRefCell::new(Gc::new(value));
            *first.borrow_mut() = Some(Gc::new(Entry { key: op.key, value, next }));
        }
        None
    }
}

impl map::Map for Map {
    fn operate(&mut self, operations: &[Operation], found: impl FnMut(Pair)) {
        operations.iter().filter_map(|op| self.operate(*op)).for_each(found);
    }

    fn for_each(&mut self, mut f: impl FnMut(u64, Pair)) {
        for bucket in self.0.iter() {
            let mut next = bucket.borrow().clone();
            while let Some(entry) = next {
                f(entry.key, **entry.value.borrow());
                next = entry.next.borrow().clone();
            }
        }
    }
}
