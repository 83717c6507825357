//! Candidates: the few of many ambiguous words that lie in the heap's range. Stacks are long, and most of their words are
//! small numbers, return addresses and addresses of the stack; so where the processor can (AVX2), eight words are tested at
//! once. Others may write the words meanwhile: a thread in a blocking region its buffers, an unattached one a registered
//! range. So words are read whole, one by one or by loads of 16 aligned bytes, which are atomic on processors with AVX
//! (Intel's manual, volume 3, 9.1.1; AMD's, volume 2, 7.3.2). Invariant: a candidate lies in the range, even if its place was
//! written between the test and the load.

use core::mem::MaybeUninit;
use core::ops::Range;
use core::sync::atomic::{AtomicUsize, Ordering};
use heapwood_heap::MarkSide;
use heapwood_heap::cpu::Cpu;
use heapwood_layout::WORD;

/// The heap's range, as words are tested for it, and its marks.
#[derive(Clone, Copy)]
pub(super) struct HeapRange {
    base: usize,
    bytes: usize,
    marks: MarkSide,
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "there are vectors on x86-64 alone"))]
    by_vectors: bool,
}

impl HeapRange {
    #[inline(always)]
    pub(super) fn new(range: Range<usize>, marks: MarkSide, cpu: Cpu) -> Self {
        HeapRange { base: range.start, bytes: range.len(), marks, by_vectors: cpu.has_vectors() }
    }

    #[inline(always)]
    fn contains(&self, word: usize) -> bool {
        word.wrapping_sub(self.base) < self.bytes
    }
}

/// Bytes that are worth the call: two groups of eight words.
#[cfg(target_arch = "x86_64")]
const LEAST_BY_VECTORS: usize = 2 * 8 * WORD;

/// Room for the candidates of a few words.
pub(super) struct Candidates {
    words: [MaybeUninit<usize>; Self::MOST],
    count: usize,
}

impl Candidates {
    /// The most words that are gathered from at once.
    pub(super) const MOST: usize = 64;

    #[inline(always)]
    pub(super) fn new() -> Self {
        Candidates { words: [MaybeUninit::uninit(); Self::MOST], count: 0 }
    }

    /// The candidates among the words of a part of memory.
    ///
    /// # Safety
    /// 1. The part is readable; both its ends are multiples of [`WORD`], and it has at most [`Candidates::MOST`] words.
    #[inline(always)]
    pub(super) unsafe fn gather(&mut self, heap: HeapRange, part: Range<usize>) -> &[usize] {
        self.count = 0;
        // SAFETY: contract 1; there are vectors only if the processor has them.
        unsafe {
            #[cfg(target_arch = "x86_64")]
            let part = match heap.by_vectors && part.len() >= LEAST_BY_VECTORS {
                true => self.gather_by_vectors(heap, part),
                false => part,
            };
            self.gather_words(heap, part);
        }
        // SAFETY: this many were written.
        unsafe { core::slice::from_raw_parts(self.words.as_ptr().cast(), self.count) }
    }

    /// # Safety
    /// 1. As for [`Candidates::gather`], with room for the words of the part.
    #[inline(always)]
    unsafe fn gather_words(&mut self, heap: HeapRange, part: Range<usize>) {
        let mut at = part.start;
        while at < part.end {
            // SAFETY: contract 1.
            unsafe { self.gather_word(heap, at) };
            at += WORD;
        }
    }

    /// Adds the word at an address if it is a candidate.
    ///
    /// # Safety
    /// 1. It is readable and aligned, and there is room.
    #[inline(always)]
    unsafe fn gather_word(&mut self, heap: HeapRange, at: usize) {
        // SAFETY: contract 1. The memory may hold anything, and another thread may write it, by barriers or plainly.
        let word = unsafe { AtomicUsize::from_ptr(at as *mut usize) }.load(Ordering::Relaxed);
        if heap.contains(word) {
            heap.marks.prefetch(word);
            // SAFETY: contract 1.
            unsafe { self.words.get_unchecked_mut(self.count) }.write(word);
            self.count += 1;
        }
    }

