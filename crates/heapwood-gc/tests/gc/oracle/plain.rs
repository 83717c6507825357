//! Stores that do not name their object, plain ones that were announced, and objects that take plain stores. Invariant: of an object
//! that can be reached the program knows whether it takes plain stores, and so does the heap.

use super::check::Outcome;
use super::world::World;
use core::ptr::NonNull;
use heapwood_gc::PlainError;
use heapwood_gc_testing::model::graph::{Edge, Id};
use heapwood_gc_testing::words;
use heapwood_heap::Address;

/// So many at once take plain stores.
const MOST: usize = 60;

impl World {
    fn at(&self, id: Id) -> NonNull<u8> {
        NonNull::new(self.addr(id) as *mut u8).expect("no object is null")
    }

    /// Whether an object takes plain stores.
    pub(crate) fn is_plain(&self, id: Id) -> bool {
        let serial = self.model.get(id).serial;
        serial.is_some() && self.plain.get(&id).copied() == serial
    }

    /// Stores in a way that needs no barrier, or no object; whether it has.
    pub(crate) fn store_plainly(&mut self, object: Id, word: u32, edge: Option<Edge>) -> bool {
        let (slot, value) = (self.slot_ptr(object, word), self.value(edge));
        if self.is_plain(object) && !self.rng.one_in(4) {
            // SAFETY: the word is a slot of an object that takes plain stores.
            unsafe { words::store(slot, value) };
        } else {
            match self.rng.below(12) {
                // SAFETY: the word is a slot of an object, the value what that may hold.
                0 | 1 => unsafe { self.mutator().barrier().write_inside(slot, Address::new(value)) },
                2 if self.mutator().dirty(self.at(object)).is_ok() => {
                    // SAFETY: as above; it was announced.
                    unsafe { words::store(slot, value) };
                }
                _ => return false,
            }
        }
        self.note_slot(object, word, edge);
        true
    }

    /// An object begins to take plain stores, or ends.
    pub(crate) fn use_plain(&mut self, object: Id) -> Outcome {
        if self.is_plain(object) {
            return self.end_plain(object);
        }
        if self.plain.len() >= MOST {
            // Those of which nothing is known any more are dead, or will be.
            let model = &self.model;
            let known: Vec<(Id, u64)> =
                model.all().filter_map(|(id, object)| Some((id, object.serial?))).collect();
            self.plain.retain(|&id, &mut serial| known.contains(&(id, serial)));
        }
        if self.plain.len() >= MOST {
            return Ok(());
        }
        match self.mutator().begin_plain(self.at(object), usize::MAX) {
            Ok(_) => {
                if let Some(serial) = self.model.get(object).serial {
                    self.plain.insert(object, serial);
                }
                Ok(())
            }
            // Of an arena, or without pointers.
            Err(PlainError::NoObject { .. } | PlainError::NoSlots { .. }) => Ok(()),
            Err(e) if self.model.get(object).serial.is_none() => {
                let _ = e;
                Ok(())
            }
            Err(e) => Err(format!("no plain stores: {e}")),
        }
    }

    /// An object takes no plain stores any more, if it did.
    pub(crate) fn end_plain(&mut self, object: Id) -> Outcome {
        if self.is_plain(object) {
            self.plain.remove(&object);
            self.mutator().end_plain(self.at(object)).map_err(|e| format!("plain stores do not end: {e}"))?;
        }
        Ok(())
    }
}
