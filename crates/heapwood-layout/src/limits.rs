//! The size of a word, and the limits of descriptions. Invariant: larger types are refused with one of these numbers,
//! never truncated.

/// The size of a word, in bytes: pointers lie at multiples of it.
pub const WORD: usize = 8;

/// The most words that a mask describes. A pointer further into a type needs a program, a trace function or an object
/// of its own.
pub const MAX_MASK_WORDS: usize = 256;

/// The number of `u64`s of a mask.
pub const MASK_BLOCKS: usize = MAX_MASK_WORDS / 64;

/// The words of the largest possible type.
pub const MAX_WORDS: u64 = (isize::MAX as usize / WORD) as u64;

/// The deepest nesting of structs and arrays.
pub const MAX_NESTING: usize = 16;

const _: () = assert!(WORD == size_of::<usize>(), "Heapwood needs 64-bit pointers");
const _: () = assert!(MASK_BLOCKS * 64 == MAX_MASK_WORDS);
/// The most tags of a heap.
pub const MAX_TAGS: usize = 4;
