//! Owned pieces of mapped memory. A reservation ends when it is dropped; an array is reserved at its full length
//! and committed by index as it is needed; a box holds one value outside the ordinary heap, so that nothing in
//! the collector depends on the allocator it may be standing in for.

use crate::error::OsError;
use crate::memory::kernel::KernelRef;
use crate::round_up;
use core::marker::PhantomData;
use core::ops::Range;
use core::sync::atomic::{AtomicBool, Ordering};

/// Address space that is released when this is dropped. Its ends are those of kernel pages, whatever their size.
pub struct Reservation {
    kernel: KernelRef,
    /// The size of the kernel's pages.
    page: usize,
    start: usize,
    len: usize,
    /// It is not this one's to release.
    is_given_away: AtomicBool,
}

impl Reservation {
    /// Reserves at least `len` bytes (at least one) aligned to `align`.
    pub fn new(kernel: KernelRef, len: usize, align: usize) -> Result<Self, OsError> {
        let too_big = || OsError::new(crate::Request::Reserve, len, libc::ENOMEM);
        let page = kernel.page_size();
        let len = round_up(len.max(1), page).ok_or_else(too_big)?;
        let start = kernel.reserve(len, align.max(page))?;
        Ok(Reservation { kernel, page, start, len, is_given_away: AtomicBool::new(false) })
    }

