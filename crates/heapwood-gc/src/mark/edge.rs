//! Edges, as stacks and rings have them: the address of an object, or an ambiguous word with a tag in its lowest bit. A word that
//! another object or a root holds is looked up when its mark word, its allocation bit and the entry of its page are in the cache,
//! as those of any edge. Objects begin at granules, so the granule of a word says as much as the word. Invariant: an edge without
//! the tag is the address of an object.

use super::bits::MarkBits;
use super::mode::{Mode, Scope};
use super::queue::Marker;
use heapwood_heap::{Address, GRANULE, MarkingView, ObjectRef, PageEntry};

const AMBIGUOUS: usize = 1;
const _: () = assert!(AMBIGUOUS < GRANULE);

/// The edge of a word that may be a pointer.
#[inline(always)]
pub(super) fn ambiguous(word: usize) -> usize {
    word & !(GRANULE - 1) | AMBIGUOUS
}

/// Whether an edge has to be looked up.
#[inline(always)]
pub(super) fn is_ambiguous(edge: usize) -> bool {
    edge & AMBIGUOUS != 0
}

/// The granule of an ambiguous edge.
#[inline(always)]
pub(super) fn word_of(edge: usize) -> usize {
    edge - AMBIGUOUS
}

impl<M: Mode> Marker<'_, M> {
    /// The object of an edge, unless it is ambiguous and that object is marked, or there is none. In a snapshot the caller asks
    /// whether the object is of it.
    pub(super) fn object_of(&self, edge: usize) -> Option<usize> {
        match is_ambiguous(edge) {
            true => self.look_up(word_of(edge), self.entry(edge), self.view),
            false => Some(edge),
        }
    }

    /// The object that a word in the heap leads to or into, unless that is marked; the entry is that of its page.
    #[inline(always)]
    pub(super) fn look_up(&self, word: usize, entry: PageEntry, view: MarkingView<'_>) -> Option<usize> {
        // Only objects have allocation bits, at their first granules. The processor goes on with the word before it knows.
        // SAFETY: edges lie below the committed end, whose bits are committed.
        match unsafe { view.is_allocated_in_heap(word) } && entry.has_objects() && !self.is_freed(word) {
            true => Some(word),
            false => self.look_inside(word, entry),
        }
    }

    /// The same for a word that leads into an object, or to one that was made since the last collection. The page's entry has the
    /// start of the span and the shape, so that nothing is read of the span's descriptor.
    #[inline(never)]
    fn look_inside(&self, word: usize, entry: PageEntry) -> Option<usize> {
        let Some(class) = entry.kind().and_then(|_| self.shape(entry).class()) else {
            return self.resolve(word);
        };
        let object = entry.cell_of(word, self.base, class);
        // SAFETY: the object lies in the span of the word's page, which lies below the committed end.
        unsafe {
            if M::Bits::is_set(self.marks, object) {
                return None;
            }
            if M::Scope::SNAPSHOT || self.view.is_allocated_in_heap(object) && !self.is_freed(object) {
                return Some(object);
            }
        }
        self.space.find(Address::new(word)).map(|object| object.base.get())
    }

    #[inline(always)]
    fn is_freed(&self, object: usize) -> bool {
        self.may_dangle && self.space.is_freed(ObjectRef::new(object))
    }
}
