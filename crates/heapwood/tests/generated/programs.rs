//! Programs of random operations over the shapes of ordinary Rust, against a model: `Vec`, `Box`, `HashMap`, `Rc`, closures, references,
//! iterators, sorts that allocate, threads of a scope, channels, panics, handles, weak references, heaps inside heaps. The text is one for
//! each way into the library: `door`, of the module that includes it, has its types. Invariant: a node's number is its identity in the model,
//! which knows the numbers that its links lead to; a pointer that was lost leads to another number, or to memory that verify mode has filled.
//!
//! A panic names the seed; `HEAPWOOD_ORACLE_SEED=N` begins with that one, and `HEAPWOOD_LONG=1` plays ten times as many.

use super::door::{self, Gc, GcCell, Kept, Mutation, Owned, Reference, Weak};
use heapwood::{GcStr, Shared, Slice, Trace};
use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::{Arc, mpsc};

/// Words that a root and a stash hold.
const PLACES: usize = 12;

#[derive(Trace)]
pub(crate) struct Node<'gc> {
    pub(crate) number: usize,
    brand: PhantomData<&'gc ()>,
    text: Gc<'gc, GcStr>,
    links: [GcCell<Option<Gc<'gc, Node<'gc>>>>; 2],
    frozen: Option<Gc<'gc, Frozen<'gc>>>,
    owned: Option<Gc<'gc, Owned>>,
}

/// What does not change, so that other threads may read it.
#[derive(Trace, Shared)]
pub(crate) struct Frozen<'gc> {
    brand: PhantomData<&'gc ()>,
    pub(crate) number: usize,
    rest: Option<Gc<'gc, Frozen<'gc>>>,
    all: Gc<'gc, Slice<Option<Gc<'gc, Frozen<'gc>>>>>,
}

#[derive(Trace)]
pub(crate) struct Top<'gc> {
    brand: PhantomData<&'gc ()>,
    pub(crate) places: [GcCell<Option<Gc<'gc, Node<'gc>>>>; PLACES],
    pub(crate) weak: [GcCell<Option<Weak<'gc, Node<'gc>>>>; PLACES],
}

pub(crate) type Pointer<'gc> = Gc<'gc, Node<'gc>>;

pub(crate) fn top<'gc>() -> Top<'gc> {
    Top { brand: PhantomData, places: Default::default(), weak: Default::default() }
}

pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        (0..4).for_each(|_| _ = random.below(2));
        random
    }
}

impl Random {
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 11) % n.max(1) as u64) as usize
    }
}

/// What a heap holds.
#[derive(Default)]
pub(crate) struct Model {
    /// The numbers that the links of each node lead to.
    links: Vec<[Option<usize>; 2]>,
    pub(crate) places: [Option<usize>; PLACES],
    weak: [Option<usize>; PLACES],
    /// Owned values that were made.
    pub(crate) owned: Arc<usize>,
}

/// Handles, by the numbers of their nodes.
pub(crate) type Stash<'gc> = HashMap<usize, Kept<'gc>>;

/// A length of a frozen list that a number stands for.
fn frozen_len(number: usize) -> usize {
    number % 7
}

pub(crate) fn frozen<'gc>(m: &Mutation<'gc>, number: usize) -> Gc<'gc, Frozen<'gc>> {
    (0..=frozen_len(number))
        .fold(None, |rest, n| {
            let all =
                door::slice(m, std::iter::successors(rest, |frozen: &Gc<Frozen>| frozen.rest).map(Some));
            Some(m.alloc(Frozen { brand: PhantomData, number: number + n, rest, all }))
        })
        .expect("one at least")
}

/// The sum of what a frozen list holds, on any thread.
pub(crate) fn sum(frozen: &Frozen<'_>) -> usize {
    let all: usize = frozen.all.iter().flatten().map(|frozen| frozen.number).sum();
    let listed = std::iter::successors(frozen.rest, |frozen| frozen.rest).map(|frozen| frozen.number);
    assert_eq!(all, listed.sum::<usize>());
    frozen.number + all
}

pub(crate) fn sum_of(number: usize) -> usize {
    (0..=frozen_len(number)).map(|n| number + n).sum()
}

