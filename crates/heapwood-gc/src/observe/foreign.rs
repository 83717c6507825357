//! Pointers of other heaps, in verify mode. A collection ignores a word that lies outside its heap, so what a pointer of another heap
//! leads to may be freed while it is used. An interface whose slots hold nothing but pointers (`write_values_whole`) has no
//! other use for such a word. The barrier tells it at the store; this finds what no barrier saw: the values of new objects, and roots.
//! Invariant: in a heap whose slots may hold numbers nothing is told.

use crate::pause::Pause;
use heapwood_heap::{Address, Space};
use heapwood_layout::WORD;

/// What is wrong with such a word.
pub(super) const FOREIGN: &str = "where this heap has no object: is it a pointer of another heap? A `Gc` is stored into objects of its own \
     heap, and kept by roots of that";

/// Which words are such pointers.
pub(super) struct Foreign<'s>(Option<&'s Space>);

impl<'s> Foreign<'s> {
    /// Those of a stopped heap.
    pub(super) fn of(pause: &'s Pause<'_>) -> Self {
        let pointers_only = pause.members().iter().any(|mutator| mutator.types().writes_values_whole());
        Foreign(pointers_only.then(|| pause.space()))
    }

    /// Whether the word of a slot is one. A free handle holds an odd number.
    pub(super) fn is_one(&self, word: usize) -> bool {
        self.0.is_some_and(|space| {
            word != 0 && word.is_multiple_of(WORD) && !space.contains(Address::new(word))
        })
    }
}
