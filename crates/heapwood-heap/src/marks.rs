//! Mark and allocation bits: two bitmaps beside the heap, one bit a granule, found by shifting an address.
//!
//! One side holds the allocation bits: the marks of the last cycle, for cells that outlived it. The other side takes
//! the marks of the next full collection. The sides swap when that ends, so nothing is copied. A young collection marks
//! on the allocation side itself: an object with a bit is old, and is not followed (sticky marks: Demers and others,
//! "Combining generational and conservative garbage collection", 1990). A page's bits are exactly one cache line on
//! each side. Invariant: outside marking, the mark side is clear for every free page, and for every span swept since
//! the sides swapped; so marking starts without a walk over the heap.

use crate::cpu::Cpu;
use crate::granule::{GRANULE, GRANULE_LOG};
use core::ops::Range;
use core::sync::atomic::{self, AtomicBool, AtomicU32, AtomicUsize, Ordering};
use heapwood_os::threads::watched::AtomicU64;
#[cfg(loom)]
use heapwood_os::threads::watched::Watch;
use heapwood_os::{KernelRef, LEAST_KERNEL_PAGE, Mapped, MappedArray, OsError};
use heapwood_pages::PAGE_SIZE;

const WORD_BITS: usize = 64;
const WORD_BYTES_LOG: u32 = GRANULE_LOG + 6;
/// Words of a page's bits on each side.
pub(crate) const PAGE_WORDS: usize = PAGE_SIZE / GRANULE / WORD_BITS;

/// The kind of a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collection {
    /// A full collection.
    Full,
    /// A young collection: it visits objects made since the last collection, and keeps older ones.
    Young,
}

/// The order of a load of an allocation bit by a thread that asks for the freed bit next.
#[inline(always)]
pub(crate) fn observing() -> Ordering {
    #[cfg(loom)]
    if crate::publication::mutant::is(crate::publication::mutant::BIT_UNORDERED) {
        return Ordering::Relaxed;
    }
    Ordering::Acquire
}

fn next(cycle: u32) -> u32 {
    cycle.wrapping_add(1).max(1)
}

/// The two bitmaps of a heap whose reservation starts at `base`.
pub(crate) struct Marks {
    sides: [MappedArray<u64>; 2],
    base: usize,
    /// The side with the allocation bits.
    allocated: AtomicUsize,
    /// The sweep cycle: the number of collections that have ended, from 1 on and never 0.
    cycle: AtomicU32,
    /// The same of full collections, after which the sides swap.
    full_cycle: AtomicU32,
    /// Whether the last collection was a young one.
    young: AtomicBool,
    /// Whether a full marking is under way, concurrent with mutators.
    marking: AtomicBool,
    cpu: Cpu,
}

impl Marks {
    /// The bytes of heap covered by a word of bits.
    pub(crate) const WORD_BYTES: usize = 1 << WORD_BYTES_LOG;
    /// Those whose bits are in one page of the kernel's, if these are as small as can be.
    pub(crate) const BLOCK_BYTES: usize = LEAST_KERNEL_PAGE / size_of::<u64>() * Self::WORD_BYTES;

    /// Reserves bits for `reservation` bytes from `base`.
    pub(crate) fn new(kernel: KernelRef, base: usize, reservation: usize) -> Result<Self, OsError> {
        let words = reservation.div_ceil(GRANULE * WORD_BITS);
        let sides = [MappedArray::new(kernel, words)?, MappedArray::new(kernel, words)?];
        Ok(Marks {
            sides,
            base,
            allocated: AtomicUsize::new(0),
            cycle: AtomicU32::new(1),
            full_cycle: AtomicU32::new(1),
            young: AtomicBool::new(false),
            marking: AtomicBool::new(false),
            cpu: Cpu::detect(),
        })
    }

    /// Commits the bits for the bytes `from..to` of the reservation, by huge pages or not.
    pub(crate) fn commit(&self, from: usize, to: usize, huge: bool) -> Result<(), OsError> {
        let words = from >> WORD_BYTES_LOG..to.div_ceil(GRANULE * WORD_BITS);
        self.sides.iter().try_for_each(|side| match huge {
            true => side.commit_huge(words.clone()),
            false => side.commit(words.clone()),
        })
    }

