//! Tagged pointers: a heap with tags of each sort, and words under them. Invariant: an address has one word, so that a program which
//! compares and swaps knows what it has stored.

use heapwood_gc::Heap;
use heapwood_heap::GRANULE;
use heapwood_layout::{Tag, WORD};

const HIGH: u64 = 0xffff << 48;

/// A NaN box, another, and low bits.
pub const TAGS: [(u64, u64); 3] = [(HIGH, 0xfffc << 48), (HIGH, 0x0007 << 48), (HIGH | 7, 5)];

/// Gives a heap these tags.
pub fn add_tags(heap: &Heap) {
    for (mask, pattern) in TAGS {
        heap.types().add_tag(Tag::new(mask, pattern).unwrap()).unwrap();
    }
}

/// The word that leads to an address in such a heap: each fourth of them has no tag.
pub fn tagged(address: usize) -> usize {
    let pattern = match address / GRANULE % 4 {
        _ if address == 0 => 0,
        0 => 0,
        1 if address.is_multiple_of(WORD) => TAGS[2].1,
        n => TAGS[n % 2].1,
    };
    address | pattern as usize
}
