//! Whose memory it is: a bit for each granule of the heap's window, set while a live object of some thread's model lies
//! there. Invariant: an object's bits are set by who made it, before anybody else knows of it, and cleared by whose it is
//! when it dies, before a collection can find it dead or it is freed; so memory that is handed out twice is told at once.

use core::sync::atomic::{AtomicU64, Ordering};
use heapwood_heap::GRANULE;

pub(crate) struct Granules {
    base: usize,
    words: Vec<AtomicU64>,
}

impl Granules {
    /// For a window of so many bytes from `base` on.
    pub(crate) fn new(base: usize, bytes: usize) -> Self {
        Granules { base, words: (0..bytes / GRANULE / 64).map(|_| AtomicU64::new(0)).collect() }
    }

    /// Calls `f` with each word that the bytes have bits in, and those bits, until it is false.
    fn all(&self, at: usize, bytes: usize, f: impl Fn(&AtomicU64, u64) -> bool) -> bool {
        let (first, end) = ((at - self.base) / GRANULE, (at + bytes - self.base).div_ceil(GRANULE));
        (first / 64..end.div_ceil(64)).all(|word| {
            let (from, to) = (first.max(word * 64) % 64, end.min(word * 64 + 64) - word * 64);
            f(&self.words[word], u64::MAX << from & u64::MAX >> (64 - to))
        })
    }

    /// A new object lies here; false if another does already.
    pub(crate) fn claim(&self, at: usize, bytes: usize) -> bool {
        self.all(at, bytes, |word, mask| word.fetch_or(mask, Ordering::Relaxed) & mask == 0)
    }

    /// It lives no more; false if it was not known.
    pub(crate) fn release(&self, at: usize, bytes: usize) -> bool {
        self.all(at, bytes, |word, mask| word.fetch_and(!mask, Ordering::Relaxed) & mask == mask)
    }

    /// Whether all of these bytes are a live object's.
    pub(crate) fn hold(&self, at: usize, bytes: usize) -> bool {
        self.all(at, bytes, |word, mask| word.load(Ordering::Relaxed) & mask == mask)
    }

    /// How many bytes are.
    pub(crate) fn bytes(&self) -> usize {
        let bits: usize = self.words.iter().map(|w| w.load(Ordering::Relaxed).count_ones() as usize).sum();
        bits * GRANULE
    }
}
