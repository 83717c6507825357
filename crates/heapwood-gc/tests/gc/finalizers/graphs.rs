//! The random program of objects with finalisers: nodes that lead to each other, with circles, are registered, cancelled, dropped,
//! collected in all ways, taken, kept and registered again. The model knows all edges. What is queued is compared with what the
//! model's roots lead to: nothing comes early, twice, or before what leads to it; after a full collection nothing is missing.

use super::*;
use heapwood_gc::{FinalizeOrder, FinalizerToken};
use std::collections::BTreeMap;

const SLOTS: usize = 24;
const MIXED: usize = 0x5EED_0000_0000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Data,
    AtOnce,
    Ordered,
}

struct Registered {
    id: usize,
    kind: Kind,
    token: FinalizerToken,
    queue: FinalizerQueue,
}

struct Node {
    address: usize,
    edges: [Option<usize>; 2],
}

/// An entry as it was taken.
struct Entry {
    tag: usize,
    registered: Registered,
    in_circle: bool,
}

struct Graphs<'h> {
    heap: &'h Heap,
    mutator: &'h Mutator,
    rng: Rng,
    roots: Slots<'h>,
    slots: [Option<usize>; SLOTS],
    nodes: BTreeMap<usize, Node>,
    registered: BTreeMap<usize, Registered>,
    queues: [FinalizerQueue; 2],
    serial: usize,
    /// A marking may be under way that the program drives: its end queues what another collection takes for roots.
    is_marking: bool,
    /// Ordered entries that came, those that waited, those that came by a circle, and data.
    counts: [usize; 4],
}

impl<'h> Graphs<'h> {
    fn reach(&self, from: impl IntoIterator<Item = usize>) -> HashSet<usize> {
        let mut left: Vec<_> = from.into_iter().collect();
        let mut all = HashSet::new();
        while let Some(id) = left.pop() {
            if all.insert(id) {
                left.extend(self.nodes[&id].edges.iter().flatten());
            }
        }
        all
    }

    /// What an object leads to by at least one edge.
    fn below(&self, id: usize) -> HashSet<usize> {
        self.reach(self.nodes[&id].edges.into_iter().flatten())
    }

    fn live(&self) -> HashSet<usize> {
        self.reach(self.slots.into_iter().flatten())
    }

    fn set(&mut self, slot: usize, id: Option<usize>) {
        self.slots[slot] = id;
        self.roots.set(slot, id.map_or(0, |id| self.nodes[&id].address));
    }

    fn add(&mut self, slot: usize) {
        let address = new(self.mutator, node_type(self.heap));
        self.serial += 1;
        put(address, 2, MIXED ^ self.serial);
        self.nodes.insert(self.serial, Node { address, edges: [None; 2] });
        self.set(slot, Some(self.serial));
    }

    fn link(&mut self, from: usize, to: usize, word: usize) {
        if let Some(id) = self.slots[from] {
            let to = self.slots[to];
            link(self.mutator, self.nodes[&id].address, word, to.map_or(0, |to| self.nodes[&to].address));
            self.nodes.get_mut(&id).unwrap().edges[word] = to;
        }
    }

    fn register(&mut self, slot: usize) {
        let Some(id) = self.slots[slot] else { return };
        let (address, tag) = (NonNull::new(self.nodes[&id].address as *mut u8).unwrap(), self.serial);
        self.serial += 1;
        let queue = self.queues[self.rng.below(2)];
        let (kind, token) = match self.rng.below(6) {
            0 => (Kind::Data, self.mutator.finalize_data(address, queue, tag)),
            1 => (Kind::AtOnce, self.mutator.finalize(address, queue, FinalizeOrder::AtOnce, tag)),
            _ => (Kind::Ordered, self.mutator.finalize(address, queue, FinalizeOrder::Ordered, tag)),
        };
        self.registered.insert(tag, Registered { id, kind, token: token.unwrap(), queue });
    }

    fn cancel(&mut self) {
        let live = self.live();
        let Some((&tag, _)) = self.registered.iter().find(|(_, registered)| live.contains(&registered.id))
        else {
            return;
        };
        let registered = self.registered.remove(&tag).unwrap();
        assert_eq!(self.heap.cancel_finalizer(registered.token), Ok(tag), "{tag} is registered");
    }

    /// Compares what an object leads to with the model.
    fn check_memory(&self, id: usize) {
        for id in self.reach([id]) {
            let Node { address, edges } = &self.nodes[&id];
            assert_eq!(get(*address, 2), MIXED ^ id, "{id} was lost");
            for (word, edge) in edges.iter().enumerate() {
                assert_eq!(
                    get(*address, word),
                    edge.map_or(0, |to| self.nodes[&to].address),
                    "an edge of {id}"
                );
            }
        }
    }

