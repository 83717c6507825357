//! Filled memory, in verify mode: cells and large objects that died are filled with [`CLOBBER`], and one bit a granule says where.
//! Memory with its bit that holds anything else was written after its object died, through a pointer that was kept too long. It is
//! looked at when it is handed out again, when it is filled or released again, and by each collection. What is found waits in a few
//! places for the collector, which knows what was there.
//!
//! Invariant: a granule with its bit is no object's, and nothing but a mistake of the program writes there. The bit is set after the
//! memory was filled, and cleared before the memory is used or released.

use crate::config::CLOBBER;
use crate::granule::{GRANULE, GRANULE_LOG};
use core::ops::Range;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use heapwood_layout::WORD;
use heapwood_os::{KernelRef, Mapped, MappedArray, OsError};

const WORD_BITS: usize = 64;
const WORD_BYTES_LOG: u32 = GRANULE_LOG + 6;
/// A word of filled memory.
const FILL: usize = usize::from_ne_bytes([CLOBBER; WORD]);
/// What waits at most for the collector: a program that writes everywhere is told enough by a few reports.
const WAITING: usize = 16;
/// The address of a place that a thread is writing, or reading.
const TAKEN: usize = 1;

/// A word of dead memory that was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrittenWord {
    /// Its address.
    pub at: usize,
    /// What it held.
    pub value: usize,
}

/// A word that waits for the collector; address 0: none.
struct Waiting {
    at: AtomicUsize,
    value: AtomicUsize,
}

/// The bits of a heap whose reservation starts at `base`.
pub(crate) struct FilledBits {
    words: MappedArray<AtomicU64>,
    base: usize,
    waiting: [Waiting; WAITING],
}

impl FilledBits {
    /// No bits, for a reservation of `reservation` bytes from `base`.
    pub(crate) fn new(kernel: KernelRef, base: usize, reservation: usize) -> Result<Self, OsError> {
        let words = MappedArray::new(kernel, reservation.div_ceil(GRANULE * WORD_BITS))?;
        let waiting = [const { Waiting { at: AtomicUsize::new(0), value: AtomicUsize::new(0) } }; WAITING];
        Ok(FilledBits { words, base, waiting })
    }

    /// Commits the bits for the bytes `from..to` of the reservation.
    pub(crate) fn commit(&self, from: usize, to: usize) -> Result<(), OsError> {
        self.words.commit(from >> WORD_BYTES_LOG..to.div_ceil(GRANULE * WORD_BITS))
    }

    /// Fills the memory of a dead object.
    ///
    /// # Safety
    /// 1. The memory is committed, no object's, and the calling thread's.
    pub(crate) unsafe fn fill(&self, start: usize, bytes: usize) {
        self.take(start..start + bytes);
        // SAFETY: contract 1.
        unsafe { (start as *mut u8).write_bytes(CLOBBER, bytes) };
        // A large object's last granule may be another's in part.
        self.for_each_word(start..start + (bytes & !(GRANULE - 1)), |word, bits, _| {
            word.fetch_or(bits, Ordering::Release);
        });
    }

    /// Clears the bits of memory that is about to be used or released, and notes what was written there.
    pub(crate) fn take(&self, memory: Range<usize>) {
        self.for_each_word(memory, |word, bits, start| {
            if word.load(Ordering::Acquire) & bits != 0 {
                self.look(word, bits, start, |written| self.note(written));
                word.fetch_and(!bits, Ordering::AcqRel);
            }
        });
    }

    /// Calls `f` with each word up to `end`, in bytes from the base, that was written since it was filled, once. Other threads may
    /// release memory meanwhile.
    pub(crate) fn for_each_written(&self, end: usize, mut f: impl FnMut(WrittenWord)) {
        self.for_each_word(self.base..self.base + end, |word, bits, start| {
            self.look(word, bits, start, &mut f)
        });
    }

    /// Looks at a cell that the program has freed, filled with zeros or not: calls `f` with the first word that was written since, and
    /// fills it again. The first two words may be links.
    pub(crate) fn look_at_freed(&self, cell: Range<usize>, zeros: bool, mut f: impl FnMut(WrittenWord)) {
        let fill = if zeros { 0 } else { FILL };
        for at in cell.step_by(WORD).skip(2) {
            // SAFETY: the cell lies in a span, and is nobody's.
            let value = unsafe { (at as *const usize).read_volatile() };
            if value != fill {
                // SAFETY: as above.
                unsafe { (at as *mut usize).write_volatile(fill) };
                return f(WrittenWord { at, value });
            }
        }
    }

    /// Calls `f` with what waits, and forgets it.
    pub(crate) fn for_each_waiting(&self, mut f: impl FnMut(WrittenWord)) {
        for place in &self.waiting {
            let at = place.at.load(Ordering::Relaxed);
            let taken =
                |at| place.at.compare_exchange(at, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_ok();
            if at > TAKEN && taken(at) {
                let value = place.value.load(Ordering::Relaxed);
                place.at.store(0, Ordering::Release);
                f(WrittenWord { at, value });
            }
        }
    }

    /// Looks at the granules with these bits of a word. Those that were written lose their bits.
    fn look(&self, word: &AtomicU64, bits: u64, start: usize, mut f: impl FnMut(WrittenWord)) {
        let mut set = word.load(Ordering::Acquire) & bits;
        while set != 0 {
            let bit = set & set.wrapping_neg();
            set &= !bit;
            let granule = start + bit.trailing_zeros() as usize * GRANULE;
            // Who releases the memory clears the bit before.
            if let Some(written) = written_in(granule)
                && word.fetch_and(!bit, Ordering::AcqRel) & bit != 0
            {
                f(written);
            }
        }
    }

    /// Keeps a word for the collector.
    pub(crate) fn note(&self, written: WrittenWord) {
        for place in &self.waiting {
            if place.at.compare_exchange(0, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                place.value.store(written.value, Ordering::Relaxed);
                place.at.store(written.at, Ordering::Release);
                return;
            }
        }
    }

    /// Calls `f` with each word of bits that covers a range, the bits of its granules, and the address of the word's first granule.
    fn for_each_word(&self, memory: Range<usize>, mut f: impl FnMut(&AtomicU64, u64, usize)) {
        let (mut granule, end) =
            ((memory.start - self.base) >> GRANULE_LOG, (memory.end - self.base).div_ceil(GRANULE));
        while granule < end {
            let (index, from) = (granule / WORD_BITS, granule % WORD_BITS);
            let to = (end - index * WORD_BITS).min(WORD_BITS);
            let bits = (u64::MAX << from) & (u64::MAX >> (WORD_BITS - to));
            // SAFETY: callers ask about memory of the heap, whose bits are committed.
            f(unsafe { &*self.words.at(index) }, bits, self.base + (index << WORD_BYTES_LOG));
            granule = (index + 1) * WORD_BITS;
        }
    }
}

/// The first word of a filled granule that was written. Every collection asks of all filled memory: so there is no loop over the two.
#[inline]
fn written_in(granule: usize) -> Option<WrittenWord> {
    const _: () = assert!(GRANULE == 2 * WORD);
    let words = granule as *const [usize; 2];
    // SAFETY: memory with a bit is committed; a program that makes mistakes may write there.
    let [first, second] = unsafe { words.read_volatile() };
    match (first == FILL, second == FILL) {
        (true, true) => None,
        (false, _) => Some(WrittenWord { at: granule, value: first }),
        (true, false) => Some(WrittenWord { at: granule + WORD, value: second }),
    }
}

impl Mapped for FilledBits {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        self.words.for_each_mapping(f);
    }
}
