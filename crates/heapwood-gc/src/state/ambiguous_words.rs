//! Which words that may be pointers count as such. By default each word that points to or into an object does. A client may say that
//! words in objects, ranges and libraries count only if they point to an object's first byte, or so many bytes behind it as it
//! has registered (libgc: interior pointers off, displacements); and that a word of a stack or a register counts for a small object
//! that ends there, too. Words of stacks and registers may always lead to the inside.
//!
//! An edge has room for few of a word's lowest bits. So each remainder of a registered displacement has a code, which goes with
//! the edge, and is known before the object is; remainders without one are dropped at once. The last of these codes stands for all remainders
//! that came too late for one of their own. Invariant: a code that was given out keeps its meaning.

use crate::error::Refusal;
use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use heapwood_heap::GRANULE;

/// Displacements are below this: as many bytes as the first block of an object has in libgc.
const MOST: usize = 4096;
/// The code of a word that may lead to the inside.
pub(crate) const ANY: u8 = 15;
/// The first code of a remainder; all are odd.
const FIRST: u8 = 1;
/// Stands for several remainders.
const SHARED: u8 = 13;

/// The largest small object that a word behind it keeps.
pub(crate) const MOST_BEFORE: usize = 64;

/// The rules of a heap for words that may be pointers.
pub struct AmbiguousWords {
    /// Words outside stacks count only with registered displacements.
    is_exact: AtomicBool,
    /// Words of stacks count for small objects that end there.
    ends: AtomicBool,
    /// The code of each remainder by a granule; 0 for none.
    codes: [AtomicU8; GRANULE],
    /// A bit for each displacement.
    displacements: [AtomicU64; MOST / 64],
}

impl AmbiguousWords {
    pub(super) fn new() -> Self {
        let rules = AmbiguousWords {
            is_exact: AtomicBool::new(false),
            ends: AtomicBool::new(false),
            codes: [const { AtomicU8::new(0) }; GRANULE],
            displacements: [const { AtomicU64::new(0) }; MOST / 64],
        };
        rules.set(0);
        rules
    }

    /// Whether a word in an object, a registered range or a library's data may point to the inside of an object, at any byte. It
    /// holds from the next collection on.
    pub fn set_interior(&self, interior: bool) {
        self.is_exact.store(!interior, Ordering::Relaxed);
    }

    /// Whether it may.
    pub fn has_interior(&self) -> bool {
        !self.is_exact.load(Ordering::Relaxed)
    }

    /// Where interior pointers are off, words that point so many bytes behind an object's first count, too.
    ///
    /// # Errors
    /// It is too large.
    pub fn register_displacement(&self, bytes: usize) -> Result<(), Refusal> {
        if bytes >= MOST {
            return Err(Refusal::Displacement { bytes, most: MOST - 1 });
        }
        self.set(bytes);
        Ok(())
    }

    /// Whether a displacement is registered. 0 always is.
    pub fn is_displacement(&self, bytes: usize) -> bool {
        bytes < MOST && self.displacements[bytes / 64].load(Ordering::Relaxed) >> (bytes % 64) & 1 != 0
    }

    /// Whether a word of a stack or a register keeps a small object that ends there, of at most 64 bytes. It holds from the next
    /// collection on.
    pub fn set_ends(&self, ends: bool) {
        self.ends.store(ends, Ordering::Relaxed);
    }

    /// Whether it does.
    pub fn has_ends(&self) -> bool {
        self.ends.load(Ordering::Relaxed)
    }

    fn set(&self, bytes: usize) {
        self.displacements[bytes / 64].fetch_or(1 << (bytes % 64), Ordering::Relaxed);
        let used = self.codes.iter().map(|code| code.load(Ordering::Relaxed)).max().unwrap_or(0);
        let next = if used == 0 { FIRST } else { (used + 2).min(SHARED) };
        // Two threads may give one code to two remainders: then both share it, which keeps more.
        let _ = self.codes[bytes % GRANULE].compare_exchange(0, next, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// The code of a word outside stacks, if it may count.
    #[inline(always)]
    pub(crate) fn code(&self, word: usize) -> u8 {
        self.codes[word % GRANULE].load(Ordering::Relaxed)
    }

    /// Whether a word with this code, whose granule lies so many bytes behind an object's first, counts for the object.
    pub(crate) fn counts(&self, code: u8, bytes: usize) -> bool {
        let has = |remainder: usize| {
            self.codes[remainder].load(Ordering::Relaxed) == code && self.is_displacement(bytes + remainder)
        };
        code == ANY || (0..GRANULE).any(has)
    }

    /// Whether a word outside stacks counts for the object at `base`, to or into which it points.
    pub(crate) fn counts_for(&self, word: usize, base: usize) -> bool {
        self.has_interior() || self.is_displacement(word.wrapping_sub(base))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn many_remainders_share_a_code_and_none_is_lost() {
        let rules = AmbiguousWords::new();
        let wanted = |bytes: usize| bytes % 48 < 16;
        (0..MOST)
            .filter(|&bytes| wanted(bytes))
            .for_each(|bytes| rules.register_displacement(bytes).unwrap());
        for bytes in 0..MOST {
            let code = rules.code(bytes);
            assert!(code % 2 == 1 && code < ANY);
            assert_eq!(rules.counts(code, bytes & !(GRANULE - 1)), wanted(bytes));
        }
    }
}
