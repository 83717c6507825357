//! `Rc`, with mimalloc below it.

use crate::map::{self, Operation, Pair};
use crate::trees;
use std::cell::RefCell;
use std::rc::Rc;

struct Node {
    left: Option<Rc<Node>>,
    right: Option<Rc<Node>>,
}

fn build(depth: u32) -> Rc<Node> {
    let child = || (depth > 0).then(|| build(depth - 1));
    let (left, right) = (child(), child());
    Rc::new(Node { left, right })
}

fn count(node: &Node) -> u64 {
    match (&node.left, &node.right) {
        (Some(left), Some(right)) => 1 + count(left) + count(right),
        _ => 1,
    }
}

#[derive(Default)]
pub(crate) struct Trees(Option<Rc<Node>>);

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

struct Entry {
    key: u64,
    value: RefCell<Rc<Pair>>,
    next: Link,
}

type Link = RefCell<Option<Rc<Entry>>>;

pub(crate) struct Map(Vec<Link>);

impl Map {
    pub(crate) fn new(entries: u64) -> Self {
        Map((0..map::buckets(entries)).map(|_| RefCell::new(None)).collect())
    }

    fn operate(&mut self, op: Operation) -> Option<Pair> {
        let bucket = map::bucket(op.key, self.0.len());
        let first = &self.0[bucket];
        let (mut before, mut next) = (None::<Rc<Entry>>, first.borrow().clone());
        while let Some(entry) = next {
            if entry.key == op.key {
                let found = **entry.value.borrow();
                match op.value {
                    Some(value) => *entry.value.borrow_mut() = Rc::new(value),
                    None => {
                        let link = before.as_ref().map_or(first, |before| &before.next);
                        *link.borrow_mut() = entry.next.borrow_mut().take();
                    }
                }
                return Some(found);
            }
            next = entry.next.borrow().clone();
            before = Some(entry);
        }
        if let Some(value) = op.value {
            let next = RefCell::new(first.borrow_mut().take());
            let value = RefCell::new(Rc::new(value));
            *first.borrow_mut() = Some(Rc::new(Entry { key: op.key, value, next }));
        }
        None
    }
}

impl map::Map for Map {
    fn operate(&mut self, operations: &[Operation], found: impl FnMut(Pair)) {
        operations.iter().filter_map(|op| self.operate(*op)).for_each(found);
    }

    fn for_each(&mut self, mut f: impl FnMut(u64, Pair)) {
        for bucket in &self.0 {
            let mut next = bucket.borrow().clone();
            while let Some(entry) = next {
                f(entry.key, **entry.value.borrow());
                next = entry.next.borrow().clone();
            }
        }
    }
}
