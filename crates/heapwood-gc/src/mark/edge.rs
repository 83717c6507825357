//! Edges, as stacks and rings have them: the address of an object, or an ambiguous word with a tag in its lowest bits. A word that
//! another object or a root holds is looked up when its mark word, its allocation bit and the entry of its page are in the cache,
//! as those of any edge. Objects begin at granules, so the granule of a word says as much as the word, unless it is to count only
//! with certain displacements: then the tag is the code of the word's place in its granule (`state/ambiguous_words.rs`). Invariant:
//! an edge with an even address is the address of an object.

use crate::state::{ANY, BASE};
use heapwood_heap::GRANULE;
use heapwood_layout::Tags;

/// The last code takes one instruction to add.
const AMBIGUOUS: usize = ANY as usize;
const CODE: usize = GRANULE - 1;
/// The codes of words without a tag in slots of a heap with tags: they lead to a granule's first byte, or to another.
const FIRST_BYTE: u8 = BASE;
const OTHER_BYTE: u8 = 3;
const _: () = assert!(AMBIGUOUS == CODE);

/// The edge of a word that may be a pointer.
#[inline(always)]
pub(super) fn ambiguous(word: usize) -> usize {
    word | AMBIGUOUS
}

/// The edge of a word that counts by its code.
#[inline(always)]
pub(super) fn with_code(word: usize, code: u8) -> usize {
    word & !CODE | code as usize
}

/// The edge of a word in a slot that may have a tag. Without one it may be a number: it leads to an object only if that begins
/// there, or to the value of an arena.
#[inline(always)]
pub(super) fn value(tags: &Tags, word: usize) -> usize {
    let (address, is_tagged) = tags.address(word);
    let code = if word.is_multiple_of(GRANULE) { FIRST_BYTE } else { OTHER_BYTE };
    if is_tagged { address } else { with_code(word, code) }
}

/// Whether an edge has to be looked up.
#[inline(always)]
pub(super) fn is_ambiguous(edge: usize) -> bool {
    edge & 1 != 0
}

/// Whether an ambiguous edge may lead to the inside of an object.
#[inline(always)]
pub(super) fn is_any(edge: usize) -> bool {
    edge & CODE == ANY as usize
}

/// Whether an ambiguous edge counts for an object that begins where it leads.
#[inline(always)]
pub(super) fn is_for_base(edge: usize) -> bool {
    // One test for both codes.
    edge.wrapping_add(1) & CODE <= (BASE + 1) as usize
}

/// Whether the edge of a slot's word leads to the first byte of a granule.
#[inline(always)]
pub(super) fn is_first_byte(edge: usize) -> bool {
    edge & CODE == FIRST_BYTE as usize
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
