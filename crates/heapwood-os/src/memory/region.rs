//! Owned mapped memory: reservations, and arrays that are reserved at full length and committed by index on demand.
//! They lie outside the ordinary heap, so the collector does not depend on the allocator that it may replace. Of a large one only
//! the parts are mapped in which something was committed (`address_slots`).
//! Invariant: a reservation is released once, when its owner is dropped.

use crate::error::OsError;
use crate::memory::address_slots;
use crate::memory::kernel::KernelRef;
use crate::memory::mapped::Mapped;
use crate::memory::parts::Parts;
use crate::round_up;
use core::marker::PhantomData;
use core::ops::Range;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// A range of address space, released on drop. Its ends are multiples of the kernel's page size.
pub struct Reservation {
    kernel: KernelRef,
    /// The size of the kernel's pages.
    page: usize,
    start: usize,
    len: usize,
    /// One past the highest byte that was ever committed, as an offset: where observers need not look any further.
    committed_end: AtomicUsize,
    /// The parts that are mapped, unless all is.
    parts: Option<Parts>,
    /// Another owner releases it.
    is_detached: AtomicBool,
}

impl Reservation {
    /// Reserves at least `len` bytes (at least one) aligned to `align`.
    pub fn new(kernel: KernelRef, len: usize, align: usize) -> Result<Self, OsError> {
        let too_big = || OsError::new(crate::Request::Reserve, len, libc::ENOMEM);
        let page = kernel.page_size();
        let len = round_up(len.max(1), page).ok_or_else(too_big)?;
        let part = Parts::bytes_of(len);
        let (start, parts) = match address_slots::take(kernel, len, part) {
            // A slot is aligned as it is large.
            Some(start) => (start, Some(Parts::new(part))),
            None => (kernel.reserve(len, align.max(page))?, None),
        };
        let (committed_end, is_detached) = (AtomicUsize::new(0), AtomicBool::new(false));
        Ok(Reservation { kernel, page, start, len, committed_end, parts, is_detached })
    }

    /// Moves ownership of the address space to the returned reservation, which alone releases it. This one stays
    /// usable until it is dropped.
    ///
    /// # Safety
    /// 1. The returned reservation is not dropped before this one.
    pub unsafe fn detach(&self) -> Reservation {
        self.is_detached.store(true, Ordering::Relaxed);
        let committed_end = AtomicUsize::new(self.committed_end.load(Ordering::Relaxed));
        let parts = self.parts.as_ref().map(Parts::copy);
        Reservation { committed_end, parts, is_detached: AtomicBool::new(false), ..*self }
    }

    /// The first address.
    pub fn start(&self) -> usize {
        self.start
    }

    /// The length in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Never true: a reservation has at least one kernel page.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Commits the bytes `range` (offsets), rounded out to whole kernel pages.
    pub fn commit(&self, range: Range<usize>) -> Result<(), OsError> {
        let Some((addr, len)) = self.whole_pages(range) else { return Ok(()) };
        if let Some(parts) = &self.parts {
            let offset = addr - self.start;
            parts.map(self.kernel, (self.start, self.len), offset..offset + len)?;
        }
        // SAFETY: whole_pages keeps the range inside this live reservation.
        unsafe { self.kernel.commit(addr, len) }?;
        self.committed_end.fetch_max(addr + len - self.start, Ordering::Relaxed);
        Ok(())
    }

    /// Zeroes the bytes `range` (offsets), and releases the memory of the kernel pages that lie wholly inside. Pages
    /// that lie partly inside are written and keep their memory, since others may use the rest.
    ///
    /// # Safety
    /// 1. The range is committed.
    /// 2. Its contents are not needed, and no thread uses it meanwhile.
    pub unsafe fn decommit(&self, range: Range<usize>) -> Result<(), OsError> {
        self.check(&range);
        let first = range.start.next_multiple_of(self.page).min(range.end);
        let end = (range.end & !(self.page - 1)).max(first);
        if first < end {
            // SAFETY: the caller's contract is passed on for a part of the range.
            unsafe { self.kernel.decommit(self.start + first, end - first) }?;
        }
        for part in [range.start..first, end..range.end] {
            // SAFETY: a part of the range (empty if the range ends before it begins), which is committed and not in
            // use (contracts 1 and 2).
            unsafe { ((self.start + part.start) as *mut u8).write_bytes(0, part.len()) };
        }
        Ok(())
    }

    /// Asks for huge pages behind the bytes `range` (offsets).
    pub fn advise_huge(&self, range: Range<usize>) {
        if let Some((addr, len)) = self.whole_pages(range) {
            // SAFETY: whole_pages keeps the range inside this live reservation.
            unsafe { self.kernel.advise_huge(addr, len) }
        }
    }

