//! Held objects: roots as long as the program holds them, as libgc's uncollectable ones. One bit a granule, beside the mark and
//! allocation bits, and the set of pages with such bits, which a collection walks. They exist from the first held object on; a
//! heap without has none. Invariant: an object with a bit exists; a page with a bit is in the set. Pages without one leave the
//! set in a walk, when nobody sets bits.

use crate::granule::{GRANULE, GRANULE_LOG};
use crate::spans::page_set::{PageSet, bits};
use core::cell::{Cell, UnsafeCell};
use core::ops::Range;
use core::sync::atomic::Ordering;
use heapwood_os::threads::watched::{AtomicBool, AtomicU64};
use heapwood_os::{KernelRef, Mapped, MappedArray, OsError};
use heapwood_pages::{PAGE_SIZE, PageCount, PageIndex};

const WORD_BITS: usize = 64;
const WORD_BYTES: usize = GRANULE * WORD_BITS;
/// How many objects a walk names at a time.
const BATCH: usize = 64;

/// The bits of a heap whose reservation starts at `base`. Their addresses are reserved with the first: the process may have few.
pub(crate) struct HeldBits {
    /// Written by holders of the growth token, before the bits are in use.
    tables: UnsafeCell<Option<Tables>>,
    in_use: AtomicBool,
    kernel: KernelRef,
    base: usize,
    reservation: usize,
}

struct Tables {
    words: MappedArray<AtomicU64>,
    pages: PageSet,
}

// SAFETY: the tables are written under the growth token alone, and read by others when `in_use` says that they are there.
unsafe impl Sync for HeldBits {}
// SAFETY: the tables are atomic words of mapped memory.
unsafe impl Send for HeldBits {}

impl HeldBits {
    /// No bits, for a reservation of `reservation` bytes from `base`.
    pub(crate) fn new(kernel: KernelRef, base: usize, reservation: usize) -> Self {
        let (tables, in_use) = (UnsafeCell::new(None), AtomicBool::new(false));
        HeldBits { tables, in_use, kernel, base, reservation }
    }

    /// Whether the bits exist.
    #[inline(always)]
    pub(crate) fn are_in_use(&self) -> bool {
        self.in_use.load(Ordering::Acquire)
    }

    fn tables(&self) -> Option<&Tables> {
        // SAFETY: they are not written any more.
        self.are_in_use().then(|| unsafe { (*self.tables.get()).as_ref() }).flatten()
    }

    /// Makes the bits, for the first `bytes` bytes of the reservation: they exist from now on.
    ///
    /// # Safety
    /// 1. The caller has the growth token of the heap.
    pub(crate) unsafe fn begin_use(&self, bytes: usize) -> Result<(), OsError> {
        // SAFETY: contract 1, and nobody reads them before they are in use.
        let tables = unsafe { &mut *self.tables.get() };
        let tables = match tables {
            Some(tables) => tables,
            none => none.insert(Tables {
                words: MappedArray::new(self.kernel, self.reservation.div_ceil(WORD_BYTES))?,
                pages: PageSet::new(self.kernel, PageCount(self.reservation / PAGE_SIZE))?,
            }),
        };
        tables.commit(0, bytes)?;
        self.in_use.store(true, Ordering::Release);
        Ok(())
    }

    /// Commits the bits for the bytes `from..to` of the reservation, which are whole pages, if they exist.
    pub(crate) fn commit(&self, from: usize, to: usize) -> Result<(), OsError> {
        self.tables().map_or(Ok(()), |tables| tables.commit(from, to))
    }

    /// The word and the bit of an object, if the bits exist.
    fn word(&self, object: usize) -> Option<(&AtomicU64, u64)> {
        let granule = (object - self.base) >> GRANULE_LOG;
        // SAFETY: callers ask about addresses in spans once the bits exist; they are committed then.
        self.tables()
            .map(|tables| (unsafe { &*tables.words.at(granule / WORD_BITS) }, 1 << (granule % WORD_BITS)))
    }

    /// Whether an object is held.
    pub(crate) fn is_held(&self, object: usize) -> bool {
        self.word(object).is_some_and(|(word, bit)| word.load(Ordering::Relaxed) & bit != 0)
    }

    /// Holds an object; whether it was not held. The bits exist, and no walk is under way.
    pub(crate) fn hold(&self, object: usize) -> bool {
        let Some(tables) = self.tables() else { return false };
        let is_new =
            self.word(object).is_some_and(|(word, bit)| word.fetch_or(bit, Ordering::Relaxed) & bit == 0);
        if is_new {
            tables.pages.add(PageIndex((object - self.base) / PAGE_SIZE));
        }
        is_new
    }

    /// Lets an object go; whether it was held. No walk is under way.
    pub(crate) fn release(&self, object: usize) -> bool {
        self.word(object).is_some_and(|(word, bit)| word.fetch_and(!bit, Ordering::Relaxed) & bit != 0)
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
        let Some(tables) = self.tables() else { return };
        let (mut batch, mut len) = ([0; BATCH], 0);
        tables.pages.for_each_word(end, visited, |word, pages| {
            for page in bits(pages).map(|bit| PageIndex(word * WORD_BITS + bit)) {
                let (start, mut any) = (self.base + page.byte_offset(), false);
                visited.set(visited.get() + PAGE_SIZE / WORD_BYTES);
                for at in (start..start + PAGE_SIZE).step_by(WORD_BYTES) {
                    let held = self.word(at).map_or(0, |(word, _)| word.load(Ordering::Relaxed));
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
                    tables.pages.remove(page);
                }
            }
        });
        if len > 0 {
            f(&batch[..len]);
        }
    }
}

impl Tables {
    fn commit(&self, from: usize, to: usize) -> Result<(), OsError> {
        self.pages.commit(from / PAGE_SIZE..to / PAGE_SIZE)?;
        self.words.commit(from / WORD_BYTES..to.div_ceil(WORD_BYTES))
    }
}

impl Mapped for HeldBits {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        if let Some(tables) = self.tables() {
            tables.words.for_each_mapping(f);
            tables.pages.for_each_mapping(f);
        }
    }
}