    /// Writes to the bits of the byte `offset` of the heap on both sides, for a mutator that makes a span there. So no stop waits while
    /// the kernel finds memory for them: of a huge page this takes 5 ms on some machines (`first_touch.rs`), and a stop that found
    /// two such was the longest of all. A large object needs few of its bits.
    pub(crate) fn touch(&self, offset: usize) {
        for side in &self.sides {
            let first: *const AtomicU64 = side.as_ptr().cast();
            // SAFETY: the bits of pages that a mutator has are committed, and other threads use them by atomic operations while it
            // runs. A compiler that sees the zero makes a load of it, and a load gets the kernel's page of zeros.
            unsafe { &*first.add(offset >> WORD_BYTES_LOG) }
                .fetch_or(core::hint::black_box(0), Ordering::Relaxed);
        }
    }

    /// Releases the memory of the bits for `bytes` bytes of free pages from `from` of the reservation.
    ///
    /// # Safety
    /// 1. The pages are free, and no thread takes them meanwhile.
    pub(crate) unsafe fn release(&self, from: usize, bytes: usize) {
        let words = from >> WORD_BYTES_LOG..(from + bytes) >> WORD_BYTES_LOG;
        for side in &self.sides {
            // SAFETY: the bits of free pages are zeros (contract 1). The kernel may decline.
            let _ = unsafe { side.decommit(words.clone()) };
        }
    }

    /// Ends a marking and begins a cycle. After a full marking the sides swap: its marks become the allocation bits.
    pub(crate) fn begin_cycle(&self, after: Collection) {
        if after == Collection::Full {
            self.allocated.fetch_xor(1, Ordering::Relaxed);
            self.full_cycle.store(next(self.full_cycle()), Ordering::Relaxed);
            self.marking.store(false, Ordering::Relaxed);
        }
        self.young.store(after == Collection::Young, Ordering::Relaxed);
        self.cycle.store(next(self.cycle()), Ordering::Relaxed);
    }

    /// Begins a full marking concurrent with mutators: until it ends, marks are a subset of the allocation bits.
    pub(crate) fn begin_marking(&self) {
        self.marking.store(true, Ordering::Relaxed);
    }

    /// Whether a concurrent full marking is under way.
    pub(crate) fn is_concurrent_marking(&self) -> bool {
        self.marking.load(Ordering::Relaxed)
    }

    /// The current cycle.
    #[inline(always)]
    pub(crate) fn cycle(&self) -> u32 {
        self.cycle.load(Ordering::Relaxed)
    }

    /// The current full cycle, which may span many cycles.
    #[inline(always)]
    pub(crate) fn full_cycle(&self) -> u32 {
        self.full_cycle.load(Ordering::Relaxed)
    }

    /// Whether the last collection was a young one. Unswept spans have then been swept since the sides swapped.
    #[inline]
    pub(crate) fn is_after_young(&self) -> bool {
        self.young.load(Ordering::Relaxed)
    }

    #[inline(always)]
    fn allocated(&self) -> usize {
        self.allocated.load(Ordering::Relaxed)
    }

    /// The words of the allocation bits, for reading only: threads may set bits in them meanwhile (`set_allocated`).
    #[inline(always)]
    pub(crate) fn allocation_words(&self) -> *const AtomicU64 {
        self.sides[self.allocated()].as_ptr().cast()
    }

    #[inline(always)]
    fn word(&self, side: usize, addr: usize) -> (*mut u64, u64) {
        let offset = addr - self.base;
        let bit = 1u64 << ((offset >> GRANULE_LOG) % WORD_BITS);
        (self.sides[side].at(offset >> WORD_BYTES_LOG), bit)
    }

    /// The side that a collection marks on, for a marking loop to keep in registers.
    pub(crate) fn mark_side(&self, kind: Collection) -> MarkSide {
        let side = if kind == Collection::Full { self.allocated() ^ 1 } else { self.allocated() };
        MarkSide { words: self.sides[side].as_ptr(), base: self.base }
    }