impl Model {
    fn new_node<'gc>(&mut self, m: &Mutation<'gc>, random: &mut Random) -> Pointer<'gc> {
        let number = self.links.len();
        self.links.push([None, None]);
        m.alloc(Node {
            number,
            brand: PhantomData,
            text: m.alloc_str(&number.to_string()),
            links: Default::default(),
            frozen: (random.below(3) == 0).then(|| frozen(m, number)),
            owned: (random.below(8) == 0).then(|| door::owned(m, self.owned.clone())),
        })
    }

    fn link<'gc>(&mut self, m: &Mutation<'gc>, from: Pointer<'gc>, side: usize, to: Option<Pointer<'gc>>) {
        from.links[side].set(m, to);
        self.links[from.number][side] = to.map(|to| to.number);
    }

    /// Looks at a node, and at what it leads to, some steps deep.
    fn check(&self, node: &Node<'_>, random: &mut Random) {
        self.check_one(node);
        let mut next = node.links[random.below(2)].get();
        for _ in 0..8 {
            let Some(node) = next else { break };
            self.check_one(&node);
            next = node.links[random.below(2)].get();
        }
    }

    fn check_one(&self, node: &Node<'_>) {
        assert!(node.number < self.links.len(), "no node has the number {}", node.number);
        assert_eq!(**node.text, *node.number.to_string());
        for side in 0..2 {
            assert_eq!(node.links[side].get().map(|to| to.number), self.links[node.number][side]);
        }
        if let Some(frozen) = node.frozen {
            let newest = node.number + frozen_len(node.number);
            assert_eq!((frozen.number, sum(&frozen)), (newest, sum_of(node.number)));
        }
        assert!(node.owned.is_none_or(|owned| Arc::ptr_eq(door::value(&owned), &self.owned)));
    }
}

/// The places of a call that hold pointers.
struct Shapes<'gc> {
    vec: Vec<Pointer<'gc>>,
    boxes: VecDeque<Box<Pointer<'gc>>>,
    map: HashMap<usize, Pointer<'gc>>,
    shared: Rc<RefCell<Vec<Rc<Pointer<'gc>>>>>,
    closures: Vec<Box<dyn Fn() -> Pointer<'gc> + 'gc>>,
    references: Vec<Reference<'gc>>,
    slice: Gc<'gc, Slice<GcCell<Option<Pointer<'gc>>>>>,
    channel: (mpsc::Sender<Pointer<'gc>>, mpsc::Receiver<Pointer<'gc>>),
    in_channel: usize,
}

impl<'gc> Shapes<'gc> {
    fn new(m: &Mutation<'gc>) -> Self {
        Shapes {
            vec: vec![],
            boxes: VecDeque::new(),
            map: HashMap::new(),
            shared: Rc::default(),
            closures: vec![],
            references: vec![],
            slice: m.alloc_slice(8, |_| GcCell::default()),
            channel: mpsc::channel(),
            in_channel: 0,
        }
    }

