//! Edges, as stacks and rings have them: the address of an object, or an ambiguous word with a tag in its lowest bit. A word that
//! another object or a root holds is looked up when its mark word, its allocation bit and the entry of its page are in the cache,
//! as those of any edge. Objects begin at granules, so the granule of a word says as much as the word, unless it is to count only
//! with certain displacements: then the tag is the code of the word's place in its granule (`state/ambiguous_words.rs`). Invariant:
//! an edge with an even address is the address of an object.

use crate::state::ANY;
use heapwood_heap::GRANULE;

const AMBIGUOUS: usize = 1;
const CODE: usize = GRANULE - 1;
const _: () = assert!(ANY as usize == AMBIGUOUS && AMBIGUOUS < GRANULE);

/// The edge of a word that may be a pointer.
#[inline(always)]
pub(super) fn ambiguous(word: usize) -> usize {
    with_code(word, ANY)
}

/// The edge of a word that counts by its code.
#[inline(always)]
pub(super) fn with_code(word: usize, code: u8) -> usize {
    word & !CODE | code as usize
}

/// Whether an edge has to be looked up.
#[inline(always)]
pub(super) fn is_ambiguous(edge: usize) -> bool {
    edge & AMBIGUOUS != 0
}

/// Whether an ambiguous edge may lead to the inside of an object.
#[inline(always)]
pub(super) fn is_any(edge: usize) -> bool {
    edge & CODE == ANY as usize
}

/// The code of an ambiguous edge.
#[inline(always)]
pub(super) fn code_of(edge: usize) -> u8 {
    (edge & CODE) as u8
}

/// The granule of an ambiguous edge.
#[inline(always)]
pub(super) fn word_of(edge: usize) -> usize {
    edge & !CODE
}