    /// Asks for small pages behind the bytes `range` (offsets).
    pub fn advise_small(&self, range: Range<usize>) {
        if let Some((addr, len)) = self.whole_pages(range) {
            // SAFETY: whole_pages keeps the range inside this live reservation.
            unsafe { self.kernel.advise_small(addr, len) }
        }
    }

    /// Takes all access from the kernel pages that lie wholly in the bytes `range` (offsets), until they are committed
    /// again. Returns whether the kernel does so, and there are such pages.
    ///
    /// # Safety
    /// 1. Nobody uses the range.
    pub unsafe fn protect(&self, range: Range<usize>) -> bool {
        self.check(&range);
        let (first, end) = (range.start.next_multiple_of(self.page), range.end & !(self.page - 1));
        // SAFETY: a part of the range (contract 1), which lies in this live reservation.
        first < end && unsafe { self.kernel.protect(self.start + first, end - first) }
    }

    /// Whether the bytes `range` (offsets) are whole pages of the kernel.
    pub fn is_whole_pages(&self, range: &Range<usize>) -> bool {
        range.start.is_multiple_of(self.page) && range.end.is_multiple_of(self.page)
    }

    fn whole_pages(&self, range: Range<usize>) -> Option<(usize, usize)> {
        self.check(&range);
        if range.start >= range.end {
            return None;
        }
        let first = range.start & !(self.page - 1);
        let end = range.end.next_multiple_of(self.page);
        Some((self.start + first, end - first))
    }

    fn check(&self, range: &Range<usize>) {
        assert!(range.end <= self.len, "range {range:?} leaves a reservation of {} bytes", self.len);
    }
}

impl Mapped for Reservation {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        f(self.start..self.start + self.committed_end.load(Ordering::Relaxed));
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if *self.is_detached.get_mut() {
            return;
        }
        let release = |range: Range<usize>| {
            // SAFETY: what `new` and commits have reserved, and its owner is being dropped.
            unsafe { self.kernel.release(self.start + range.start, range.len()) };
        };
        match &self.parts {
            None => release(0..self.len),
            Some(parts) => parts.mapped(self.len).for_each(release),
        }
    }
}

/// Types for which all-zero bytes are a valid value, as fresh mapped memory holds.
///
/// # Safety
///
/// 1. A value of all zero bytes is valid.
/// 2. The type needs no drop.
pub unsafe trait Zeroed {}

macro_rules! zeroed {
    ($($t:ty),*) => { $(
        // SAFETY: zero is a value of every integer and atomic, and none needs drop.
        unsafe impl Zeroed for $t {}
    )* };
}
zeroed!(u8, u16, u32, u64, usize, core::sync::atomic::AtomicU8, core::sync::atomic::AtomicU32);
zeroed!(core::sync::atomic::AtomicU64, core::sync::atomic::AtomicUsize);
// SAFETY: an array of zero values is all zeros, and needs no drop if its elements need none.
unsafe impl<T: Zeroed, const N: usize> Zeroed for [T; N] {}

/// An array reserved at full length and committed by index. Elements read as zeros until written.
///
/// Only committed elements may be accessed. The owner knows which these are, so the accessors return raw pointers.
pub struct MappedArray<T> {
    memory: Reservation,
    len: usize,
    element: PhantomData<T>,
}

// SAFETY: the array owns its elements, so it may move and be shared as they may.
unsafe impl<T: Send> Send for MappedArray<T> {}
// SAFETY: as above; shared access returns raw pointers only.
unsafe impl<T: Sync> Sync for MappedArray<T> {}

impl<T: Zeroed> MappedArray<T> {
    /// Reserves `len` elements.
    pub fn new(kernel: KernelRef, len: usize) -> Result<Self, OsError> {
        let too_big = || OsError::new(crate::Request::Reserve, usize::MAX, libc::ENOMEM);
        let bytes = len.checked_mul(size_of::<T>()).ok_or_else(too_big)?;
        Ok(MappedArray {
            memory: Reservation::new(kernel, bytes, align_of::<T>())?,
            len,
            element: PhantomData,
        })
    }

    /// Commits the elements `range`.
    pub fn commit(&self, range: Range<usize>) -> Result<(), OsError> {
        self.memory.commit(range.start * size_of::<T>()..range.end * size_of::<T>())
    }

    /// Commits the elements `range` and all memory of their last huge page, and asks for huge pages there: the kernel
    /// maps a huge page only where all of it is committed.
    pub fn commit_huge(&self, range: Range<usize>) -> Result<(), OsError> {
        let from = range.start * size_of::<T>();
        let end = self.memory.start + range.end * size_of::<T>();
        let end = round_up(end, crate::HUGE_PAGE).unwrap_or(end) - self.memory.start;
        let bytes = from..end.min(self.memory.len);
        self.memory.commit(bytes.clone())?;
        self.memory.advise_huge(bytes);
        Ok(())
    }

