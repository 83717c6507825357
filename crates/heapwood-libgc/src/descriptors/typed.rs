//! Typed objects (gc_typed.h): a bitmap says which of their words may be pointers. Descriptors of up to 62 words are the bitmap
//! itself; of others this library keeps the bitmap, and the descriptor has its place. The descriptor of an object lies in a word
//! behind what the program asked for, as libgc has it. Invariant: the memory of a new object is zero, which is a descriptor of
//! nothing, until the descriptor is written.

use crate::descriptors;
use crate::descriptors::bitmaps;
use crate::exports::types::Ptr;
use crate::objects::kinds::{self, ARRAY, TYPED};
use crate::objects::lookup;
use heapwood_layout::WORD;

/// Words that a descriptor of one word describes.
const IN_WORD: usize = usize::BITS as usize - 2;

/// `GC_make_descriptor`.
///
/// # Safety
/// 1. The bitmap has so many bits.
pub(crate) unsafe fn make_descriptor(bitmap: *const usize, bits: usize) -> usize {
    let bit = |at: usize| {
        // SAFETY: contract 1.
        let word = unsafe { bitmap.add(at / usize::BITS as usize).read() };
        word >> (at % usize::BITS as usize) & 1 != 0
    };
    let Some(last) = (0..bits).rev().find(|&at| bit(at)) else { return 0 };
    if (0..=last).all(bit) {
        // All words: a length.
        return (last + 1) * WORD;
    }
    if last < IN_WORD {
        return (0..=last)
            .filter(|&at| bit(at))
            .fold(1, |descriptor, at| descriptor | 1 << (usize::BITS as usize - 1 - at));
    }
    let kept = bitmaps::keep(last + 1, bit);
    // Without memory the words that are no pointers are looked at, too.
    kept.map_or((last + 1) * WORD, descriptors::of_wide)
}

/// `GC_malloc_explicitly_typed`.
pub(crate) fn malloc(n: usize, descriptor: usize) -> Ptr {
    with_words(n, TYPED, [descriptor])
}

/// `GC_calloc_explicitly_typed`: an array.
pub(crate) fn calloc(n: usize, size: usize, descriptor: usize) -> Ptr {
    match n.checked_mul(size) {
        Some(bytes) => with_words(bytes, ARRAY, [size, n, descriptor]),
        None => crate::objects::alloc::out_of_memory(usize::MAX),
    }
}

/// An object with words behind it.
fn with_words<const N: usize>(n: usize, kind: u32, words: [usize; N]) -> Ptr {
    let object = kinds::allocate_with(n.next_multiple_of(WORD), N * WORD, kind);
    if let Some(found) = lookup::object(object as usize) {
        let end = found.base + (found.bytes & !(WORD - 1));
        // The descriptor, which is last, makes the others count.
        for (at, word) in words.into_iter().enumerate() {
            // SAFETY: the words lie in the object, behind what was asked for.
            unsafe { ((end - (N - at) * WORD) as *mut usize).write_volatile(word) };
        }
    }
    object
}