    /// Takes all that waits; `exact`: nothing was left on queues before a full collection, whose result it is.
    fn take(&mut self, exact: bool) {
        let (live, mut taken, mut objects) = (self.live(), Vec::new(), Vec::new());
        for queue in self.queues {
            while let Some(entry) = self.mutator.next_finalized(queue).unwrap() {
                let tag = entry.tag;
                let registered = self.registered.remove(&tag);
                let registered =
                    registered.unwrap_or_else(|| panic!("{tag} came twice, or after it was cancelled"));
                assert!(registered.queue == queue && !live.contains(&registered.id), "{tag} came early");
                let address = entry.object.map_or(0, |object| object.as_ptr() as usize);
                let is_data = registered.kind == Kind::Data;
                assert_eq!(address, if is_data { 0 } else { self.nodes[&registered.id].address });
                if !is_data {
                    objects.push(registered.id);
                }
                taken.push(Entry { tag, registered, in_circle: entry.in_circle });
            }
        }
        // Nothing is allocated meanwhile, so the objects stay.
        self.check_order(&taken, &live);
        self.check_data(&taken, &live, exact);
        if exact {
            self.check_none_is_missing(&taken, &live);
        }
        objects.iter().for_each(|&id| self.check_memory(id));
        for id in objects {
            if self.rng.below(3) == 0 {
                let slot = self.rng.below(SLOTS);
                self.set(slot, Some(id));
                if self.rng.below(2) == 0 {
                    self.register(slot);
                }
            }
        }
        let kept = self.slots.into_iter().flatten().chain(self.registered.values().map(|r| r.id));
        let kept = self.reach(kept);
        self.nodes.retain(|id, _| kept.contains(id));
    }

    /// Objects of dead entries that wait in order.
    fn waiting(&self, live: &HashSet<usize>) -> Vec<(usize, HashSet<usize>)> {
        let all = self.registered.values().filter(|r| r.kind == Kind::Ordered && !live.contains(&r.id));
        all.map(|r| (r.id, self.below(r.id))).collect()
    }

    /// No other that came leads to one that came, nor one that waits, but round a circle: what is on a queue keeps what it leads to.
    fn check_order(&mut self, taken: &[Entry], live: &HashSet<usize>) {
        let mut all = self.waiting(live);
        self.counts[1] += all.len();
        let ordered = || taken.iter().filter(|entry| entry.registered.kind == Kind::Ordered);
        all.extend(ordered().map(|entry| (entry.registered.id, self.below(entry.registered.id))));
        for entry in ordered() {
            let (tag, id) = (entry.tag, entry.registered.id);
            let below = self.below(id);
            let mut leads = all.iter().filter(|(other, leads_to)| *other != id && leads_to.contains(&id));
            let is_on_circle = leads.clone().any(|(other, _)| below.contains(other));
            let first = leads.find(|(other, _)| !entry.in_circle || !below.contains(other));
            assert!(first.is_none(), "{tag} came before {}, which leads to it", first.unwrap().0);
            assert!(!entry.in_circle || is_on_circle, "{tag} is on no circle");
            self.counts[0] += 1;
            self.counts[2] += usize::from(entry.in_circle);
        }
        assert!(taken.iter().all(|entry| entry.registered.kind == Kind::Ordered || !entry.in_circle));
    }

    /// Objects that come back, or wait to, and all that they lead to.
    fn revived(&self, taken: &[Entry], live: &HashSet<usize>) -> HashSet<usize> {
        let is_object =
            |registered: &&Registered| registered.kind != Kind::Data && !live.contains(&registered.id);
        let all = taken.iter().map(|entry| &entry.registered).chain(self.registered.values());
        self.reach(all.filter(is_object).map(|registered| registered.id))
    }

    fn check_data(&mut self, taken: &[Entry], live: &HashSet<usize>, exact: bool) {
        let revived = self.revived(taken, live);
        for entry in taken.iter().filter(|entry| entry.registered.kind == Kind::Data) {
            assert!(
                !revived.contains(&entry.registered.id),
                "data {} came before its object was dead",
                entry.tag
            );
            self.counts[3] += 1;
        }
        for (tag, registered) in self.registered.iter().filter(|(_, r)| exact && r.kind == Kind::Data) {
            let is_dead = !live.contains(&registered.id) && !revived.contains(&registered.id);
            assert!(!is_dead, "data {tag} has not come");
        }
    }