    /// Whether the object at `addr` is marked in the current cycle.
    #[inline(always)]
    pub(crate) fn is_marked(&self, addr: usize) -> bool {
        let (word, bit) = self.word(self.allocated() ^ 1, addr);
        // SAFETY: callers ask about addresses in spans, whose bits are committed.
        unsafe { AtomicU64::from_ptr(word) }.load(Ordering::Relaxed) & bit != 0
    }

    /// Whether the cell at `addr` outlived the last cycle.
    #[inline(always)]
    pub(crate) fn is_allocated(&self, addr: usize) -> bool {
        self.load_allocated(addr, Ordering::Relaxed)
    }

    /// The same; after it the thread sees what was written before the bit was set, the freed bit of a cell among it.
    #[inline(always)]
    pub(crate) fn observes_allocated(&self, addr: usize) -> bool {
        self.load_allocated(addr, observing())
    }

    #[inline(always)]
    fn load_allocated(&self, addr: usize, order: Ordering) -> bool {
        let offset = addr - self.base;
        // SAFETY: callers ask about addresses in spans, whose bits are committed.
        let word = unsafe { &*self.allocation_words().add(offset >> WORD_BYTES_LOG) }.load(order);
        word >> ((offset >> GRANULE_LOG) % WORD_BITS) & 1 == 1
    }

    /// Has a model watch the word of a cell's mark.
    #[cfg(loom)]
    pub(crate) fn watch_mark(&self, watch: &Watch, addr: usize) {
        // SAFETY: models ask about addresses in spans, whose bits are committed.
        watch.add(unsafe { AtomicU64::from_ptr(self.word(self.allocated() ^ 1, addr).0) });
    }

    /// The same for its allocation bit.
    #[cfg(all(test, loom))]
    pub(crate) fn watch_allocated(&self, watch: &Watch, addr: usize) {
        // SAFETY: as above.
        watch.add(unsafe { AtomicU64::from_ptr(self.word(self.allocated(), addr).0) });
    }

    /// The allocation bits of the granules from `addr` on, which begins a word.
    pub(crate) fn allocated_word(&self, addr: usize) -> u64 {
        // SAFETY: callers ask about addresses in spans, whose bits are committed.
        unsafe { &*self.allocation_words().add((addr - self.base) >> WORD_BYTES_LOG) }.load(Ordering::Relaxed)
    }

    /// The same of the marks.
    pub(crate) fn marked_word(&self, addr: usize) -> u64 {
        let (word, _) = self.word(self.allocated() ^ 1, addr);
        // SAFETY: as above.
        unsafe { AtomicU64::from_ptr(word) }.load(Ordering::Relaxed)
    }

    /// Marks the cells of some of those granules.
    ///
    /// # Safety
    /// 1. As for [`Marks::set_marked`], for each cell.
    pub(crate) unsafe fn set_marked_word(&self, addr: usize, bits: u64) {
        let (word, _) = self.word(self.allocated() ^ 1, addr);
        // SAFETY: as there.
        unsafe { AtomicU64::from_ptr(word) }.fetch_or(bits, Ordering::Relaxed);
    }

    /// The bits of those granules, in the word whose bits begin at `addr`, that lie in `range`.
    pub(crate) fn bits_in(addr: usize, range: Range<usize>) -> u64 {
        let granule = |at: usize| at.saturating_sub(addr).min(Self::WORD_BYTES) >> GRANULE_LOG;
        let below = |granule: usize| if granule == WORD_BITS { u64::MAX } else { !(u64::MAX << granule) };
        below(granule(range.end)) & !below(granule(range.start))
    }

