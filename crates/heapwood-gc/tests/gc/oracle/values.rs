//! Stores of values of several words (`WriteBarrier::before_value`): a store of one slot that writes its neighbours, too, as they
//! were or in each other's places. Invariant: words that are no slots stay what they were.

use super::world::World;
use heapwood_gc::ValueWords;
use heapwood_gc_testing::model::graph::{Edge, Id};
use heapwood_gc_testing::model::kinds::Slots;
use heapwood_gc_testing::words;

/// A value has so many words at most.
const MOST: usize = 5;

impl World {
    /// Stores a value around a slot; false if nothing was stored, since a function knows what the object's words are.
    pub(crate) fn store_value(&mut self, object: Id, word: u32, edge: Option<Edge>) -> bool {
        let kind = &self.kinds.all[self.model.get(object).kind];
        if kind.counted {
            return false;
        }
        let (all, precise) = (kind.words(), kind.holds == Slots::Precise);
        let first = (word as usize).saturating_sub(self.rng.below(MOST));
        let end = (word as usize + 1 + self.rng.below(MOST)).min(first + MOST).min(all);
        let is_slot: Vec<bool> = self.kinds.all[self.model.get(object).kind].is_slot[first..end].to_vec();
        let slots: Vec<u32> = (first..end).filter(|&w| is_slot[w - first]).map(|w| w as u32).collect();
        let others: Vec<u32> = slots.into_iter().filter(|&slot| slot != word).collect();
        // The others change places, or stay.
        let by = if others.is_empty() { 0 } else { self.rng.below(others.len()) };
        let moved: Vec<Option<Edge>> =
            (0..others.len()).map(|i| self.in_slot(object, others[(i + by) % others.len()])).collect();
        let slot = self.slot_ptr(object, first as u32);
        // SAFETY: the object exists and has these words; no other thread stores into them.
        let mut value: Vec<usize> = (0..end - first).map(|i| unsafe { words::load(slot.add(i)) }).collect();
        for (&other, &edge) in others.iter().zip(&moved).filter(|_| by > 0) {
            value[other as usize - first] = self.value(edge);
        }
        value[word as usize - first] = self.value(edge);
        let mask = (0..end - first).filter(|&i| is_slot[i]).fold(0, |mask, i| mask | 1 << i);
        let as_words = ValueWords { words: end - first, mask, precise };
        // SAFETY: as above; the words of the mask are slots, and the values what they may hold.
        unsafe { self.mutator().barrier().before_value(slot, value.as_ptr(), as_words) };
        for (i, &word) in value.iter().enumerate() {
            // SAFETY: as above, and it was announced.
            unsafe { words::store(slot.add(i), word) };
        }
        for (other, edge) in others.into_iter().zip(moved).filter(|_| by > 0) {
            self.note_slot(object, other, edge);
        }
        self.note_slot(object, word, edge);
        true
    }
}
