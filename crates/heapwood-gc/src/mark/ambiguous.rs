//! Words that may or may not be pointers: on stacks, in registered ranges, in objects without a layout. A range test
//! drops most words, one load from the page table most others; the rest are resolved to the object that they point
//! into. Invariant: a pushed address is that of an object that exists, whatever the word was.

use super::mode::{Mode, Scope};
use super::queue::Marker;
use heapwood_heap::{Address, ObjectRef};
use heapwood_layout::WORD;

impl<M: Mode> Marker<'_, M> {
    /// The object that `word` points to or into, if it exists.
    #[inline]
    pub(super) fn resolve(&self, word: usize) -> Option<usize> {
        if word.wrapping_sub(self.base) >= self.committed_end {
            return None;
        }
        let found = match M::Scope::SNAPSHOT {
            // Exact while mutators run: the spans that they allocate from change under a look-up of young objects.
            true => self.space.find_old(Address::new(word)).map(ObjectRef::get),
            false => self.space.find(Address::new(word)).map(|object| object.base.get()),
        };
        match found {
            Some(object) => Some(object),
            None => {
                // A word into a freed arena chunk keeps its addresses in quarantine: the look-up notes it.
                let _ =
                    self.space.arenas().find_chunk(Address::new(word)).is_some_and(|chunk| chunk.is_in_use());
                None
            }
        }
    }

    /// Scans the aligned words of `start..end`.
    pub(super) fn scan_ambiguous(&mut self, start: usize, end: usize) {
        // Most words are dropped at once, so the loop keeps what the test needs in locals.
        let (base, committed_end) = (self.base, self.committed_end);
        let (mut at, end) = (start.next_multiple_of(WORD), end & !(WORD - 1));
        while at < end {
            // SAFETY: the range is memory that its owner registered, an object, or a stopped thread's stack. It may
            // hold anything; a volatile read of a word tolerates that.
            let word = unsafe { (at as *const usize).read_volatile() };
            if word.wrapping_sub(base) < committed_end
                && let Some(object) = self.resolve(word)
            {
                self.push(object);
            }
            at += WORD;
        }
    }
}
