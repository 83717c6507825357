//! Mark and allocation state as a byte map: one byte a granule, holding the number of the cycle that marked it.
//! Part of the experiment of docs/METADATA.md.

use crate::granule::GRANULE_LOG;
use core::sync::atomic::{AtomicU8, Ordering};
use heapwood_os::{KernelRef, MappedArray, OsError};

const ONES: u64 = 0x0101_0101_0101_0101;

/// The byte map of a heap whose window starts at `base`.
pub struct Marks {
    bytes: MappedArray<u8>,
    base: usize,
    /// The number that marks get; allocated cells have the one before.
    epoch: AtomicU8,
}

fn next(epoch: u8) -> u8 {
    if epoch == 255 { 1 } else { epoch + 1 }
}

fn before(epoch: u8) -> u8 {
    if epoch == 1 { 255 } else { epoch - 1 }
}

#[allow(missing_docs, reason = "as in `side`")]
impl Marks {
    pub fn new(kernel: KernelRef, base: usize, window: usize) -> Result<Self, OsError> {
        Ok(Marks { bytes: MappedArray::new(kernel, window >> GRANULE_LOG)?, base, epoch: AtomicU8::new(2) })
    }
    pub fn commit(&self, from: usize, to: usize) -> Result<(), OsError> {
        self.bytes.commit(from >> GRANULE_LOG..to >> GRANULE_LOG)
    }
    pub fn flip(&self) {
        self.epoch.store(next(self.epoch.load(Ordering::Relaxed)), Ordering::Relaxed);
    }
    fn marking(&self) -> u8 {
        self.epoch.load(Ordering::Relaxed)
    }
    #[inline(always)]
    fn byte(&self, addr: usize) -> *mut u8 {
        self.bytes.at((addr - self.base) >> GRANULE_LOG)
    }
    pub fn marker(&self) -> Marker {
        Marker { bytes: self.bytes.as_ptr(), base: self.base, epoch: self.marking() }
    }
    #[inline(always)]
    pub fn is_marked(&self, addr: usize) -> bool {
        // SAFETY: the experiment's callers ask about committed pages.
        unsafe { *self.byte(addr) == self.marking() }
    }
    #[inline(always)]
    pub fn is_allocated(&self, addr: usize) -> bool {
        // SAFETY: as above.
        unsafe { *self.byte(addr) == before(self.marking()) }
    }
    #[inline]
    pub fn next_allocated(&self, from: usize, end: usize) -> usize {
        let pattern = before(self.marking()) as u64 * ONES;
        let mut at = from;
        while at < end {
            if at.is_multiple_of(128) && at + 128 <= end {
                // SAFETY: eight granules of one span.
                let word = unsafe { self.byte(at).cast::<u64>().read() } ^ pattern;
                if word.wrapping_sub(ONES) & !word & (ONES << 7) == 0 {
                    at += 128;
                    continue;
                }
            }
            if self.is_allocated(at) {
                return at;
            }
            at += 16;
        }
        end
    }
    #[inline]
    pub fn next_free_granule(&self, from: usize, end: usize) -> usize {
        let mut at = from;
        while at < end && self.is_allocated(at) {
            at += 16;
        }
        at
    }
    #[inline]
    pub fn count_allocated(&self, start: usize, end: usize) -> usize {
        let live = before(self.marking());
        // SAFETY: pages of one span.
        let bytes = unsafe { core::slice::from_raw_parts(self.byte(start), (end - start) >> GRANULE_LOG) };
        bytes.chunks(128).map(|c| c.iter().map(|&b| (b == live) as u8).sum::<u8>() as usize).sum()
    }
    /// # Safety
    /// 1. As in `side`.
    #[inline]
    pub unsafe fn clear_marks(&self, start: usize, end: usize) {
        let live = before(self.marking());
        // SAFETY: pages of one span, ours alone.
        let bytes =
            unsafe { core::slice::from_raw_parts_mut(self.byte(start), (end - start) >> GRANULE_LOG) };
        for b in bytes {
            *b = if *b == live { live } else { 0 };
        }
    }
    pub fn marks_clear(&self, _: usize, _: usize) -> bool {
        true
    }
    pub fn forget_allocated(&self, addr: usize) {
        // SAFETY: test hook.
        unsafe { *self.byte(addr) = 0 };
    }
    /// # Safety
    /// 1. As in `in_span`.
    pub unsafe fn begin_span(&self, _: usize, _: usize) {}
    pub fn set_table(&mut self, _: *const u64) {}
}

/// The map, for the length of one marking.
#[derive(Clone, Copy)]
pub struct Marker {
    bytes: *mut u8,
    base: usize,
    epoch: u8,
}

#[allow(missing_docs, reason = "as in `side`")]
impl Marker {
    #[inline(always)]
    pub fn prefetch(&self, addr: usize) {
        crate::prefetch::for_write(self.bytes.wrapping_add((addr - self.base) >> GRANULE_LOG));
    }
    /// # Safety
    /// 1. As in `side`.
    #[inline(always)]
    pub unsafe fn set(&self, addr: usize) -> bool {
        // SAFETY: as in `side`.
        unsafe {
            let byte = self.bytes.add((addr - self.base) >> GRANULE_LOG);
            let new = *byte != self.epoch;
            *byte = self.epoch;
            new
        }
    }
    /// # Safety
    /// 1. As in `side`.
    #[inline(always)]
    pub unsafe fn unset(&self, addr: usize) {
        // SAFETY: as in `side`.
        unsafe { *self.bytes.add((addr - self.base) >> GRANULE_LOG) = 0 };
    }
}
