//! Candidates: the few of many ambiguous words that lie in the heap's range. Stacks are long and most of their words are
//! small numbers, return addresses and addresses of the stack, so those of a still stack are tested eight at a time where
//! the processor can (AVX2); each of the others costs a load and a subtraction without a branch. Invariant: a candidate
//! lies in the range, even if its place was written between the test and the load.

use core::mem::MaybeUninit;
use core::ops::Range;
use heapwood_heap::MarkSide;
use heapwood_heap::cpu::Cpu;
use heapwood_layout::WORD;

/// How ambiguous words are read and tested.
#[derive(Clone, Copy)]
pub(super) struct Source {
    base: usize,
    bytes: usize,
    marks: MarkSide,
    /// Nobody writes the words, and the processor has the instructions.
    by_vectors: bool,
}

impl Source {
    /// Words that others may write: they are read one by one. `range` is that of the heap.
    #[inline(always)]
    pub(super) fn words(range: Range<usize>, marks: MarkSide) -> Self {
        Source { base: range.start, bytes: range.len(), marks, by_vectors: false }
    }

    /// Words that stay as they are.
    ///
    /// # Safety
    /// 1. No thread writes them meanwhile.
    #[inline(always)]
    pub(super) unsafe fn still(range: Range<usize>, marks: MarkSide, cpu: Cpu) -> Self {
        Source { by_vectors: cpu.has_vectors(), ..Self::words(range, marks) }
    }

    #[inline(always)]
    fn contains(&self, word: usize) -> bool {
        word.wrapping_sub(self.base) < self.bytes
    }
}

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
    pub(super) unsafe fn gather(&mut self, source: Source, part: Range<usize>) -> &[usize] {
        self.count = 0;
        // SAFETY: contract 1; the source has vectors only if the processor has.
        unsafe {
            #[cfg(target_arch = "x86_64")]
            let part = match source.by_vectors {
                true => self.gather_by_vectors(source, part),
                false => part,
            };
            self.gather_words(source, part);
        }
        // SAFETY: this many were written.
        unsafe { core::slice::from_raw_parts(self.words.as_ptr().cast(), self.count) }
    }

    /// # Safety
    /// 1. As for [`Candidates::gather`], with room for the words of the part.
    #[inline(always)]
    unsafe fn gather_words(&mut self, source: Source, part: Range<usize>) {
        for at in part.step_by(WORD) {
            // SAFETY: the memory is readable (contract 1). It may hold anything, and another thread may write it; a
            // volatile read of a word tolerates that.
            let word = unsafe { (at as *const usize).read_volatile() };
            if source.contains(word) {
                // SAFETY: there are no more candidates than words (contract 1).
                unsafe { self.add(source, word) };
            }
        }
    }

    /// # Safety
    /// 1. There is room for it.
    #[inline(always)]
    unsafe fn add(&mut self, source: Source, word: usize) {
        source.marks.prefetch(word);
        // SAFETY: contract 1.
        unsafe { self.words.get_unchecked_mut(self.count) }.write(word);
        self.count += 1;
    }

    /// Gathers from as many whole groups of eight as the part has; returns the rest.
    ///
    /// # Safety
    /// 1. As for [`Candidates::gather`]; the processor has AVX2 and BMI1.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1")]
    unsafe fn gather_by_vectors(&mut self, source: Source, mut part: Range<usize>) -> Range<usize> {
        use core::arch::x86_64::*;
        /// Words of a vector.
        const LANES: usize = 4;
        // Vectors compare signed numbers only: so both sides have their top bit flipped, by the subtrahend.
        let flip = 1usize << (usize::BITS - 1);
        let base = _mm256_set1_epi64x((source.base ^ flip) as i64);
        let bytes = _mm256_set1_epi64x((source.bytes ^ flip) as i64);
        let tested = |at: usize| {
            let words: __m256i;
            // SAFETY: the memory is readable (contract 1 of `gather`). It is no variable of this program that the compiler
            // knows of, and may never have been written: so the load is an instruction that it does not look into.
            // Nobody writes the words meanwhile (contract 1 of `still`), so it does not matter in which parts the
            // processor reads them.
            unsafe {
                core::arch::asm!("vmovdqu {}, [{}]", lateout(ymm_reg) words, in(reg) at,
                    options(nostack, readonly, preserves_flags));
            }
            let inside = _mm256_cmpgt_epi64(bytes, _mm256_sub_epi64(words, base));
            _mm256_movemask_pd(_mm256_castsi256_pd(inside)) as u32
        };
        while part.len() >= 2 * LANES * WORD {
            let mut inside = tested(part.start) | tested(part.start + LANES * WORD) << LANES;
            while inside != 0 {
                let at = part.start + inside.trailing_zeros() as usize * WORD;
                inside &= inside - 1;
                // SAFETY: one of the words of the part, as above.
                let word = unsafe { (at as *const usize).read_volatile() };
                if source.contains(word) {
                    // SAFETY: there are no more candidates than words (contract 1).
                    unsafe { self.add(source, word) };
                }
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
                let words: Vec<usize> = (0..length)
                    .map(|_| {
                        random ^= random << 13;
                        random ^= random >> 7;
                        random ^= random << 17;
                        let i = random as usize % 32;
                        *edges.get(i).or(flipped.get(i - i.min(8))).unwrap_or(&(random as usize))
                    })
                    .collect();
                let expected: Vec<usize> =
                    words.iter().copied().filter(|word| range.contains(word)).collect();
                let part = words.as_ptr() as usize..words.as_ptr() as usize + length * WORD;
                for by_vectors in [false, space.cpu().has_vectors()] {
                    let source = Source { by_vectors, ..Source::words(range.clone(), marks) };
                    let mut candidates = Candidates::new();
                    // SAFETY: the words are a vector's, and few.
                    assert_eq!(unsafe { candidates.gather(source, part.clone()) }, expected);
                    found += expected.len();
                }
            }
        }
        assert!(found > 10_000, "{found}");
    }
}
