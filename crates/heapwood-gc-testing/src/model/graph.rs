//! The object graph as the program means it. Addresses are kept masked, so that a conservative scan of the test's
//! own memory does not find them.

use super::pattern;
use std::collections::{BTreeMap, BTreeSet};

/// An address that does not look like one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Masked(usize);

const MASK: usize = 0xa5a5_0000_0000_0000;

impl Masked {
    pub fn new(addr: usize) -> Self {
        Masked(addr ^ MASK)
    }

    pub fn addr(self) -> usize {
        self.0 ^ MASK
    }
}

/// Names an object of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id(pub usize);

/// A pointer to a byte of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    pub to: Id,
    pub offset: usize,
}

/// What an ambiguous root word holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    Null,
    To(Edge),
    /// An address that was once an object's, or near one: it means whatever lies there.
    Raw(Masked),
}

/// What an ephemeron has that the program may rely on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pair {
    Of {
        key: Id,
        value: Option<Id>,
    },
    /// The key is dead, and the ephemeron was cleared.
    Cleared,
    /// The key is dead, and perhaps a stray word keeps it.
    Unknown,
}

pub struct Object {
    pub at: Masked,
    pub kind: usize,
    /// What its contents are made from; nothing if it was emptied, when its arena ended.
    pub serial: Option<u64>,
    /// By word.
    pub edges: BTreeMap<u32, Edge>,
    /// By word, what is left of pointers into arenas that were closed.
    pub stale: BTreeMap<u32, Masked>,
    /// Of an ephemeron, which has no edges.
    pub pair: Option<Pair>,
    /// The arena that it lies in: all that lie there live as long as one does.
    pub arena: Option<u64>,
    /// A word without pointer meaning that holds some object's address.
    pub decoy: Option<(u32, Masked)>,
    /// A young collection keeps it, whether or not it can be reached.
    pub old: bool,
    /// It could not be reached at the last collection, and is there only because that was a young one.
    pub dead: bool,
}

impl Object {
    /// Whether nobody may use it any more, as its arena has ended.
    pub fn is_emptied(&self) -> bool {
        self.serial.is_none()
    }

    /// What word `word` holds if it is no slot.
    pub fn pattern(&self, word: u32) -> usize {
        self.serial.map_or(0, |serial| pattern(serial, word as usize))
    }
}

/// What an arena holds.
#[derive(Clone, Debug, Default)]
pub struct Holds {
    /// What lies there, and what it has passed to the heap.
    pub values: Vec<Id>,
    pub passed: Vec<Id>,
}

/// The objects that may exist.
#[derive(Default)]
pub struct Model {
    /// By the number of the arena.
    pub arenas: BTreeMap<u64, Holds>,
    /// Where values of arenas were.
    pub arena_graves: Vec<Masked>,
    objects: Vec<Option<Object>>,
    free: Vec<Id>,
    serials: u64,
}

impl Model {
    pub fn add(&mut self, at: usize, kind: usize, old: bool) -> Id {
        self.serials += 1;
        let object = Object {
            at: Masked::new(at),
            kind,
            serial: Some(self.serials),
            edges: BTreeMap::new(),
            stale: BTreeMap::new(),
            pair: None,
            arena: None,
            decoy: None,
            old,
            dead: false,
        };
        match self.free.pop() {
            Some(id) => {
                self.objects[id.0] = Some(object);
                id
            }
            None => {
                self.objects.push(Some(object));
                Id(self.objects.len() - 1)
            }
        }
    }

    pub fn get(&self, id: Id) -> &Object {
        self.objects[id.0].as_ref().expect("the program uses only objects it can reach")
    }

    pub fn get_mut(&mut self, id: Id) -> &mut Object {
        self.objects[id.0].as_mut().expect("the program uses only objects it can reach")
    }

