//! Bitmaps of typed objects that do not fit into a descriptor. Invariant: a bitmap, once kept, stays, and does not change.

use crate::threads::lock::Locked;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use heapwood_os::{MappedArray, SYSTEM};

/// Bitmaps of more words, one behind the other: a word with the number of bits, and the bits.
struct Bitmaps {
    words: Option<MappedArray<usize>>,
    used: usize,
    committed: usize,
}

static BITMAPS: Locked<Bitmaps> = Locked::new(Bitmaps { words: None, used: 0, committed: 0 });
/// The first word, for who looks without the lock: what is there stays.
static FIRST: AtomicUsize = AtomicUsize::new(0);

/// Words for all bitmaps, and as many as are committed at once.
const MOST: usize = 1 << 22;
const STEP: usize = 1 << 9;

impl Bitmaps {
    /// Keeps a bitmap; returns its number.
    fn keep(&mut self, bits: usize, bit: impl Fn(usize) -> bool) -> Option<usize> {
        let words = match self.words.take() {
            Some(words) => words,
            None => MappedArray::new(&SYSTEM, MOST).ok()?,
        };
        FIRST.store(words.as_ptr() as usize, Relaxed);
        let words = self.words.insert(words);
        let (number, end) = (self.used, self.used + 1 + bits.div_ceil(usize::BITS as usize));
        if end > self.committed {
            let upto = end.next_multiple_of(STEP).min(words.len());
            words.commit(self.committed..upto).ok()?;
            self.committed = upto;
        }
        if end > self.committed {
            return None;
        }
        // SAFETY: the words are committed, and nobody knows them yet.
        unsafe {
            words.at(number).write(bits);
            for at in (0..bits).filter(|&at| bit(at)) {
                *words.at(number + 1 + at / usize::BITS as usize) |= 1 << (at % usize::BITS as usize);
            }
        }
        self.used = end;
        Some(number)
    }
}

/// Calls `f` with the number of each word of the bitmap with this number.
///
/// # Safety
/// 1. The bitmap is kept.
pub(crate) unsafe fn for_each_word(number: usize, mut f: impl FnMut(usize)) {
    let bitmap = (FIRST.load(Relaxed) as *const usize).wrapping_add(number);
    // SAFETY: contract 1.
    unsafe {
        let bits = bitmap.read();
        for at in 0..bits.div_ceil(usize::BITS as usize) {
            let mut word = bitmap.add(1 + at).read();
            while word != 0 {
                f(at * usize::BITS as usize + word.trailing_zeros() as usize);
                word &= word - 1;
            }
        }
    }
}

/// Keeps a bitmap; returns its number.
pub(crate) fn keep(bits: usize, bit: impl Fn(usize) -> bool) -> Option<usize> {
    BITMAPS.with(|bitmaps| bitmaps.keep(bits, bit))
}
