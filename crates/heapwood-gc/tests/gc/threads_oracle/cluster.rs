//! A graph of objects that belongs to one thread at a time: all that its head leads to, and nothing outside it refers into
//! it. So it can be handed to another thread as a whole, and dies as a whole. Invariant: every object of the model can be
//! reached from the head, with the edges that the model says; what can no longer be reached is taken out at once.

use super::weaks::Ties;
use heapwood_gc::Handle;
use heapwood_gc_testing::model::graph::Masked;
use heapwood_gc_testing::model::kinds::{Kind, Kinds, Slots, WORD};
use heapwood_gc_testing::{Rng, words};

pub(crate) use heapwood_gc_testing::model::{Outcome, pattern};

/// A slot in use: the object that it leads to, and to which byte.
#[derive(Clone, Copy)]
pub(crate) struct Edge {
    pub(crate) word: u32,
    pub(crate) to: u32,
    pub(crate) offset: u32,
}

pub(crate) struct Object {
    pub(crate) at: Masked,
    pub(crate) kind: usize,
    /// Unlike that of any other object of the heap: its contents are made from it.
    pub(crate) serial: u64,
    /// The attachment that made it.
    pub(crate) maker: u64,
    /// In order of their words.
    pub(crate) edges: Vec<Edge>,
    /// What refers to it weakly.
    pub(super) ties: Ties,
}

impl Object {
    pub(crate) fn edge(&self, word: u32) -> Option<&Edge> {
        self.edges.binary_search_by_key(&word, |e| e.word).ok().map(|i| &self.edges[i])
    }

    pub(crate) fn set_edge(&mut self, word: u32, edge: Option<Edge>) {
        match (self.edges.binary_search_by_key(&word, |e| e.word), edge) {
            (Ok(i), Some(edge)) => self.edges[i] = edge,
            (Err(i), Some(edge)) => self.edges.insert(i, edge),
            (Ok(i), None) => {
                self.edges.remove(i);
            }
            (Err(_), None) => {}
        }
    }
}

/// Where the head's root is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Root {
    /// A registered slot of the thread's.
    Slot(usize),
    /// A slot of its frame.
    Frame(usize),
    Handle(Handle),
    /// A slot of the object that all threads share.
    Exchange(usize),
}

pub(crate) struct Cluster {
    objects: Vec<Option<Object>>,
    spare: Vec<u32>,
    pub(crate) head: u32,
    live: usize,
    pub(crate) root: Root,
    /// Whether objects of it that are dead are freed, all or some.
    pub(crate) frees: bool,
}

/// The bytes after the last whole word.
fn tail(kind: &Kind) -> usize {
    kind.ty.size() % WORD
}

impl Cluster {
    /// One without objects, yet.
    pub(crate) fn new(root: Root, frees: bool) -> Self {
        Cluster { objects: Vec::new(), spare: Vec::new(), head: 0, live: 0, root, frees }
    }

    pub(crate) fn len(&self) -> usize {
        self.live
    }

    pub(crate) fn get(&self, id: u32) -> &Object {
        self.objects[id as usize].as_ref().expect("edges lead to objects of the cluster")
    }

