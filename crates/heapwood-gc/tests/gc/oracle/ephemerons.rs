//! The program's use of ephemerons: it makes them of objects of the graph, some of which are ephemerons themselves, changes their
//! values, and reads keys and values, which it may find after nothing else led to them. Invariant: the model knows the key and the
//! value of each as long as the key is there.

use super::check::Outcome;
use super::world::World;
use core::ptr::NonNull;
use heapwood_gc_testing::model::graph::{Id, Pair};

fn place(address: usize) -> NonNull<u8> {
    NonNull::new(address as *mut u8).expect("no object is null")
}

impl World {
    /// An object of the heap that is no header, lies in no arena, and does not end with one.
    pub(super) fn any_in_heap(&mut self) -> Option<Id> {
        self.walk().filter(|&id| self.is_in_heap(id))
    }

    pub(super) fn is_in_heap(&self, id: Id) -> bool {
        let object = self.model.get(id);
        let in_heap = object.arena.is_none() && !self.kinds.all[object.kind].is_in_arena();
        let passed = || self.model.arenas.values().any(|holds| holds.passed.contains(&id));
        in_heap && object.kind != self.kinds.header && !passed()
    }

    pub(crate) fn use_ephemerons(&mut self) -> Outcome {
        if self.rng.one_in(3) {
            return self.read_ephemeron();
        }
        if self.settings.mostly_weak && self.rng.one_in(8) {
            return self.chain_ephemerons();
        }
        let (Some(key), value) = (self.any_in_heap(), self.any_in_heap()) else { return Ok(()) };
        let value = value.filter(|_| !self.rng.one_in(4));
        let Some(made) = self.new_ephemeron(key, value)? else { return Ok(()) };
        // Few objects of the graph die. What this one is the key of is cleared as soon as its root has gone, or at once.
        if self.rng.one_in(3) {
            self.root(made);
            return Ok(());
        }
        let Some(of_it) = self.new_ephemeron(made, value)? else { return Ok(()) };
        self.root(of_it);
        if self.rng.one_in(2) {
            self.root(made);
        }
        Ok(())
    }

    /// A chain: the key of each, but the first, is the value of another, to which nothing else leads. They are made in any order, so
    /// that collectors meet keys before what leads to them; and some chains end with their first key.
    fn chain_ephemerons(&mut self) -> Outcome {
        let Some(first) = self.any_in_heap() else { return Ok(()) };
        let (mut chain, mut made, values) = (vec![first], Vec::new(), 2 + self.rng.below(4));
        self.add_slots(2 * values + 2);
        let block = self.slots.len() - 1;
        self.set_slot(block, 0, Some(first));
        // What comes from a queue meanwhile may take the place of one.
        let is_kept = |world: &Self, id| world.slots[block].means.contains(&Some(id));
        while chain.len() <= values && is_kept(self, first) {
            let Some(value) = self.new_ephemeron(first, None)? else { break };
            self.set_slot(block, chain.len(), Some(value));
            chain.push(value);
        }
        let mut links: Vec<_> = chain.windows(2).map(|link| (link[0], link[1])).collect();
        if self.rng.one_in(4) {
            links.push((chain[chain.len() - 1], first));
        }
        while !links.is_empty() {
            let n = self.rng.below(links.len());
            let (key, value) = links.swap_remove(n);
            if is_kept(self, key)
                && is_kept(self, value)
                && let Some(link) = self.new_ephemeron(key, Some(value))?
            {
                self.set_slot(block, chain.len() + made.len(), Some(link));
                made.push(link);
            }
        }
        made.retain(|&link| is_kept(self, link));
        self.remove_slots(block);
        made.into_iter().for_each(|link| self.root(link));
        Ok(())
    }

    /// Whether an object is one, or the key or the value of one: then the program does not free it.
    pub(crate) fn is_in_pair(&self, id: Id) -> bool {
        let mut pairs = self.model.all().filter_map(|(_, object)| object.pair);
        let is_in =
            pairs.any(|pair| matches!(pair, Pair::Of { key, value } if key == id || value == Some(id)));
        is_in || self.model.get(id).pair.is_some()
    }

    /// One that no root keeps, yet; none where the heap is at its limit.
    fn new_ephemeron(&mut self, key: Id, value: Option<Id>) -> Result<Option<Id>, String> {
        // Roots keep both during the call, which may collect.
        self.add_slots(2);
        let block = self.slots.len() - 1;
        self.set_slot(block, 0, Some(key));
        self.set_slot(block, 1, value);
        let before = self.heap.inspect().stats().collections;
        let address = value.map_or(0, |value| self.addr(value));
        // SAFETY: the slots keep both.
        let made = unsafe { self.mutator().ephemeron(place(self.addr(key)), address) };
        let made = match made {
            Ok(made) => made.as_ptr() as usize,
            // Others find room soon.
            Err(_) if self.settings.config.limit.is_some() => {
                self.came(before, None)?;
                self.remove_slots(block);
                return Ok(None);
            }
            Err(error) => return Err(format!("no ephemeron was made: {error}")),
        };
        self.came(before, Some(made))?;
        let id = self.model.add(made, self.kinds.ephemeron, false);
        self.model.get_mut(id).pair = Some(Pair::Of { key, value });
        self.young.push(id);
        self.remove_slots(block);
        Ok(Some(id))
    }

    /// Reads one whose key is there, and keeps what it has read; or changes its value.
    fn read_ephemeron(&mut self) -> Outcome {
        let found = (0..20).find_map(|_| {
            let id = self.model.any(self.rng.word())?;
            self.model.get(id).pair.map(|pair| (id, pair))
        });
        let Some((id, Pair::Of { key, value })) = found else { return Ok(()) };
        let at = place(self.addr(id));
        let read = [self.mutator().ephemeron_key(at), self.mutator().ephemeron_value(at)]
            .map(|read| read.map(|read| read.map_or(0, |read| read.as_ptr() as usize)));
        let wanted = [Ok(self.addr(key)), Ok(value.map_or(0, |value| self.addr(value)))];
        if read != wanted {
            return Err(format!("reading the ephemeron at {at:?} gave {read:x?}, and not {wanted:x?}"));
        }
        self.has_read([Some(key), value].into_iter().flatten());
        match (self.rng.below(3), value) {
            (0, _) => self.root(key),
            (1, Some(value)) => self.root(value),
            _ => {
                let Some(other) = self.any_in_heap() else { return Ok(()) };
                // SAFETY: an object of the heap.
                let set = unsafe { self.mutator().set_ephemeron_value(at, self.addr(other)) };
                if set != Ok(true) {
                    return Err(format!("setting the value of the ephemeron at {at:?} gave {set:?}"));
                }
                self.model.get_mut(id).pair = Some(Pair::Of { key, value: Some(other) });
            }
        }
        Ok(())
    }
}