    /// Takes a pointer from somewhere.
    fn take(&mut self, m: &Mutation<'gc>, random: &mut Random) -> Option<Pointer<'gc>> {
        match random.below(8) {
            0 => self.boxes.pop_front().map(|node| *node),
            1 => {
                let key = self.map.keys().copied().min()?;
                self.map.remove(&key)
            }
            2 => self.shared.borrow_mut().pop().map(|node| *node),
            3 => self.closures.pop().map(|f| f()),
            4 => self.slice[random.below(8)].take(m),
            5 if self.in_channel > 0 => {
                self.in_channel -= 1;
                self.channel.1.recv().ok()
            }
            _ if self.vec.is_empty() => None,
            _ => {
                let at = random.below(self.vec.len());
                Some(self.vec.swap_remove(at))
            }
        }
    }

    /// Puts one somewhere.
    fn put(&mut self, m: &Mutation<'gc>, random: &mut Random, node: Pointer<'gc>) {
        match random.below(8) {
            0 => self.boxes.push_back(Box::new(node)),
            1 => _ = self.map.insert(node.number, node),
            2 => self.shared.borrow_mut().push(Rc::new(node)),
            3 => self.closures.push(Box::new(move || node)),
            4 => self.slice[random.below(8)].set(m, Some(node)),
            5 => {
                self.channel.0.send(node).unwrap();
                self.in_channel += 1;
            }
            6 => self.references.push(door::reference(node)),
            _ => self.vec.push(node),
        }
    }

    fn check(&self, model: &Model, random: &mut Random) {
        self.vec.iter().for_each(|node| model.check(node, random));
        self.boxes.iter().for_each(|node| model.check(node, random));
        for (number, node) in &self.map {
            assert_eq!(*number, node.number);
            model.check(node, random);
        }
        self.shared.borrow().iter().for_each(|node| model.check(node, random));
        self.closures.iter().for_each(|f| model.check(&f(), random));
        self.references.iter().for_each(|node| model.check(node, random));
        self.slice.iter().filter_map(GcCell::get).for_each(|node| model.check(&node, random));
    }
}

/// What another heap does meanwhile.
pub(crate) type Inner<'a> = dyn FnMut() + 'a;

/// One call of so many steps.
pub(crate) fn call<'gc>(
    m: &Mutation<'gc>,
    top: &Top<'gc>,
    model: &mut Model,
    stash: &mut Stash<'gc>,
    random: &mut Random,
    inner: &mut Inner<'_>,
    steps: usize,
) {
    let mut shapes = Shapes::new(m);
    for (place, expected) in top.places.iter().zip(model.places) {
        assert_eq!(place.get().map(|node| node.number), expected);
        shapes.vec.extend(place.get());
    }
    for (weak, expected) in top.weak.iter().zip(model.weak) {
        let found = weak.get().and_then(|weak| weak.get(m));
        assert!(found.is_none() || found.map(|node| node.number) == expected);
        shapes.vec.extend(found);
    }
    for _ in 0..steps {
        step(m, top, model, stash, random, &mut shapes, inner);
    }
    shapes.check(model, random);
}