    /// Sets the allocation bit of the cell at `addr`; whether it was clear. Other threads may set other bits of its
    /// word at the same time. Who [observes](Self::observes_allocated) the bit sees what was written before, a freed bit
    /// among it.
    ///
    /// # Safety
    /// 1. It is a cell of a span that only the calling thread may use. A marking beside the program would take it for an
    ///    object of its snapshot: then the freed bit was set before, or the cell is noted for it.
    pub(crate) unsafe fn set_allocated(&self, addr: usize) -> bool {
        let (word, bit) = self.word(self.allocated(), addr);
        // SAFETY: the bits of spans are committed, and only this sets bits of one word from several threads (contract
        // 1).
        unsafe { AtomicU64::from_ptr(word) }.fetch_or(bit, Ordering::Release) & bit == 0
    }

    /// The same for bits of cells from the granule at `addr` on, which begins a word.
    ///
    /// # Safety
    /// 1. As for [`Marks::set_allocated`], for each cell.
    pub(crate) unsafe fn set_allocated_word(&self, addr: usize, bits: u64) {
        let (word, _) = self.word(self.allocated(), addr);
        // SAFETY: as above.
        unsafe { AtomicU64::from_ptr(word) }.fetch_or(bits, Ordering::Release);
    }

    /// Sets the allocation bits of the cells from `from` up to `end`, which begin at the granules `starts` of each
    /// page, by whole words where no other thread uses them: objects made in a cycle, promoted without a visit to each.
    /// If `marked`, those without the bit before get marks, too. Returns the number of these.
    ///
    /// # Safety
    /// 1. They are cells of one span, and the heap is stopped.
    pub(crate) unsafe fn set_all_allocated(
        &self,
        from: usize,
        end: usize,
        starts: &[u64; PAGE_WORDS],
        marked: bool,
    ) -> usize {
        let (allocated, mut set) = (self.allocated(), 0);
        let (first, last) = ((from - self.base) >> GRANULE_LOG, (end - self.base) >> GRANULE_LOG);
        for index in first / WORD_BITS..last.div_ceil(WORD_BITS) {
            let below = if index == last / WORD_BITS { !(u64::MAX << (last % WORD_BITS)) } else { u64::MAX };
            let above = if index == first / WORD_BITS { u64::MAX << (first % WORD_BITS) } else { u64::MAX };
            let cells = starts[index % PAGE_WORDS] & below & above;
            // SAFETY: the granules are those of one span, whose bits are committed; no other thread uses them (contract
            // 1).
            unsafe {
                let word = self.sides[allocated].at(index);
                let new = cells & !*word;
                if marked {
                    *self.sides[allocated ^ 1].at(index) |= new;
                }
                *word |= new;
                set += new.count_ones() as usize;
            }
        }
        set
    }

    /// Marks the cell at `addr`, perhaps at the same time as other threads; whether it was unmarked.
    ///
    /// # Safety
    /// 1. It is a cell of a span with its allocation bit set, and a full marking is under way.
    pub(crate) unsafe fn set_marked(&self, addr: usize) -> bool {
        let (word, bit) = self.word(self.allocated() ^ 1, addr);
        // SAFETY: the bits of spans are committed; while mutators run, all use them by atomic operations (contract 1).
        let word = unsafe { AtomicU64::from_ptr(word) };
        word.load(Ordering::Relaxed) & bit == 0 && word.fetch_or(bit, Ordering::Relaxed) & bit == 0
    }

    /// Clears the mark of the cell at `addr`.
    ///
    /// # Safety
    /// 1. As for [`Marks::set_marked`].
    pub(crate) unsafe fn unmark(&self, addr: usize) {
        let (word, bit) = self.word(self.allocated() ^ 1, addr);
        // SAFETY: as there.
        unsafe { AtomicU64::from_ptr(word) }.fetch_and(!bit, Ordering::Relaxed);
    }

    /// Sets the allocation bit of the cell at `addr`, and its mark if `marked` and the bit was clear. Whether the bit
    /// was clear.
    ///
    /// # Safety
    /// 1. It is a cell of a span, and the heap is stopped.
    pub(crate) unsafe fn promote(&self, addr: usize, marked: bool) -> bool {
        // SAFETY: contract 1.
        unsafe {
            if marked && !self.is_allocated(addr) {
                self.set_marked(addr);
            }
            self.set_allocated(addr)
        }
    }