    /// Zeroes the elements `range`, and releases the memory of kernel pages that lie wholly inside.
    ///
    /// # Safety
    /// 1. The elements are committed, zeros are valid values, and other threads only read meanwhile and expect zeros.
    pub unsafe fn decommit(&self, range: Range<usize>) -> Result<(), OsError> {
        // SAFETY: contract 1.
        unsafe { self.memory.decommit(range.start * size_of::<T>()..range.end * size_of::<T>()) }
    }

    /// Asks for huge pages behind the elements `range`.
    pub fn advise_huge(&self, range: Range<usize>) {
        self.memory.advise_huge(range.start * size_of::<T>()..range.end * size_of::<T>());
    }

    /// The number of reserved elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether no element is reserved.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The first element's address.
    #[inline(always)]
    pub fn as_ptr(&self) -> *mut T {
        self.memory.start as *mut T
    }

    /// The address of element `index`.
    #[inline(always)]
    pub fn at(&self, index: usize) -> *mut T {
        debug_assert!(index < self.len, "element {index} of {}", self.len);
        (self.memory.start + index * size_of::<T>()) as *mut T
    }

    /// Releases the memory of the elements from `keep` on; they read as zeros again.
    ///
    /// # Safety
    /// 1. The elements up to `end` are committed.
    /// 2. Those from `keep` on are not needed.
    pub unsafe fn shrink(&self, keep: usize, end: usize) -> Result<(), OsError> {
        if keep >= end {
            return Ok(());
        }
        // The rest of the last kernel page is committed with it, and not needed either.
        let to = (end * size_of::<T>()).next_multiple_of(self.memory.page);
        // SAFETY: the caller's contract is passed on.
        unsafe { self.memory.decommit(keep * size_of::<T>()..to) }
    }
}

impl<T> Mapped for MappedArray<T> {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        self.memory.for_each_mapping(f);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Request;
    use crate::{Kernel, SYSTEM};

    #[test]
    fn a_large_reservation_takes_up_what_is_used_of_it() {
        const GIB: usize = 1 << 30;
        let memory = Reservation::new(&SYSTEM, 3 * GIB + 8192, crate::HUGE_PAGE).unwrap();
        if memory.parts.is_none() {
            println!("skipped: the kernel gives no such addresses");
            return;
        }
        assert!(memory.start().is_multiple_of(crate::HUGE_PAGE));
        let parts =
            || memory.parts.as_ref().unwrap().mapped(memory.len()).map(|part| part.len()).collect::<Vec<_>>();
        assert_eq!(parts(), [4 << 20]);
        let last = 3 * GIB + 4096;
        memory.commit(GIB - 1..GIB + 1).unwrap();
        memory.commit(last..last + 1).unwrap();
        memory.commit(GIB..GIB + 1).unwrap();
        assert_eq!(parts(), [4 << 20, 4 << 20, 4 << 20, 8192]);
        for byte in [GIB - 1, GIB, last] {
            // SAFETY: it was committed just above.
            unsafe { ((memory.start() + byte) as *mut u8).write(7) };
        }
        // SAFETY: nobody uses it; the second is dropped first, and releases what both have mapped.
        drop(unsafe { memory.detach() });
        // What the program maps there is told, and stays.
        let memory = Reservation::new(&SYSTEM, 3 * GIB, 1).unwrap();
        let theirs = memory.start() + 2 * GIB;
        SYSTEM.reserve_at(theirs, 4096).unwrap();
        let refused = memory.commit(2 * GIB + 8192..2 * GIB + 8193).unwrap_err();
        assert_eq!((refused.request, refused.errno), (Request::Reserve, libc::ENOMEM));
        drop(memory);
        assert!(SYSTEM.reserve_at(theirs, 4096).is_err(), "it is there");
        // SAFETY: it was reserved above, for this test alone.
        unsafe { SYSTEM.release(theirs, 4096) };
    }

    #[test]
    fn threads_commit_parts_at_the_same_time() {
        let memory = &Reservation::new(&SYSTEM, 1 << 30, 1).unwrap();
        std::thread::scope(|scope| {
            for thread in 0..4 {
                scope.spawn(move || {
                    for part in 0..1024 {
                        let at = (part << 20) + (thread << 12);
                        memory.commit(at..at + 1).unwrap();
                        // SAFETY: it was committed just now, and each thread has a page of its own.
                        unsafe { ((memory.start() + at) as *mut usize).write(part) };
                    }
                });
            }
        });
        for at in (0..1024).map(|part| (part << 20) + (3 << 12)) {
            // SAFETY: it was written above.
            assert_eq!(unsafe { ((memory.start() + at) as *const usize).read() }, at >> 20);
        }
    }
}