    /// What an object held is zeros now.
    pub fn empty(&mut self, id: Id) {
        let object = self.get_mut(id);
        object.edges.clear();
        object.stale.clear();
        (object.serial, object.decoy) = (None, None);
    }

    /// Takes out an object to which nothing refers any more.
    pub fn remove(&mut self, id: Id) {
        self.objects[id.0] = None;
        self.free.push(id);
    }

    /// One of the objects that are in use and were not found dead, by a random number.
    pub fn any(&self, random: u64) -> Option<Id> {
        let n = self.objects.len().max(1);
        let from = random as usize % n;
        let is_used = |o: &Object| !o.dead && !o.is_emptied();
        let lives = |i: usize| self.objects.get(i).is_some_and(|o| o.as_ref().is_some_and(is_used));
        (from..n).chain(0..from).take(50).find(|&i| lives(i)).map(Id)
    }

    pub fn all(&self) -> impl Iterator<Item = (Id, &Object)> {
        self.objects.iter().enumerate().filter_map(|(i, o)| Some((Id(i), o.as_ref()?)))
    }

    /// What can be reached from `roots`, as flags by id and in order of discovery.
    pub fn reachable(&self, roots: impl Iterator<Item = Id>) -> (Vec<bool>, Vec<Id>) {
        let mut seen = vec![false; self.objects.len()];
        let (mut order, mut arenas): (Vec<Id>, BTreeSet<u64>) = Default::default();
        let reach = |seen: &mut Vec<bool>, order: &mut Vec<Id>, id: Id| {
            if !core::mem::replace(&mut seen[id.0], true) {
                order.push(id);
            }
        };
        roots.for_each(|root| reach(&mut seen, &mut order, root));
        let mut at = 0;
        // The value of an ephemeron is an edge once its key is reached: by rounds, unlike the collector.
        let (mut undecided, mut goes_on): (Vec<(Id, Id)>, bool) = (Vec::new(), true);
        while goes_on {
            while at < order.len() {
                let object = self.get(order[at]);
                object.edges.values().for_each(|edge| reach(&mut seen, &mut order, edge.to));
                if let Some(Pair::Of { key, value: Some(value) }) = object.pair {
                    undecided.push((key, value));
                }
                if let Some(arena) = object.arena
                    && arenas.insert(arena)
                {
                    let holds = &self.arenas[&arena];
                    holds.values.iter().chain(&holds.passed).for_each(|&id| reach(&mut seen, &mut order, id));
                }
                at += 1;
            }
            goes_on = false;
            undecided.retain(|&(key, value)| {
                let is_held = seen[key.0];
                if is_held {
                    reach(&mut seen, &mut order, value);
                    goes_on = true;
                }
                !is_held
            });
        }
        (seen, order)
    }

    /// A collection has ended: what is left is old, and all of it but what could be reached is dead.
    pub fn grow_old(&mut self, reached: &[bool]) {
        for (i, object) in self.objects.iter_mut().enumerate() {
            if let Some(object) = object {
                (object.old, object.dead) = (true, !reached[i]);
            }
        }
    }

    /// The program has found a dead object by something weak, or a queue gave it back: it has all that this leads to.
    pub fn revive(&mut self, id: Id) {
        for id in self.reachable(core::iter::once(id)).1 {
            self.get_mut(id).dead = false;
        }
    }

    /// Forgets every object whose flag is not set, and returns where those were that lay in the heap.
    pub fn forget_all_but(&mut self, keep: &[bool]) -> Vec<Masked> {
        let mut gone = Vec::new();
        for (i, object) in self.objects.iter_mut().enumerate() {
            if !keep.get(i).copied().unwrap_or(false)
                && let Some(object) = object.take()
            {
                match object.arena {
                    Some(arena) => {
                        self.arenas.remove(&arena);
                        self.arena_graves.push(object.at);
                    }
                    None => gone.push(object.at),
                }
                self.free.push(Id(i));
            }
        }
        gone
    }
}