    /// Whether all marks in the pages `start..end` have their allocation bits.
    pub(crate) fn marks_are_allocated(&self, start: usize, end: usize) -> bool {
        let (first, last) = ((start - self.base) >> WORD_BYTES_LOG, (end - self.base) >> WORD_BYTES_LOG);
        let (words, marks) = (self.allocation_words(), self.sides[self.allocated() ^ 1].as_ptr());
        // SAFETY: the range is pages below the committed end, whose bits are committed.
        (first..last).all(|i| unsafe { *marks.add(i) & !(*words.add(i)).load(Ordering::Relaxed) } == 0)
    }

    /// Clears the allocation bit of the cell at `addr`.
    ///
    /// # Safety
    /// 1. It is a large object that the calling thread may free.
    pub(crate) unsafe fn clear_allocated(&self, addr: usize) {
        let (word, bit) = self.word(self.allocated(), addr);
        // SAFETY: the bits of spans are committed.
        unsafe { AtomicU64::from_ptr(word) }.fetch_and(!bit, Ordering::Relaxed);
    }

    /// The first run of free cells in `from..end`: from the first cell start without an allocation bit up to the next
    /// allocation bit; empty if there is none. The cells of each page begin at the granules `starts`.
    #[inline]
    pub(crate) fn next_run(&self, from: usize, end: usize, starts: &[u64; PAGE_WORDS]) -> Range<usize> {
        if from >= end {
            return end..end;
        }
        let (first, last) = ((from - self.base) >> GRANULE_LOG, (end - self.base) >> GRANULE_LOG);
        let (mut index, words) = (first / WORD_BITS, self.allocation_words());
        // SAFETY: first..last are granules of one span, whose bits are committed; index stays below last.
        let read = |index: usize| unsafe { &*words.add(index) }.load(Ordering::Relaxed);
        let mut word = read(index);
        let mut found = !word & starts[index % PAGE_WORDS] & (u64::MAX << (first % WORD_BITS));
        while found == 0 {
            index += 1;
            if index * WORD_BITS >= last {
                return end..end;
            }
            word = read(index);
            found = !word & starts[index % PAGE_WORDS];
        }
        let bit = found.trailing_zeros();
        let start = self.base + ((index * WORD_BITS + bit as usize) << GRANULE_LOG);
        found = word & (u64::MAX << bit);
        while found == 0 {
            index += 1;
            if index * WORD_BITS >= last {
                return start.min(end)..end;
            }
            found = read(index);
        }
        let limit = index * WORD_BITS + found.trailing_zeros() as usize;
        start.min(end)..(self.base + (limit << GRANULE_LOG)).min(end)
    }

    /// The same among cells of `size` bytes that begin at `from`, tested one by one.
    #[inline]
    pub(crate) fn next_run_of_large(&self, from: usize, end: usize, size: usize) -> Range<usize> {
        let mut start = from;
        while start < end && self.is_allocated(start) {
            start += size;
        }
        let mut limit = start;
        while limit < end && !self.is_allocated(limit) {
            limit += size;
        }
        start..limit
    }

    /// The processor that loops over the bits are compiled for.
    #[inline(always)]
    pub(crate) fn cpu(&self) -> Cpu {
        self.cpu
    }

    /// The number of allocation bits in the pages `start..end`.
    #[inline]
    pub(crate) fn count_allocated(&self, start: usize, end: usize) -> usize {
        let marks = self;
        crate::by_cpu!(self.cpu, Marks::count, (marks: &Marks, start: usize, end: usize) -> usize)
    }

    #[inline(always)]
    fn count(&self, start: usize, end: usize) -> usize {
        let first = (start - self.base) >> WORD_BYTES_LOG;
        let last = (end - self.base) >> WORD_BYTES_LOG;
        let words = self.allocation_words();
        // SAFETY: the range is pages of one span, whose bits are committed.
        let read = |index: usize| unsafe { &*words.add(index) }.load(Ordering::Relaxed);
        (first..last).map(|index| read(index).count_ones() as usize).sum()
    }

