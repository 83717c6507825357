//! Typed objects (gc_typed.h): a bitmap says which of their words may be pointers. Descriptors of up to 62 words are the bitmap
//! itself; of others this library keeps the bitmap, and the descriptor has its place. The descriptor of an object lies in a word
//! behind what the program asked for, as libgc has it. Invariant: the memory of a new object is zero, which is a descriptor of
//! nothing, until the descriptor is written.

use crate::kinds::{self, ARRAY, TYPED};
use crate::lock::Locked;
use crate::types::Ptr;
use crate::{descriptors, lookup};
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use heapwood_layout::WORD;
use heapwood_os::{MappedArray, SYSTEM};

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
    let kept = BITMAPS.with(|bitmaps| bitmaps.keep(last + 1, bit));
    // Without memory the words that are no pointers are looked at, too.
    kept.map_or((last + 1) * WORD, descriptors::of_wide)
}

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

/// `GC_malloc_explicitly_typed`.
pub(crate) fn malloc(n: usize, descriptor: usize) -> Ptr {
    with_words(n, TYPED, [descriptor])
}

/// `GC_calloc_explicitly_typed`: an array.
pub(crate) fn calloc(n: usize, size: usize, descriptor: usize) -> Ptr {
    match n.checked_mul(size) {
        Some(bytes) => with_words(bytes, ARRAY, [size, n, descriptor]),
        None => crate::alloc::out_of_memory(usize::MAX),
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
