//! The program's use of weak tables, by identity and by value. A table, its array and the ephemerons in that are objects of the model,
//! whose edges are read from memory after each call; what the calls return is compared with the model's ephemerons. Invariant: a
//! table has exactly the keys that were put in and are reachable.

use super::check::Outcome;
use super::world::World;
use core::ptr::NonNull;
use heapwood_gc_testing::model::graph::{Edge, Id, Pair};
use heapwood_heap::Address;
use std::collections::HashSet;

/// Tables, and keys of one, at most.
const MOST: usize = 6;
const MOST_KEYS: usize = 60;

fn place(address: usize) -> NonNull<u8> {
    NonNull::new(address as *mut u8).expect("no object is null")
}

fn address(object: Option<NonNull<u8>>) -> usize {
    object.map_or(0, |object| object.as_ptr() as usize)
}

impl World {
    pub(super) fn use_tables(&mut self) -> Outcome {
        if self.tables.len() < MOST && self.rng.one_in(8) {
            return self.new_table();
        }
        let n = self.rng.below(self.tables.len().max(1));
        let Some(&table) = self.tables.get(n) else { return Ok(()) };
        let entries = self.entries(table);
        self.has_read(entries.iter().flat_map(|&(key, value, _)| [Some(key), value]).flatten());
        match self.rng.below(8) {
            0..5 if entries.len() < MOST_KEYS => self.put_into(table, &entries),
            5 => self.remove_from(table, &entries),
            6 => self.walk_table(table, &entries),
            _ => self.get_from(table, &entries),
        }
    }

    fn new_table(&mut self) -> Outcome {
        let before = self.heap.inspect().stats().collections;
        let made = match self.mutator().weak_table() {
            Ok(made) => made.as_ptr() as usize,
            Err(_) if self.settings.config.limit.is_some() => return self.came(before, None),
            Err(e) => return Err(format!("no table was made: {e}")),
        };
        self.came(before, Some(made))?;
        let old = self.heap.space().is_old(Address::new(made));
        let id = self.model.add(made, self.kinds.weak_table, old);
        self.tables.push(id);
        self.young.push(id);
        self.root(id);
        Ok(())
    }

    fn array_of(&self, table: Id) -> Option<Id> {
        self.model.get(table).edges.get(&3).map(|edge| edge.to)
    }

    /// Keys and values, with their ephemerons.
    fn entries(&self, table: Id) -> Vec<(Id, Option<Id>, Id)> {
        let Some(array) = self.array_of(table) else { return Vec::new() };
        let mut places: Vec<_> = self.model.get(array).edges.iter().collect();
        places.sort_unstable_by_key(|(word, _)| **word);
        let entries = places.into_iter().filter_map(|(_, edge)| match self.model.get(edge.to).pair {
            Some(Pair::Of { key, value }) => Some((key, value, edge.to)),
            _ => None,
        });
        entries.collect()
    }

    fn put_into(&mut self, table: Id, entries: &[(Id, Option<Id>, Id)]) -> Outcome {
        let (Some(key), value) = (self.any_in_heap(), self.any_in_heap()) else { return Ok(()) };
        let is_by_value = self.is_by_value(table);
        let value = value.filter(|_| !is_by_value && !self.rng.one_in(4));
        let found = entries.iter().find(|entry| entry.0 == key);
        self.add_slots(3);
        let block = self.slots.len() - 1;
        [Some(table), Some(key), value]
            .into_iter()
            .enumerate()
            .for_each(|(i, id)| self.set_slot(block, i, id));
        let before = self.heap.inspect().stats().collections;
        let (at, of) = (place(self.addr(table)), place(self.addr(key)));
        let to = value.map_or(0, |value| self.addr(value));
        let is_new = match is_by_value {
            // SAFETY: the slots keep all.
            false => unsafe { self.mutator().weak_table_set(at, of, to) },
            // SAFETY: as above.
            true => unsafe { self.mutator().weak_table_intern(at, hash(of), |other| other == of, of) }
                .map(|one| one == of && found.is_none()),
        };
        let outcome = match is_new {
            Ok(is_new) if is_new == found.is_none() => Ok(true),
            Err(_) if self.settings.config.limit.is_some() => Ok(false),
            other => Err(format!("putting {of:?} into {at:?} gave {other:?}, and it has {found:?}")),
        };
        let is_done = outcome?;
        if let (true, Some(&(_, _, ephemeron)), false) = (is_done, found, is_by_value) {
            self.model.get_mut(ephemeron).pair = Some(Pair::Of { key, value });
        }
        let known: HashSet<Id> = self.model.all().map(|(id, _)| id).collect();
        self.read_array(table, is_done.then_some((key, value)))?;
        if self.heap.inspect().stats().collections != before {
            // In the middle of the call the table was not what it is now: what it made last is not counted.
            self.is_unsure = true;
            self.made = self.model.all().map(|(id, _)| id).filter(|id| !known.contains(id)).collect();
        }
        self.came(before, None)?;
        self.remove_slots(block);
        Ok(())
    }

    /// Tables are by value in every third place; equal is what is the same, but hashes are few.
    fn is_by_value(&self, table: Id) -> bool {
        ((self.addr(table) - self.heap.space().base().get()) / 32).is_multiple_of(3)
    }