    /// Gives the address space to what is returned, which alone releases it; this one is used as before until it is dropped.
    ///
    /// # Safety
    /// 1. What is returned is not dropped before this.
    pub unsafe fn give_away(&self) -> Reservation {
        self.is_given_away.store(true, Ordering::Relaxed);
        Reservation { is_given_away: AtomicBool::new(false), ..*self }
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

    /// Commits the bytes `range` (offsets), widened to whole kernel pages.
    pub fn commit(&self, range: Range<usize>) -> Result<(), OsError> {
        let Some((addr, len)) = self.whole_pages(range) else { return Ok(()) };
        // SAFETY: whole_pages keeps the range inside this live reservation.
        unsafe { self.kernel.commit(addr, len) }
    }

    /// Makes the bytes `range` (offsets) zeros, and gives back the memory of the kernel pages that lie wholly inside. Of
    /// those at its ends others may need the rest, so its part of them is written; their memory stays.
    ///
    /// # Safety
    /// 1. The range is committed.
    /// 2. Nobody needs its contents, or uses it meanwhile.
    pub unsafe fn decommit(&self, range: Range<usize>) -> Result<(), OsError> {
        self.check(&range);
        let first = range.start.next_multiple_of(self.page).min(range.end);
        let end = (range.end & !(self.page - 1)).max(first);
        if first < end {
            // SAFETY: the caller's contract is passed on for a part of the range.
            unsafe { self.kernel.decommit(self.start + first, end - first) }?;
        }
        for part in [range.start..first, end..range.end] {
            // SAFETY: a part of the range (it is empty if the range ends before it begins), which is committed and
            // nobody else's (contracts 1 and 2).
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

    /// Takes all access from the kernel pages that lie wholly in the bytes `range` (offsets), until they are committed again.
    ///
    /// # Safety
    /// 1. Nobody uses the range.
    pub unsafe fn protect(&self, range: Range<usize>) {
        self.check(&range);
        let (first, end) = (range.start.next_multiple_of(self.page), range.end & !(self.page - 1));
        if first < end {
            // SAFETY: a part of the range (contract 1), which lies in this live reservation.
            unsafe { self.kernel.protect(self.start + first, end - first) }
        }
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

impl Drop for Reservation {
    fn drop(&mut self) {
        if !*self.is_given_away.get_mut() {
            // SAFETY: this is exactly the reservation made in `new`, and its owner goes away.
            unsafe { self.kernel.release(self.start, self.len) }
        }
    }
}

/// Types for which all-zero bytes are a value, as freshly mapped memory holds.
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

/// An array reserved at its full length and committed by index. Elements read as zeros until written.
///
/// Only committed elements may be touched; the owner knows which (the heap commits them as it grows), so the
/// accessors here are raw pointers.
pub struct MappedArray<T> {
    memory: Reservation,
    len: usize,
    element: PhantomData<T>,
}

// SAFETY: the array owns its elements, so it may move and be shared as they may.
unsafe impl<T: Send> Send for MappedArray<T> {}
// SAFETY: as above; shared access hands out raw pointers only.
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

    /// Commits the elements `range` and what shares their last huge page, and asks for huge pages behind all of it: the
    /// kernel gives one only where it is wholly committed.
    pub fn commit_huge(&self, range: Range<usize>) -> Result<(), OsError> {
        let from = range.start * size_of::<T>();
        let end = self.memory.start + range.end * size_of::<T>();
        let end = round_up(end, crate::HUGE_PAGE).unwrap_or(end) - self.memory.start;
        let bytes = from..end.min(self.memory.len);
        self.memory.commit(bytes.clone())?;
        self.memory.advise_huge(bytes);
        Ok(())
    }

    /// Makes the elements `range` zeros, and gives their memory back where it fills kernel pages.
    ///
    /// # Safety
    /// 1. The elements are committed, zeros are a value of theirs, and nobody uses them meanwhile but to read zeros.
    pub unsafe fn decommit(&self, range: Range<usize>) -> Result<(), OsError> {
        // SAFETY: contract 1.
        unsafe { self.memory.decommit(range.start * size_of::<T>()..range.end * size_of::<T>()) }
    }

    /// Asks for huge pages behind the elements `range`.
    pub fn advise_huge(&self, range: Range<usize>) {
        self.memory.advise_huge(range.start * size_of::<T>()..range.end * size_of::<T>());
    }

    /// How many elements are reserved.
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

    /// Gives back the memory behind the elements from `keep` on; they read as zeros again.
    ///
    /// # Safety
    /// 1. The elements up to `end` are committed.
    /// 2. Nobody needs those from `keep` on.
    pub unsafe fn shrink(&self, keep: usize, end: usize) -> Result<(), OsError> {
        if keep >= end {
            return Ok(());
        }
        // What shares the last kernel page is committed with it, and nobody needs that either.
        let to = (end * size_of::<T>()).next_multiple_of(self.memory.page);
        // SAFETY: the caller's contract is passed on.
        unsafe { self.memory.decommit(keep * size_of::<T>()..to) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SYSTEM;
    use crate::testing::large_page_kernel::Coarse;

    #[test]
    fn arrays_commit_by_index() {
        let a = MappedArray::<u64>::new(&SYSTEM, 1 << 30).unwrap();
        a.commit(1_000_000..1_000_010).unwrap();
        // SAFETY: element 1_000_005 was committed just above.
        unsafe {
            assert_eq!(*a.at(1_000_005), 0);
            *a.at(1_000_005) = 5;
        }
        a.commit(0..2_000_000).unwrap();
        // SAFETY: as above.
        unsafe { assert_eq!(*a.at(1_000_005), 5) };
        // SAFETY: committed just above, and the contents are not needed.
        unsafe { a.shrink(0, 2_000_000).unwrap() };
        // SAFETY: still committed.
        unsafe { assert_eq!(*a.at(1_000_005), 0) };
    }

    #[test]
    fn huge_commits_reach_to_the_end_of_their_huge_page() {
        let len = 3 * crate::HUGE_PAGE / 8;
        let a = MappedArray::<u64>::new(&SYSTEM, len).unwrap();
        a.commit_huge(5..6).unwrap();
        let end = (round_up(a.at(5) as usize + 8, crate::HUGE_PAGE).unwrap() - a.as_ptr() as usize) / 8;
        // SAFETY: it shares its huge page with element 5.
        unsafe { a.at(end - 1).write(7) };
        // Never beyond the array.
        a.commit_huge(len - 1..len).unwrap();
        // SAFETY: committed just above.
        assert_eq!(unsafe { a.at(len - 1).read() }, 0);
    }

    /// A kernel with pages of N bytes.
    fn coarse(page: usize) -> &'static Coarse {
        Box::leak(Box::new(Coarse::new(page)))
    }

    #[test]
    fn everything_is_rounded_to_the_kernels_pages() {
        for page in [crate::LEAST_KERNEL_PAGE, 16 << 10, 64 << 10] {
            let kernel = coarse(page);
            let memory = Reservation::new(kernel, 5 * page + 1, 8).unwrap();
            assert_eq!((memory.start() % page, memory.len()), (0, 6 * page));
            memory.commit(page + 8..page + 16).unwrap();
            memory.commit(3 * page - 1..3 * page + 1).unwrap();
            memory.commit(7..7).unwrap();
            memory.advise_small(8..16);
            memory.advise_huge(page - 1..page + 1);
            // SAFETY: committed with the bytes above.
            unsafe { ((memory.start() + 2 * page - 1) as *mut u8).write(1) };
            drop(memory);
            assert_eq!(kernel.odd_requests(), 0);
        }
    }

    #[test]
    fn parts_of_kernel_pages_are_zeroed_and_their_rest_is_kept() {
        for page in [crate::LEAST_KERNEL_PAGE, 16 << 10, 64 << 10] {
            let kernel = coarse(page);
            let memory = Reservation::new(kernel, 4 * page, 8).unwrap();
            memory.commit(0..4 * page).unwrap();
            let bytes = |range: Range<usize>| {
                // SAFETY: all is committed, and this test's alone.
                unsafe {
                    core::slice::from_raw_parts_mut((memory.start() + range.start) as *mut u8, range.len())
                }
            };
            let half = page / 2;
            for (from, to) in [
                (0, 4 * page),
                (half, 3 * page + half),
                (half, 2 * page),
                (page, 2 * page + half),
                (half, page + half),
                (half, page),
                (8, 16),
                (page + 8, page + 8),
                (page, page),
            ] {
                bytes(0..4 * page).fill(7);
                // SAFETY: as above.
                unsafe { memory.decommit(from..to).unwrap() };
                assert!(bytes(0..from).iter().chain(&*bytes(to..4 * page)).all(|&b| b == 7), "{from}..{to}");
                assert!(bytes(from..to).iter().all(|&b| b == 0), "{from}..{to}");
            }
            drop(memory);
            assert_eq!(kernel.odd_requests(), 0);
        }
    }

    #[test]
    fn what_an_array_gives_back_reads_as_zeros() {
        for page in [crate::LEAST_KERNEL_PAGE, 64 << 10] {
            let a = MappedArray::<u64>::new(coarse(page), 3 * page / 8 - 5).unwrap();
            a.commit(0..a.len()).unwrap();
            for keep in [0, 1, page / 8, page / 8 + 1, a.len() - 1, a.len()] {
                for i in 0..a.len() {
                    // SAFETY: committed above.
                    unsafe { a.at(i).write(7) };
                }
                // SAFETY: nobody needs what is in it.
                unsafe { a.shrink(keep, a.len()).unwrap() };
                // SAFETY: committed above.
                let at = |i| unsafe { a.at(i).read() };
                assert!((0..a.len()).all(|i| at(i) == if i < keep { 7 } else { 0 }), "{page} {keep}");
            }
        }
    }

    #[test]
    fn too_many_elements_are_an_error() {
        assert!(MappedArray::<u64>::new(&SYSTEM, usize::MAX / 2).is_err());
        assert!(MappedArray::<u64>::new(&SYSTEM, 1 << 60).is_err());
    }
}