    /// The number of allocation bits from `from` on, below `end`.
    pub(crate) fn count_allocated_cells(&self, from: usize, end: usize) -> usize {
        let first = (from - self.base) >> GRANULE_LOG;
        let last = (end - self.base) >> GRANULE_LOG;
        let words = self.allocation_words();
        let word = |index: usize| {
            // SAFETY: the granules are those of one span, whose bits are committed.
            let word = unsafe { &*words.add(index) }.load(Ordering::Relaxed);
            let below = if index == last / WORD_BITS { !(u64::MAX << (last % WORD_BITS)) } else { u64::MAX };
            let above = if index == first / WORD_BITS { u64::MAX << (first % WORD_BITS) } else { u64::MAX };
            // Most words are 0 if few objects outlive a cycle, and counting takes a dozen instructions on the oldest
            // processors.
            if word == 0 { 0 } else { (word & below & above).count_ones() as usize }
        };
        (first / WORD_BITS..last.div_ceil(WORD_BITS)).map(word).sum()
    }

    /// The same for cells of `size` bytes, each with a word of its own.
    #[inline]
    pub(crate) fn count_allocated_large(&self, from: usize, end: usize, size: usize) -> usize {
        (from..end).step_by(size).filter(|&cell| self.is_allocated(cell)).count()
    }

    /// Clears the mark side for the pages `start..end`, for the next marking.
    ///
    /// # Safety
    /// 1. The pages belong to the heap, and no marking is under way.
    /// 2. Other threads at most clear the same marks.
    #[inline]
    pub(crate) unsafe fn clear_marks(&self, start: usize, end: usize) {
        let first = (start - self.base) >> WORD_BYTES_LOG;
        let last = (end - self.base) >> WORD_BYTES_LOG;
        let words: *const AtomicU64 = self.sides[self.allocated() ^ 1].as_ptr().cast();
        // SAFETY: the words are committed, and nothing needs them (contracts 1 and 2).
        (first..last).for_each(|index| unsafe { &*words.add(index) }.store(0, Ordering::Relaxed));
    }

    /// Clears both sides for the pages `start..end`.
    ///
    /// # Safety
    /// 1. They are the calling thread's, and no marking is under way that visits them.
    pub(crate) unsafe fn clear_both(&self, start: usize, end: usize) {
        let words = (start - self.base) >> WORD_BYTES_LOG..(end - self.base) >> WORD_BYTES_LOG;
        for side in &self.sides {
            let first: *const AtomicU64 = side.as_ptr().cast();
            // SAFETY: the words are committed, and nothing needs them (contract 1).
            words.clone().for_each(|index| unsafe { &*first.add(index) }.store(0, Ordering::Relaxed));
        }
    }

    /// Clears the mark of a cell that has a word of its own.
    ///
    /// # Safety
    /// 1. It lies in the heap, and no marking is under way.
    /// 2. Other threads at most clear the same mark.
    #[inline]
    pub(crate) unsafe fn clear_mark(&self, addr: usize) {
        let (word, _) = self.word(self.allocated() ^ 1, addr);
        // SAFETY: the word is committed, and nothing needs it (contracts 1 and 2).
        unsafe { AtomicU64::from_ptr(word) }.store(0, Ordering::Relaxed);
    }

    /// Prefetches the line of an address's allocation bit.
    #[inline(always)]
    pub(crate) fn prefetch_allocated(&self, addr: usize) {
        crate::prefetch::for_read(self.word(self.allocated(), addr).0.cast());
    }

    /// The same, and of its mark if the sweep will clear that.
    #[inline(always)]
    pub(crate) fn prefetch_both(&self, addr: usize) {
        self.prefetch_allocated(addr);
        if !self.is_after_young() {
            crate::prefetch::for_write(self.word(self.allocated() ^ 1, addr).0.cast());
        }
    }

