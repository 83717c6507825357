//! The word, and how far descriptions reach. Invariant: what is larger is refused with one of these numbers, nowhere cut off.

/// The size of a word, in bytes: pointers lie at multiples of it.
pub const WORD: usize = 8;

/// How many words a mask can describe. A pointer further into a type needs a program, a trace function or an
/// object of its own.
pub const MAX_MASK_WORDS: usize = 256;

/// The `u64`s in which a mask's bits are kept.
pub const MASK_BLOCKS: usize = MAX_MASK_WORDS / 64;

/// The words of the largest type that there can be.
pub const MAX_WORDS: u64 = (isize::MAX as usize / WORD) as u64;

/// How many structs and arrays may lie in each other.
pub const MAX_NESTING: usize = 16;

const _: () = assert!(WORD == size_of::<usize>(), "Heapwood needs 64-bit pointers");
const _: () = assert!(MASK_BLOCKS * 64 == MAX_MASK_WORDS);