    /// Reads what a table leads to; there may be one new entry.
    fn read_array(&mut self, table: Id, mut new: Option<(Id, Option<Id>)>) -> Outcome {
        let words = self.addr(table) as *const usize;
        // SAFETY: a table has four words; the third is the number of its places.
        let [places, at] = [2, 3].map(|i| unsafe { words.add(i).read_volatile() });
        if at == 0 {
            return Ok(());
        }
        let before = self.array_of(table);
        let known: Vec<Id> = before
            .map_or(Vec::new(), |array| self.model.get(array).edges.values().map(|edge| edge.to).collect());
        let array = match before.filter(|&array| self.addr(array) == at) {
            Some(array) => array,
            None => {
                let old = self.heap.space().is_old(Address::new(at));
                let array = self.model.add(at, self.kinds.weak_array(places), old);
                self.model.get_mut(table).edges.insert(3, Edge { to: array, offset: 0 });
                array
            }
        };
        // In the place of one that was left behind there may be another.
        let is_gone = |world: &Self, id: Id| world.model.get(id).pair == Some(Pair::Cleared);
        for word in (1..2 * places).step_by(2) {
            // SAFETY: a word of the array.
            let found = unsafe { (at as *const usize).add(word).read_volatile() };
            let has = self.model.get(array).edges.get(&(word as u32)).map(|edge| edge.to);
            if found == has.map_or(0, |has| self.addr(has)) {
                continue;
            }
            let ephemeron = match known.iter().find(|id| self.addr(**id) == found && !is_gone(self, **id)) {
                Some(&known) => known,
                None => {
                    let Some((key, value)) = new.take() else {
                        return Err(format!("place {} of the table at {words:?} has {found:#x}", word / 2));
                    };
                    let id = self.model.add(found, self.kinds.ephemeron, false);
                    self.model.get_mut(id).pair = Some(Pair::Of { key, value });
                    id
                }
            };
            self.model.get_mut(array).edges.insert(word as u32, Edge { to: ephemeron, offset: 0 });
        }
        Ok(())
    }

    /// One of them, by its key: the order in the table is that of addresses, which differ from run to run.
    fn some_entry(&mut self, entries: &[(Id, Option<Id>, Id)]) -> (Id, Option<Id>, Id) {
        let mut by_key = entries.to_vec();
        by_key.sort_unstable();
        by_key[self.rng.below(by_key.len())]
    }

    fn remove_from(&mut self, table: Id, entries: &[(Id, Option<Id>, Id)]) -> Outcome {
        if entries.is_empty() || self.is_by_value(table) {
            return Ok(());
        }
        let (key, _, ephemeron) = self.some_entry(entries);
        let removed = self.mutator().weak_table_remove(place(self.addr(table)), place(self.addr(key)));
        self.model.get_mut(ephemeron).pair = Some(Pair::Cleared);
        match removed {
            Ok(true) => Ok(()),
            other => Err(format!("removing a key that is there gave {other:?}")),
        }
    }

    /// Keys that are there, or perhaps are not; what is read may be kept.
    fn get_from(&mut self, table: Id, entries: &[(Id, Option<Id>, Id)]) -> Outcome {
        let key = match entries.is_empty() || self.rng.one_in(4) {
            true => self.any_in_heap(),
            false => Some(self.some_entry(entries).0),
        };
        let Some(key) = key else { return Ok(()) };
        let (at, of) = (place(self.addr(table)), place(self.addr(key)));
        let entry = entries.iter().find(|entry| entry.0 == key);
        if self.is_by_value(table) {
            let found = self.mutator().weak_table_find(at, hash(of), |other| other == of);
            return match found.map(address) == Ok(entry.map_or(0, |_| self.addr(key))) {
                true => Ok(()),
                false => Err(format!("finding {of:?} in {at:?} gave {found:?}")),
            };
        }
        let found = self.mutator().weak_table_get(at, of).map(|found| found.map(address));
        let wanted = entry.map(|(_, value, _)| value.map_or(0, |value| self.addr(value)));
        if found != Ok(wanted) {
            return Err(format!("getting {of:?} from {at:?} gave {found:x?}, and not {wanted:x?}"));
        }
        if let Some((_, Some(value), _)) = entry {
            self.root(*value);
        }
        Ok(())
    }

    /// All its entries, one after the other.
    fn walk_table(&mut self, table: Id, entries: &[(Id, Option<Id>, Id)]) -> Outcome {
        let (at, mut position, mut found) = (place(self.addr(table)), 0, Vec::new());
        let fail = |e| format!("walking a table: {e}");
        while let Some((key, value)) = self.mutator().weak_table_next(at, &mut position).map_err(fail)? {
            found.push((key.as_ptr() as usize, address(value)));
        }
        let wanted: Vec<_> = entries
            .iter()
            .map(|(key, value, _)| (self.addr(*key), value.map_or(0, |value| self.addr(value))))
            .collect();
        let has_unknown = self.array_of(table).is_some_and(|array| {
            self.model
                .get(array)
                .edges
                .values()
                .any(|edge| self.model.get(edge.to).pair == Some(Pair::Unknown))
        });
        let len = self.mutator().weak_table_len(at).map_err(fail)?;
        match has_unknown || found == wanted && len == found.len() {
            true => Ok(()),
            false => Err(format!("the table at {at:?} has {len}: {found:x?}, and not {wanted:x?}")),
        }
    }
}

/// Few, so that searches meet others.
fn hash(object: NonNull<u8>) -> usize {
    object.as_ptr() as usize / 16 % 5
}