    /// Whether no mark bit is set for the pages `start..end`.
    pub(crate) fn marks_clear(&self, start: usize, end: usize) -> bool {
        let first = (start - self.base) >> WORD_BYTES_LOG;
        let last = (end - self.base) >> WORD_BYTES_LOG;
        let words = self.sides[self.allocated() ^ 1].as_ptr();
        // SAFETY: the range is pages below the committed end, whose bits are committed.
        (first..last).all(|i| unsafe { *words.add(i) } == 0)
    }

    /// Clears a cell's allocation bit, to inject a fault.
    ///
    /// # Safety
    /// 1. The cell lies in a span, and the heap is stopped.
    pub(crate) unsafe fn forget_allocated(&self, addr: usize) {
        let (word, bit) = self.word(self.allocated(), addr);
        // SAFETY: contract 1.
        unsafe { *word &= !bit };
    }
}

/// The side that takes the marks of a collection of a [`Stopped`](crate::Stopped) heap, while that lasts.
#[derive(Clone, Copy)]
pub struct MarkSide {
    words: *mut u64,
    base: usize,
}

impl MarkSide {
    /// The first address with marks.
    #[inline(always)]
    pub fn base(&self) -> usize {
        self.base
    }

    /// Prefetches the line of `addr`'s mark bit.
    #[inline(always)]
    pub fn prefetch(&self, addr: usize) {
        let line = self.words.wrapping_add((addr - self.base) >> WORD_BYTES_LOG);
        crate::prefetch::for_write(line.cast());
    }

    /// Marks the object at `addr`; true if it was not marked before.
    ///
    /// # Safety
    /// 1. `addr` is the base of an object in a span of the heap this came from, and the sides have not swapped.
    /// 2. No other thread sets marks. Others may read them.
    #[inline(always)]
    pub unsafe fn set(&self, addr: usize) -> bool {
        let offset = addr - self.base;
        let bit = 1u64 << ((offset >> GRANULE_LOG) % WORD_BITS);
        // SAFETY: the bits of every span are committed (contract 1).
        let word = unsafe { AtomicU64::from_ptr(self.words.add(offset >> WORD_BYTES_LOG)) };
        let old = word.load(Ordering::Relaxed);
        // One thread writes (contract 2), so this need not be one operation.
        word.store(old | bit, Ordering::Relaxed);
        old & bit == 0
    }

    /// The word of `addr`'s mark, and the bit in it. Where several threads mark, they use it only by atomic operations.
    #[inline(always)]
    pub fn word(&self, addr: usize) -> (*const atomic::AtomicU64, u64) {
        let offset = addr.wrapping_sub(self.base);
        (self.words.wrapping_add(offset >> WORD_BYTES_LOG).cast(), 1 << ((offset >> GRANULE_LOG) % WORD_BITS))
    }

    /// The address whose mark is the lowest bit of a word.
    pub fn first_of(&self, word: *const atomic::AtomicU64) -> usize {
        self.base + (word as usize - self.words as usize) / size_of::<u64>() * (WORD_BITS * GRANULE)
    }
}

impl Mapped for Marks {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        self.sides.for_each_mapping(f);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_counted_alike_on_all_processors() {
        const BASE: usize = 1 << 30;
        let mut marks = Marks::new(&heapwood_os::SYSTEM, BASE, 1 << 20).unwrap();
        marks.commit(0, 1 << 20, false).unwrap();
        let side = marks.mark_side(Collection::Full);
        let (start, end) = (BASE + PAGE_SIZE, BASE + 5 * PAGE_SIZE);
        let mut set = 0;
        for granule in (BASE..BASE + 8 * PAGE_SIZE).step_by(GRANULE) {
            if (granule >> GRANULE_LOG).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 62 == 0 {
                // SAFETY: the bits are committed, and this thread's alone.
                assert!(unsafe { side.set(granule) && !side.set(granule) });
                set += (start..end).contains(&granule) as usize;
            }
        }
        marks.begin_cycle(Collection::Full);
        for cpu in [Cpu::BASELINE, Cpu::detect()] {
            marks.cpu = cpu;
            assert_eq!(marks.count_allocated(start, end), set);
        }
        assert!(set > 100);
    }
}
