//! Words that may or may not be pointers: on stacks, in registered ranges, in objects without a layout. A word is
//! dropped after a range test, or after one load from the page table; what remains is resolved to the object it
//! points into, if that exists.
//! Invariant: what is pushed is the address of an object that exists, whatever the word was.

use super::mode::Mode;
use super::queue::Marker;
use heapwood_heap::Address;
use heapwood_layout::WORD;

impl<M: Mode> Marker<'_, M> {
    /// The object that `word` points to or into, if it exists.
    #[inline]
    pub(super) fn resolve(&self, word: usize) -> Option<usize> {
        if word.wrapping_sub(self.base) >= self.extent {
            return None;
        }
        match self.space.find(Address::new(word)) {
            Some(object) => Some(object.base.get()),
            None => {
                // Where an arena was this keeps the addresses from being used again.
                let _ =
                    self.space.find_arena_chunk(Address::new(word)).is_some_and(|piece| piece.is_in_use());
                None
            }
        }
    }

    /// Scans the aligned words of `start..end`.
    pub(super) fn scan_ambiguous(&mut self, start: usize, end: usize) {
        // Most words are dropped at once, so what that takes is kept at hand.
        let (base, extent) = (self.base, self.extent);
        let (mut at, end) = (start.next_multiple_of(WORD), end & !(WORD - 1));
        while at < end {
            // SAFETY: the range is memory that its owner registered, an object, or a stopped thread's stack; it may
            // hold anything, which a volatile read of a word tolerates.
            let word = unsafe { (at as *const usize).read_volatile() };
            if word.wrapping_sub(base) < extent
                && let Some(object) = self.resolve(word)
            {
                self.push(object);
            }
            at += WORD;
        }
    }
}
