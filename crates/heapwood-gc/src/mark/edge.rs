//! Edges, as stacks and rings have them: the address of an object, or an ambiguous word with a tag in its lowest bits. A word that
//! another object or a root holds is looked up when its mark word, its allocation bit and the entry of its page are in the cache,
//! as those of any edge. Objects begin at granules, so the granule of a word says as much as the word. Invariant: an edge without
//! the tag is the address of an object.

use heapwood_heap::GRANULE;

/// All bits below a granule, so that one instruction makes an edge of a word.
const AMBIGUOUS: usize = GRANULE - 1;

/// The edge of a word that may be a pointer.
#[inline(always)]
pub(super) fn ambiguous(word: usize) -> usize {
    word | AMBIGUOUS
}

/// Whether an edge has to be looked up.
#[inline(always)]
pub(super) fn is_ambiguous(edge: usize) -> bool {
    edge & 1 != 0
}

/// The granule of an ambiguous edge.
#[inline(always)]
pub(super) fn word_of(edge: usize) -> usize {
    edge - AMBIGUOUS
}
