//! A hash of an object's address, for indexes of objects. Invariant: objects of one block have hashes of one block, since programs
//! use objects together that lie together; were they scattered, each look-up would miss the cache. Blocks are scattered.

/// The hash. Its lowest bits are to be used.
#[inline(always)]
pub(crate) fn object_hash(object: usize) -> usize {
    let (block, within) = (object as u64 >> 10, object >> 4 & 63);
    (block.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20) as usize ^ within
}
