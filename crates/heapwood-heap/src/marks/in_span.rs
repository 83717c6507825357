//! Mark and allocation bits at the start of each span: 64 bytes a page for each side. Part of the experiment of
//! docs/METADATA.md. With spans of one page the header is found by masking; else through the page's entry.

use crate::granule::GRANULE_LOG;
use core::sync::atomic::{AtomicUsize, Ordering};
use heapwood_os::{KernelRef, OsError};
use heapwood_pages::PAGE_SIZE;

/// The bits of a heap whose window starts at `base`.
pub struct Marks {
    base: usize,
    table: *const u64,
    allocated: AtomicUsize,
}

// SAFETY: the table lives as long as the space, which is what is shared.
unsafe impl Send for Marks {}
// SAFETY: as above.
unsafe impl Sync for Marks {}

#[inline(always)]
fn locate(base: usize, table: *const u64, side: usize, addr: usize) -> (*mut u64, u64) {
    let page = (addr - base) / PAGE_SIZE;
    // Spans of more than a page are found through their entry; a span's size is in its first page's header.
    // SAFETY: the experiment's callers ask about pages below the high-water mark.
    let back = unsafe { *table.add(page) } >> 32;
    let start = base + (page - back as usize) * PAGE_SIZE;
    let granule = (addr - start) >> GRANULE_LOG;
    // The two sides alternate line by line: 64 bytes for each 512 granules.
    let line = start + (granule / 512) * 128 + side * 64;
    ((line + granule % 512 / 64 * 8) as *mut u64, 1 << (granule % 64))
}

#[allow(missing_docs, reason = "as in `side`")]
impl Marks {
    pub fn new(_: KernelRef, base: usize, _: usize) -> Result<Self, OsError> {
        Ok(Marks { base, table: core::ptr::null(), allocated: AtomicUsize::new(0) })
    }
    pub fn set_table(&mut self, table: *const u64) {
        self.table = table;
    }
    pub fn commit(&self, _: usize, _: usize) -> Result<(), OsError> {
        Ok(())
    }
    pub fn flip(&self) {
        self.allocated.fetch_xor(1, Ordering::Relaxed);
    }
    #[inline(always)]
    fn side(&self) -> usize {
        self.allocated.load(Ordering::Relaxed)
    }
    pub fn marker(&self) -> Marker {
        Marker { base: self.base, table: self.table, side: self.side() ^ 1 }
    }
    #[inline(always)]
    pub fn is_marked(&self, addr: usize) -> bool {
        let (word, bit) = locate(self.base, self.table, self.side() ^ 1, addr);
        // SAFETY: the header of a span.
        unsafe { *word & bit != 0 }
    }
    #[inline(always)]
    pub fn is_allocated(&self, addr: usize) -> bool {
        let (word, bit) = locate(self.base, self.table, self.side(), addr);
        // SAFETY: the header of a span.
        unsafe { *word & bit != 0 }
    }
    #[inline(always)]
    fn scan(&self, from: usize, end: usize, flip: u64) -> usize {
        let mut at = from;
        while at < end {
            let (word, bit) = locate(self.base, self.table, self.side(), at);
            // SAFETY: the header of a span.
            let bits = (unsafe { *word } ^ flip) & !(bit - 1);
            if bits != 0 {
                let found = at + ((bits.trailing_zeros() - bit.trailing_zeros()) as usize) * 16;
                return found.min(end);
            }
            at += (64 - bit.trailing_zeros() as usize) * 16;
        }
        end
    }
    #[inline]
    pub fn next_allocated(&self, from: usize, end: usize) -> usize {
        self.scan(from, end, 0)
    }
    #[inline]
    pub fn next_free_granule(&self, from: usize, end: usize) -> usize {
        self.scan(from, end, u64::MAX)
    }
    fn lines(&self, start: usize, end: usize, side: usize) -> impl Iterator<Item = *mut [u64; 8]> {
        (0..(end - start) / PAGE_SIZE).map(move |p| (start + p * 128 + side * 64) as *mut [u64; 8])
    }
    #[inline]
    pub fn count_allocated(&self, start: usize, end: usize) -> usize {
        // SAFETY: the header of a span.
        self.lines(start, end, self.side())
            .map(|l| unsafe { *l }.iter().map(|w| w.count_ones() as usize).sum::<usize>())
            .sum()
    }
    /// # Safety
    /// 1. As in `side`.
    #[inline]
    pub unsafe fn clear_marks(&self, start: usize, end: usize) {
        // SAFETY: the header of a span, ours alone.
        self.lines(start, end, self.side() ^ 1).for_each(|l| unsafe { *l = [0; 8] });
    }
    /// # Safety
    /// 1. The pages were just taken.
    pub unsafe fn begin_span(&self, start: usize, end: usize) {
        // SAFETY: the header of a new span.
        unsafe { (start as *mut u8).write_bytes(0, (end - start) / PAGE_SIZE * 128) };
    }
    pub fn marks_clear(&self, _: usize, _: usize) -> bool {
        true
    }
    pub fn forget_allocated(&self, addr: usize) {
        let (word, bit) = locate(self.base, self.table, self.side(), addr);
        // SAFETY: test hook.
        unsafe { *word &= !bit };
    }
}

/// The bits, for the length of one marking.
#[derive(Clone, Copy)]
pub struct Marker {
    base: usize,
    table: *const u64,
    side: usize,
}

#[allow(missing_docs, reason = "as in `side`")]
impl Marker {
    #[inline(always)]
    fn at(&self, addr: usize) -> (*mut u64, u64) {
        if crate::size_class::MIN_SPAN_PAGES == 1 && cfg!(feature = "marks-by-mask") {
            let start = addr & !(PAGE_SIZE - 1);
            let granule = (addr - start) >> GRANULE_LOG;
            return ((start + self.side * 64 + granule / 64 * 8) as *mut u64, 1 << (granule % 64));
        }
        locate(self.base, self.table, self.side, addr)
    }
    #[inline(always)]
    pub fn prefetch(&self, addr: usize) {
        crate::prefetch::for_write(self.at(addr).0.cast());
    }
    /// # Safety
    /// 1. As in `side`.
    #[inline(always)]
    pub unsafe fn set(&self, addr: usize) -> bool {
        let (word, bit) = self.at(addr);
        // SAFETY: as in `side`.
        unsafe {
            let old = *word;
            *word = old | bit;
            old & bit == 0
        }
    }
    /// # Safety
    /// 1. As in `side`.
    #[inline(always)]
    pub unsafe fn unset(&self, addr: usize) {
        let (word, bit) = self.at(addr);
        // SAFETY: as in `side`.
        unsafe { *word &= !bit };
    }
}