    pub(crate) fn get_mut(&mut self, id: u32) -> &mut Object {
        self.objects[id as usize].as_mut().expect("edges lead to objects of the cluster")
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Object> {
        self.objects.iter().flatten()
    }

    pub(crate) fn all_mut(&mut self) -> impl Iterator<Item = &mut Object> {
        self.objects.iter_mut().flatten()
    }

    pub(crate) fn into_objects(self) -> impl Iterator<Item = Object> {
        self.objects.into_iter().flatten()
    }

    pub(crate) fn add(&mut self, object: Object) -> u32 {
        self.live += 1;
        match self.spare.pop() {
            Some(id) => {
                self.objects[id as usize] = Some(object);
                id
            }
            None => {
                self.objects.push(Some(object));
                self.objects.len() as u32 - 1
            }
        }
    }

    /// One of its objects, the head if none is found soon.
    pub(crate) fn any(&self, rng: &mut Rng) -> u32 {
        let found = (0..4).map(|_| rng.below(self.objects.len())).find(|&i| self.objects[i].is_some());
        found.map_or(self.head, |i| i as u32)
    }

    /// The address of the head.
    pub(crate) fn head_addr(&self) -> usize {
        self.get(self.head).at.addr()
    }

    /// What a slot holds that is used so.
    pub(crate) fn value(&self, edge: Option<&Edge>) -> usize {
        edge.map_or(0, |e| self.get(e.to).at.addr() + e.offset as usize)
    }

    /// An edge from a word of an object to another, into the middle of it if the kind may.
    pub(crate) fn edge_to(&self, kinds: &Kinds, from: u32, word: u32, to: u32, rng: &mut Rng) -> Edge {
        let inside = kinds.all[self.get(from).kind].holds == Slots::Ambiguous && rng.one_in(2);
        let offset = if inside { rng.below(kinds.all[self.get(to).kind].ty.size()) } else { 0 };
        Edge { word, to, offset: offset as u32 }
    }

    /// What some objects lead to, and they themselves.
    fn reached(&self, from: impl IntoIterator<Item = u32>) -> Vec<bool> {
        let (mut seen, mut waiting) = (vec![false; self.objects.len()], Vec::from_iter(from));
        while let Some(id) = waiting.pop() {
            if !core::mem::replace(&mut seen[id as usize], true) {
                waiting.extend(self.get(id).edges.iter().map(|edge| edge.to));
            }
        }
        seen
    }

    /// Whether the head leads back to itself by way of others: ordered, it would never be queued.
    pub(crate) fn leads_back(&self) -> bool {
        let others = self.get(self.head).edges.iter().map(|edge| edge.to).filter(|&to| to != self.head);
        self.reached(others)[self.head as usize]
    }

    /// Takes out all that the head no longer leads to.
    pub(crate) fn take_unreachable(&mut self) -> Vec<Object> {
        let seen = self.reached([self.head]);
        let mut gone = Vec::new();
        for (i, object) in self.objects.iter_mut().enumerate() {
            if !seen[i]
                && let Some(object) = object.take()
            {
                gone.push(object);
                self.spare.push(i as u32);
            }
        }
        self.live -= gone.len();
        gone
    }

    /// Compares one object's memory, all of it, with what it must be.
    pub(crate) fn check(&self, kinds: &Kinds, id: u32) -> Outcome {
        let object = self.get(id);
        let (at, kind) = (object.at.addr(), &kinds.all[object.kind]);
        let wrong = |w: usize, found: usize, wanted: usize| {
            Err(format!(
                "word {w} of the {} of {} bytes with serial {:#x} at {at:#x} is {found:#x} and should be {wanted:#x}",
                kind.name,
                kind.ty.size(),
                object.serial
            ))
        };
        // SAFETY: the model says that the object lives, so its memory is there whatever it holds.
        let words = unsafe { core::slice::from_raw_parts(at as *const usize, kind.words()) };
        let mut edges = object.edges.iter().peekable();
        for (w, &found) in words.iter().enumerate() {
            let wanted = if kind.is_slot[w] {
                let edge = edges.next_if(|e| e.word as usize == w);
                self.value(edge)
            } else if kind.counted && w == 0 {
                kind.slots.len()
            } else {
                pattern(object.serial, w)
            };
            if found != wanted {
                return wrong(w, found, wanted);
            }
        }
        let last = pattern(object.serial, kind.words()).to_ne_bytes();
        // SAFETY: as above; these are the object's last bytes.
        let bytes =
            unsafe { core::slice::from_raw_parts((at + kind.words() * WORD) as *const u8, tail(kind)) };
        match bytes == &last[..bytes.len()] {
            true => Ok(()),
            false => wrong(kind.words(), bytes[0].into(), last[0].into()),
        }
    }

    /// Compares all of them.
    pub(crate) fn check_all(&self, kinds: &Kinds) -> Outcome {
        (0..self.objects.len())
            .filter(|&i| self.objects[i].is_some())
            .try_for_each(|i| self.check(kinds, i as u32))
    }
}

/// Gives a new object all its contents but for its slots.
pub(crate) fn fill(kind: &Kind, serial: u64, at: usize) {
    for w in (0..kind.words()).filter(|&w| !kind.is_slot[w]) {
        let value = if kind.counted && w == 0 { kind.slots.len() } else { pattern(serial, w) };
        // SAFETY: the object is new and has this word.
        unsafe { words::store((at as *mut usize).add(w), value) };
    }
    let last = pattern(serial, kind.words()).to_ne_bytes();
    // SAFETY: these are its last bytes.
    unsafe { words::store_bytes((at + kind.words() * WORD) as *mut u8, &last[..tail(kind)]) };
}