    /// Gathers from as many whole groups of eight as the part has; returns the rest.
    ///
    /// # Safety
    /// 1. As for [`Candidates::gather`], with two words or more; the processor has AVX2 and BMI1.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1")]
    unsafe fn gather_by_vectors(&mut self, heap: HeapRange, mut part: Range<usize>) -> Range<usize> {
        use core::arch::x86_64::*;
        /// Words of a vector.
        const LANES: usize = 4;
        // Vectors compare signed numbers only, so both sides have their top bit flipped: of a word by the subtrahend.
        let flip = 1usize << (usize::BITS - 1);
        let base = _mm256_set1_epi64x((heap.base ^ flip) as i64);
        let bytes = _mm256_set1_epi64x((heap.bytes ^ flip) as i64);
        let two = |at: usize| {
            let words: __m128i;
            // SAFETY: the memory is readable (contract 1 of `gather`), and `at` a multiple of 16. It is memory of the program,
            // of which this compiler knows nothing: it may never have been written, and another thread may write it. So
            // the load is an instruction that it does not look into, and which reads each word whole.
            unsafe {
                core::arch::asm!("vmovdqa {}, xmmword ptr [{}]", lateout(xmm_reg) words, in(reg) at,
                    options(nostack, readonly, preserves_flags));
            }
            words
        };
        let tested = |at: usize| {
            let words = _mm256_set_m128i(two(at + LANES / 2 * WORD), two(at));
            let inside = _mm256_cmpgt_epi64(bytes, _mm256_sub_epi64(words, base));
            _mm256_movemask_pd(_mm256_castsi256_pd(inside)) as u32
        };
        if !part.start.is_multiple_of(2 * WORD) {
            // SAFETY: the first word of the part.
            unsafe { self.gather_word(heap, part.start) };
            part.start += WORD;
        }
        while part.len() >= 2 * LANES * WORD {
            let mut inside = tested(part.start) | tested(part.start + LANES * WORD) << LANES;
            while inside != 0 {
                let at = part.start + inside.trailing_zeros() as usize * WORD;
                inside &= inside - 1;
                // SAFETY: one of the words of the part.
                unsafe { self.gather_word(heap, at) };
            }
            part.start += 2 * LANES * WORD;
        }
        part
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heapwood_heap::{Collection, Space, SpaceConfig};
    use heapwood_os::SYSTEM;

    /// Both ways find the same candidates, in the same order: at the range's ends, around the top bit, at every place of
    /// a group, in parts of every length.
    #[test]
    fn vectors_find_what_words_find() {
        let config = SpaceConfig {
            reservation: 64 << 20,
            most: None,
            limit: None,
            huge_pages: false,
            clobber: false,
            keep_freed: false,
            protect_arenas: None,
            single_cells: false,
        };
        let space = Space::new(&SYSTEM, config).unwrap();
        // SAFETY: nobody is attached.
        let marks = unsafe { space.stopped() }.mark_side(Collection::Full);
        let range = space.base().get()..space.base().get() + (64 << 20);
        let edges =
            [0, 1, range.start - 1, range.start, range.start + 8, range.end - 1, range.end, usize::MAX];
        let flipped = edges.map(|word| word ^ 1 << 63);
        let mut random = 0x9E37_79B9_7F4A_7C15u64;
        let mut found = 0;
        for length in 0..=Candidates::MOST {
            for _ in 0..200 {
                // One more, so that parts begin at every other word.
                let words: Vec<usize> = (0..=length)
                    .map(|_| {
                        random ^= random << 13;
                        random ^= random >> 7;
                        random ^= random << 17;
                        let i = random as usize % 32;
                        *edges.get(i).or(flipped.get(i - i.min(8))).unwrap_or(&(random as usize))
                    })
                    .collect();
                let words = &words[random as usize % 2..][..length];
                let expected: Vec<usize> =
                    words.iter().copied().filter(|word| range.contains(word)).collect();
                let part = words.as_ptr() as usize..words.as_ptr() as usize + length * WORD;
                for by_vectors in [false, space.cpu().has_vectors()] {
                    let heap = HeapRange { by_vectors, ..HeapRange::new(range.clone(), marks, space.cpu()) };
                    let mut candidates = Candidates::new();
                    // SAFETY: the words are a vector's, and few.
                    assert_eq!(unsafe { candidates.gather(heap, part.clone()) }, expected);
                    found += expected.len();
                }
            }
        }
        assert!(found > 10_000, "{found}");
    }
}
