//! Held objects: roots as long as the program holds them, as libgc's uncollectable ones. One bit a granule, beside the mark and
//! allocation bits, and the set of pages with such bits, which a collection walks. They exist from the first held object on; a
//! heap without has none. Invariant: an object with a bit exists; a page with a bit is in the set. Pages without one leave the
//! set in a walk, when nobody sets bits.

use crate::granule::{GRANULE, GRANULE_LOG};
use crate::spans::page_set::{PageSet, bits};
use core::cell::Cell;
use core::ops::Range;
use core::sync::atomic::Ordering;
use heapwood_os::threads::watched::{AtomicBool, AtomicU64};
use heapwood_os::{KernelRef, Mapped, MappedArray, OsError};
use heapwood_pages::{PAGE_SIZE, PageCount, PageIndex};

const WORD_BITS: usize = 64;
const WORD_BYTES: usize = GRANULE * WORD_BITS;
/// How many objects a walk names at a time.
const BATCH: usize = 64;

/// The bits of a heap whose reservation starts at `base`.
pub(crate) struct HeldBits {
    words: MappedArray<AtomicU64>,
    pages: PageSet,
    base: usize,
    in_use: AtomicBool,
}

impl HeldBits {
    /// No bits, for a reservation of `reservation` bytes from `base`.
    pub(crate) fn new(kernel: KernelRef, base: usize, reservation: usize) -> Result<Self, OsError> {
        Ok(HeldBits {
            words: MappedArray::new(kernel, reservation.div_ceil(WORD_BYTES))?,
            pages: PageSet::new(kernel, PageCount(reservation / PAGE_SIZE))?,
            base,
            in_use: AtomicBool::new(false),
        })
    }

    /// Whether the bits exist.
    #[inline(always)]
    pub(crate) fn are_in_use(&self) -> bool {
        self.in_use.load(Ordering::Acquire)
    }

    /// Commits the bits for the bytes `from..to` of the reservation, which are whole pages.
    pub(crate) fn commit(&self, from: usize, to: usize) -> Result<(), OsError> {
        self.pages.commit(from / PAGE_SIZE..to / PAGE_SIZE)?;
        self.words.commit(from / WORD_BYTES..to.div_ceil(WORD_BYTES))
    }

    /// Notes that the bits of the whole heap are committed: they exist from now on.
    pub(crate) fn begin_use(&self) {
        self.in_use.store(true, Ordering::Release);
    }

    fn word(&self, object: usize) -> (&AtomicU64, u64) {
        let granule = (object - self.base) >> GRANULE_LOG;
        // SAFETY: callers ask about addresses in spans once the bits exist; they are committed then.
        (unsafe { &*self.words.at(granule / WORD_BITS) }, 1 << (granule % WORD_BITS))
    }

    /// Whether an object is held.
    pub(crate) fn is_held(&self, object: usize) -> bool {
        self.are_in_use() && {
            let (word, bit) = self.word(object);
            word.load(Ordering::Relaxed) & bit != 0
        }
    }

    /// Holds an object; whether it was not held. The bits exist, and no walk is under way.
    pub(crate) fn hold(&self, object: usize) -> bool {
        let (word, bit) = self.word(object);
        let is_new = word.fetch_or(bit, Ordering::Relaxed) & bit == 0;
        if is_new {
            self.pages.add(PageIndex((object - self.base) / PAGE_SIZE));
        }
        is_new
    }

    /// Lets an object go; whether it was held. No walk is under way.
    pub(crate) fn release(&self, object: usize) -> bool {
        self.are_in_use() && {
            let (word, bit) = self.word(object);
            word.fetch_and(!bit, Ordering::Relaxed) & bit != 0
        }
    }

    /// Calls `f` with the addresses of all held objects, some at a time, but for those whose bit is set in `skipped`, which
    /// returns a word of bits by the address that it begins at. The heap is stopped; pages below `end` are looked at. Adds the
    /// words that it looks at to `visited`.
    pub(crate) fn for_each(
        &self,
        end: PageIndex,
        visited: &Cell<usize>,
        skipped: impl Fn(usize) -> u64,
        mut f: impl FnMut(&[usize]),
    ) {
        if !self.are_in_use() {
            return;
        }
        let (mut batch, mut len) = ([0; BATCH], 0);
        self.pages.for_each_word(end, visited, |word, pages| {
            for page in bits(pages).map(|bit| PageIndex(word * WORD_BITS + bit)) {
                let (start, mut any) = (self.base + page.byte_offset(), false);
                visited.set(visited.get() + PAGE_SIZE / WORD_BYTES);
                for at in (start..start + PAGE_SIZE).step_by(WORD_BYTES) {
                    let held = self.word(at).0.load(Ordering::Relaxed);
                    any |= held != 0;
                    let named = if held != 0 { held & !skipped(at) } else { 0 };
                    for object in bits(named).map(|bit| at + bit * GRANULE) {
                        batch[len] = object;
                        len += 1;
                        if len == BATCH {
                            f(&batch);
                            len = 0;
                        }
                    }
                }
                if !any {
                    self.pages.remove(page);
                }
            }
        });
        if len > 0 {
            f(&batch[..len]);
        }
    }
}

impl Mapped for HeldBits {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        self.words.for_each_mapping(f);
        self.pages.for_each_mapping(f);
    }
}
