//! What a thread has in hand that its model knows by masked addresses alone: an object that is being made, and those that are
//! dying. Where threads are stopped between any two instructions a collection may come then, so their addresses lie in a range
//! that is an ambiguous root. Elsewhere nothing stops the thread meanwhile, and nothing is kept.

use super::cluster::Object;
use core::sync::atomic::{AtomicUsize, Ordering};
use heapwood_gc::settings::options::Stop;
use heapwood_gc::{Heap, RootToken};
use heapwood_gc_testing::model::kinds::WORD;

/// Room for a whole cluster, and for the object that is being made.
const ROOM: usize = 256;

pub(crate) struct Hand<'w> {
    heap: &'w Heap,
    words: Box<[AtomicUsize]>,
    token: Option<RootToken>,
}

impl<'w> Hand<'w> {
    pub(crate) fn new(heap: &'w Heap) -> Self {
        let words: Box<[_]> = (0..ROOM).map(|_| AtomicUsize::new(0)).collect();
        let start = words.as_ptr() as usize;
        // SAFETY: the words are in a box of their own until the root is removed.
        let add = || unsafe { heap.roots().add_range(start, start + ROOM * WORD) }.unwrap();
        let token = (heap.config().stop == Stop::Signals).then(add);
        Hand { heap, words, token }
    }

    /// Whether a collection may come at any moment.
    pub(crate) fn is_needed(&self) -> bool {
        self.token.is_some()
    }

    /// One object stays, or none (0).
    pub(crate) fn hold(&self, object: usize) {
        self.words[0].store(object, Ordering::Relaxed);
    }

    /// So do these, until [`Hand::let_go`].
    pub(crate) fn hold_all<'o>(&self, objects: impl Iterator<Item = &'o Object>) {
        if self.is_needed() {
            objects.enumerate().for_each(|(i, o)| self.words[i + 1].store(o.at.addr(), Ordering::Relaxed));
        }
    }

    pub(crate) fn let_go(&self) {
        self.words[1..].iter().take_while(|word| word.swap(0, Ordering::Relaxed) != 0).for_each(drop);
    }
}

impl Drop for Hand<'_> {
    fn drop(&mut self) {
        self.token.map(|token| self.heap.roots().remove(token));
    }
}