fn step<'gc>(
    m: &Mutation<'gc>,
    top: &Top<'gc>,
    model: &mut Model,
    stash: &mut Stash<'gc>,
    random: &mut Random,
    shapes: &mut Shapes<'gc>,
    inner: &mut Inner<'_>,
) {
    let new = |model: &mut Model, random: &mut Random| model.new_node(m, random);
    match random.below(20) {
        0..4 => {
            let node = new(model, random);
            shapes.put(m, random, node);
        }
        4..7 => {
            // From one shape to another, linked on the way.
            if let Some(node) = shapes.take(m, random) {
                let to = shapes.take(m, random);
                model.link(m, node, random.below(2), to);
                to.into_iter().chain([node]).for_each(|node| shapes.put(m, random, node));
            }
        }
        7 => {
            // Iterators that allocate as they go.
            let fresh: Vec<_> =
                shapes.vec.iter().rev().step_by(2).map(|&node| (node, new(model, random))).collect();
            let linked =
                fresh.into_iter().inspect(|(node, _)| model.check_one(node)).take(5).collect::<Vec<_>>();
            for (old, fresh) in linked {
                model.link(m, fresh, 0, Some(old));
                shapes.vec.push(fresh);
            }
            shapes.vec.truncate(60);
        }
        8 => {
            // The comparison allocates, while the elements are in the sort's buffer.
            let by_text = |node: &Pointer<'gc>| m.alloc_str(&format!("{:09}", node.number * 7919 % 1009));
            shapes.vec.sort_by_key(|node| by_text(node));
            assert!(shapes.vec.is_sorted_by_key(|node| node.number * 7919 % 1009));
            shapes.vec.sort_by_cached_key(|node| by_text(node));
            shapes.vec.dedup_by_key(|node| node.number);
        }
        9 => {
            // Threads of a scope read what does not change, and get more of it by a channel.
            let all: Vec<Gc<Frozen>> = shapes.vec.iter().filter_map(|node| node.frozen).take(3).collect();
            door::threads(m, &all, random.below(10));
        }
        10..12 => {
            let place = random.below(PLACES);
            let node = shapes.take(m, random);
            let old = top.places[place].replace(m, node);
            assert_eq!(old.map(|node| node.number), model.places[place]);
            model.places[place] = node.map(|node| node.number);
            old.into_iter().for_each(|old| shapes.put(m, random, old));
        }
        12 => {
            let place = random.below(PLACES);
            let node = shapes.take(m, random);
            top.weak[place].set(m, node.map(|node| m.weak(node)));
            model.weak[place] = node.map(|node| node.number);
            assert_eq!(
                top.weak[place].get().and_then(|weak| weak.get(m)).map(|node| node.number),
                model.weak[place]
            );
            // It lives until here.
            std::hint::black_box(node);
        }
        13 => {
            if let Some(node) = shapes.take(m, random) {
                stash.insert(node.number, door::stash(m, node));
            }
            if stash.len() > 6 || random.below(3) == 0 {
                let number = stash.keys().copied().min();
                if let Some((number, stashed)) = number.and_then(|number| stash.remove_entry(&number)) {
                    let node = door::fetch(m, &stashed);
                    assert_eq!(node.number, number);
                    drop(stashed);
                    shapes.put(m, random, node);
                }
            }
        }
        14 => {
            // A panic unwinds through what holds pointers.
            let count = shapes.vec.len();
            let moved = std::mem::take(&mut shapes.vec);
            let kept = RefCell::new(vec![]);
            let panicked = catch_unwind(AssertUnwindSafe(|| {
                for (i, node) in moved.into_iter().enumerate() {
                    m.alloc([i; 3]);
                    kept.borrow_mut().push(node);
                    if i == 20 {
                        std::panic::resume_unwind(Box::new(i));
                    }
                }
            }));
            assert_eq!(panicked.is_err(), count > 20);
            shapes.vec = kept.into_inner();
        }
        15 => {
            inner();
        }
        16 => {
            shapes.closures.retain(|f| f().number % 3 != 0);
            shapes.map.retain(|number, _| number % 4 != 0);
            shapes.references.truncate(10);
            let half = shapes.boxes.len() / 2;
            let back = shapes.boxes.split_off(half);
            shapes.vec.extend(back.into_iter().map(|node| *node));
            let shared = shapes.shared.clone();
            shapes.closures.extend(
                shared.borrow().first().cloned().map(|node| Box::new(move || *node) as Box<dyn Fn() -> _>),
            );
        }
        17 => {
            // A closure over everything, boxed and called later.
            let all = shapes.vec.clone();
            let count: Box<dyn FnOnce() -> usize> =
                Box::new(move || all.iter().map(|node| node.number).sum());
            let expected: usize = shapes.vec.iter().map(|node| node.number).sum();
            let garbage: Vec<_> = (0..30).map(|n| m.alloc([n; 20])).collect();
            assert_eq!(count(), expected);
            assert!(garbage.iter().enumerate().all(|(n, object)| **object == [n; 20]));
        }
        18 => {
            let text: String =
                shapes.vec.iter().map(|node| &**node.text as &str).collect::<Vec<_>>().join(" ");
            let copy = m.alloc_str(&text);
            assert!(
                copy.split_whitespace().zip(&shapes.vec).all(|(text, node)| text == node.number.to_string())
            );
            // Larger than any cell.
            if random.below(8) == 0 {
                let large = m.alloc_slice(6000, |i| shapes.vec.get(i).copied());
                assert!(
                    large
                        .iter()
                        .flatten()
                        .map(|node| node.number)
                        .eq(shapes.vec.iter().map(|node| node.number))
                );
            }
        }
        _ => shapes.check(model, random),
    }
}

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// The seeds to play; the long mode plays ten times as many.
pub(crate) fn seeds(usual: u64) -> std::ops::Range<u64> {
    let first = variable("HEAPWOOD_ORACLE_SEED").unwrap_or(1);
    first..first + usual * if variable("HEAPWOOD_LONG") == Some(1) { 10 } else { 1 }
}

/// Plays one program, and says which it was if it fails.
pub(crate) fn played(seed: u64, mode: &str, play: impl FnOnce()) {
    catch_unwind(AssertUnwindSafe(play)).unwrap_or_else(|panic| {
        eprintln!("seed {seed} in the mode {mode}");
        std::panic::resume_unwind(panic)
    });
}