    fn check_none_is_missing(&self, taken: &[Entry], live: &HashSet<usize>) {
        for (tag, registered) in self.registered.iter().filter(|(_, r)| !live.contains(&r.id)) {
            // Something that leads to it has come, or is to come before.
            let leads = |id: usize| id != registered.id && self.below(id).contains(&registered.id);
            let is_kept = |kind: Option<Kind>| {
                let mut came = taken.iter().map(|entry| &entry.registered);
                came.any(|r| r.kind != Kind::Data && kind.is_none_or(|kind| r.kind == kind) && leads(r.id))
            };
            let waits = match registered.kind {
                Kind::Data => true,
                Kind::AtOnce => self.is_marking && is_kept(None),
                Kind::Ordered => is_kept(if self.is_marking { None } else { Some(Kind::Ordered) }),
            };
            assert!(waits, "{tag} has not come, though nothing that has leads to it");
        }
    }

    fn step(&mut self) {
        let (a, b) = (self.rng.below(SLOTS), self.rng.below(SLOTS));
        match self.rng.below(32) {
            0..8 => {
                self.add(a);
                (0..self.rng.below(3)).for_each(|_| self.register(a));
            }
            8..16 => {
                let word = self.rng.below(2);
                self.link(a, b, word);
            }
            16..20 => self.register(a),
            20..24 => self.set(a, None),
            24 => self.cancel(),
            25 if self.heap.config().concurrent == Concurrent::Always => {
                _ = self.mutator.incremental_marking().ask_marker();
                self.mutator.blocking(std::thread::yield_now).unwrap();
            }
            25 => (0..self.rng.below(50)).for_each(|_| _ = new(self.mutator, node_type(self.heap))),
            26..28 => self.mutator.collect_young().unwrap(),
            28 => {
                self.take(false);
                self.mutator.collect().unwrap();
                self.take(true);
                self.is_marking = self.heap.config().concurrent != Concurrent::Off;
            }
            29 => {
                self.is_marking = true;
                match self.mutator.incremental_marking().begin().unwrap() {
                    true => {}
                    false => _ = self.mutator.incremental_marking().finish().unwrap(),
                }
            }
            30 => _ = self.mutator.incremental_marking().step(self.rng.below(50)).unwrap(),
            _ => self.take(false),
        }
    }
}

/// Plays so many steps; returns the counts of [`Graphs`].
pub(crate) fn play(heap: &Heap, seed: u64, steps: usize) -> [usize; 4] {
    let mutator = attach(heap);
    let queues = [OWN, heap.new_finalizer_queue().unwrap()];
    let mut graphs = Graphs {
        heap,
        mutator: &mutator,
        rng: Rng::new(seed),
        roots: Slots::new(heap, SLOTS),
        slots: [None; SLOTS],
        nodes: BTreeMap::new(),
        registered: BTreeMap::new(),
        queues,
        serial: 0,
        is_marking: heap.config().concurrent != Concurrent::Off,
        counts: [0; 4],
    };
    (0..steps).for_each(|_| graphs.step());
    (0..SLOTS).for_each(|slot| graphs.set(slot, None));
    graphs.take(false);
    let counts = graphs.counts;
    // All of them come, sooner or later: what is on no circle, one collection for each.
    while !graphs.registered.is_empty() {
        let before = graphs.registered.len();
        (0..SLOTS).for_each(|slot| graphs.set(slot, None));
        mutator.collect().unwrap();
        graphs.take(true);
        graphs.is_marking = heap.config().concurrent != Concurrent::Off;
        (0..SLOTS).for_each(|slot| graphs.set(slot, None));
        assert!(graphs.registered.len() <= before);
    }
    assert_eq!(heap.finalizers(), (0, 0));
    heap.end_finalizer_queue(queues[1]).unwrap();
    counts
}

/// Heaps that collect at each allocation, and those whose markers go on beside the program.
const MORE: [Config; 4] = {
    let beside = PRECISE.concurrent(Concurrent::Always).min_heap(1 << 20);
    [
        PRECISE.stress(true).concurrent(Concurrent::Off),
        YOUNG.stress(true).verify(true),
        beside,
        beside.verify(true),
    ]
};

#[test]
fn random_graphs_come_back_in_order() {
    let mut all = [0; 4];
    for (config, seed) in PLAYED.iter().chain(&MORE).zip(first_seed()..) {
        let heap = heap(*config);
        let steps = if config.stress { 500 } else { 3000 };
        for round in 0..amount("HEAPWOOD_FINALIZERS", 50, 3, 1) as u64 {
            heap.set_young_time((round % 3 == 1).then_some(core::time::Duration::ZERO));
            let counts = play(&heap, seed + 100 * round, steps);
            (0..4).for_each(|i| all[i] += counts[i]);
        }
        assert_swept_and_valid(&heap);
    }
    let [came, waited, circles, data] = all;
    let is_much = came > 3000 && waited > 1000 && circles > 50 && data > 500;
    assert!(!is_thorough() || is_much, "{all:?}");
}
