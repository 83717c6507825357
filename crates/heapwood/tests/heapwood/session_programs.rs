//! Random programs without `unsafe` in sessions. In each call a program makes nodes and keeps them in containers of the standard library,
//! which take and give them in random steps; each node has what its number says. Between calls some go through the root. Fifty seeds, in
//! release builds a thousand.
#![forbid(unsafe_code)]

use crate::common::{SMALL, STRESS, VERIFY};
use heapwood::session::{Gc, GcVec, Mutation, Rootable, Session};
use heapwood::{Concurrent, Config, GcCell, Generational, Trace};
use std::cell::RefCell;
use std::collections::{BTreeMap, BinaryHeap, HashMap, VecDeque};
use std::rc::Rc;

#[derive(Trace)]
struct Node<'gc> {
    number: u64,
    /// Three times the number, or nothing.
    shadow: Option<Gc<'gc, u64>>,
    next: GcCell<Option<Gc<'gc, Node<'gc>>>>,
}

#[derive(Trace, Rootable)]
struct Root<'gc> {
    kept: GcVec<'gc, Gc<'gc, Node<'gc>>>,
}

type NodeRef<'gc> = Gc<'gc, Node<'gc>>;

/// Where a call keeps nodes.
#[derive(Default)]
struct Places<'gc> {
    vec: Vec<NodeRef<'gc>>,
    boxed: Vec<Box<[NodeRef<'gc>]>>,
    by_number: HashMap<u64, NodeRef<'gc>>,
    sorted: BTreeMap<u64, &'gc Node<'gc>>,
    queue: VecDeque<Rc<RefCell<Vec<NodeRef<'gc>>>>>,
    closures: Vec<Box<dyn Fn() -> NodeRef<'gc> + 'gc>>,
    first: BinaryHeap<u64>,
}

struct Program {
    seed: u64,
    number: u64,
}

impl Program {
    fn below(&mut self, n: usize) -> usize {
        self.seed = self.seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.seed >> 33) as usize % n.max(1)
    }

    fn node<'gc>(&mut self, m: &Mutation<'gc>, next: Option<NodeRef<'gc>>) -> NodeRef<'gc> {
        self.number += 1;
        let number = self.number;
        let shadow = number.is_multiple_of(2).then(|| m.alloc(number * 3));
        m.alloc(Node { number, shadow, next: GcCell::new(next) })
    }

    /// One step of a call.
    fn step<'gc>(&mut self, m: &'gc Mutation<'gc>, root: &Root<'gc>, places: &mut Places<'gc>) {
        let at = self.below(places.vec.len());
        let some = places.vec.get(at).copied();
        match self.below(14) {
            0..3 => places.vec.push(self.node(m, some)),
            3 => places.boxed.push(Box::new([self.node(m, None)])),
            4 => {
                let node = self.node(m, some);
                places.by_number.insert(node.number, node);
                places.first.push(node.number);
            }
            5 => {
                let node = m.get(self.node(m, some));
                places.sorted.insert(node.number, node);
            }
            6 => {
                let nodes = Rc::new(RefCell::new(vec![self.node(m, some)]));
                places.queue.extend([nodes.clone(), nodes]);
            }
            7 => {
                let node = self.node(m, some);
                places.closures.push(Box::new(move || node));
            }
            8 => {
                // A comparison that allocates, while elements lie in the sort's buffer.
                places.vec.sort_by_cached_key(|node| *m.alloc(node.number ^ 0x55));
                places.vec.sort_by(|a, b| m.alloc(a.number).cmp(&m.alloc(b.number)));
            }
            9 => {
                if let Some(number) = places.first.pop() {
                    let node = places.by_number.remove(&number).unwrap();
                    places.vec.push(node);
                }
                if let Some(nodes) = places.queue.pop_front() {
                    nodes.borrow_mut().push(self.node(m, some));
                }
            }
            10 => {
                let (even, odd): (Vec<_>, Vec<_>) =
                    places.vec.drain(..).partition(|node| node.number.is_multiple_of(2));
                places.vec = odd.into_iter().chain(even).collect();
                places.vec.truncate(64);
            }
            11 => {
                root.kept.push(m, self.node(m, some));
                if root.kept.len() > 200 {
                    root.kept.swap_remove(m, at % 200);
                }
            }
            12 => {
                if let (Some(node), Some(other)) = (some, places.boxed.last().map(|boxed| boxed[0])) {
                    // Lists stay short, and have no cycle: a newer node leads to an older one.
                    let (old, new) = if node.number < other.number { (node, other) } else { (other, node) };
                    new.next.set(m, (old.number != new.number).then_some(old));
                }
            }
            _ => {
                let numbers: Vec<&u64> =
                    places.vec.iter().filter_map(|node| m.get(*node).shadow).map(|n| m.get(n)).collect();
                let sum = std::thread::scope(|scope| {
                    let sum = scope.spawn(|| numbers.iter().map(|&&number| number).sum::<u64>());
                    (0..50).for_each(|_| _ = m.alloc([0u64; 64]));
                    sum.join().unwrap()
                });
                let expected = places.vec.iter().filter(|node| node.number.is_multiple_of(2));
                assert_eq!(sum, expected.map(|node| node.number * 3).sum::<u64>());
            }
        }
    }
}

/// A node is what its number says, and so are those that it leads to.
fn check(node: &Node<'_>) {
    let number = node.number;
    assert_eq!(node.shadow.map(|shadow| *shadow), number.is_multiple_of(2).then_some(number * 3));
    if let Some(next) = node.next.get() {
        assert!(next.number < number);
        check(&next);
    }
}

fn check_all(places: &Places<'_>, root: &Root<'_>) {
    places.vec.iter().for_each(|node| check(node));
    places.boxed.iter().for_each(|boxed| check(&boxed[0]));
    for (number, node) in &places.by_number {
        assert_eq!(*number, node.number);
        check(node);
    }
    places.sorted.iter().for_each(|(number, node)| {
        assert_eq!(*number, node.number);
        check(node);
    });
    places.queue.iter().for_each(|nodes| nodes.borrow().iter().for_each(|node| check(node)));
    places.closures.iter().for_each(|closure| check(&closure()));
    root.kept.iter().for_each(|node| check(&node));
}

fn play(config: Config, seed: u64) {
    let mut session = Session::<Root>::new(config, |_| Root { kept: GcVec::new() }).unwrap();
    let mut program = Program { seed, number: 0 };
    for _ in 0..20 {
        session.mutate(|m, root| {
            let mut places = Places::default();
            for _ in 0..100 {
                program.step(m, root, &mut places);
            }
            check_all(&places, root);
        });
    }
    session.collect();
    session.mutate(|_, root| root.kept.iter().for_each(|node| check(&node)));
    assert_eq!(session.stats().barrier_violations, 0);
}

#[test]
fn random_programs_read_what_they_wrote() {
    let beside = SMALL.min_heap(64 << 10).concurrent(Concurrent::On).max_pause(0);
    let heaps = [
        STRESS,
        beside,
        VERIFY,
        beside.generational(Generational::Off),
        STRESS.generational(Generational::Always),
    ];
    let seeds = if cfg!(debug_assertions) { 50 } else { 1000 };
    for seed in 0..seeds {
        play(heaps[seed as usize % heaps.len()], seed);
    }
}
