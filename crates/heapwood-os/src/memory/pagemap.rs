//! Which pages of a range a process has ever written to, as the kernel's page tables tell: neither a page without an entry
//! nor one that was only read can hold anything but zeros. So a collector need not read gigabytes of an array of which a
//! few pages are in use, which would also make the kernel keep page tables for all of it. Asked by PAGEMAP_SCAN (Linux 6.7),
//! or by reading /proc/self/pagemap; where neither answers, every page counts as touched. Invariant: what is left out
//! reads as zeros as long as nobody writes to it. Nothing is allocated. The file is open only while a collection asks: a
//! program may close descriptors that it does not know, and have other files under their numbers.

use crate::{Kernel, SYSTEM};
use core::cell::OnceCell;
use core::ops::Range;

/// `_IOWR('f', 16, struct pm_scan_arg)`.
const PAGEMAP_SCAN: u64 = 3 << 30 | (size_of::<ScanArguments>() as u64) << 16 | (b'f' as u64) << 8 | 16;
const PRESENT: u64 = 1 << 3;
const SWAPPED: u64 = 1 << 4;
/// The shared page of zeros: read, but never written.
const ZERO_PAGE: u64 = 1 << 5;

/// Bits of an entry of /proc/self/pagemap.
const ENTRY_PRESENT: u64 = 1 << 63;
const ENTRY_SWAPPED: u64 = 1 << 62;

#[repr(C)]
#[derive(Default)]
struct ScanArguments {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    walk_end: u64,
    regions: u64,
    regions_len: u64,
    max_pages: u64,
    inverted: u64,
    all_of: u64,
    any_of: u64,
    returned: u64,
}

#[repr(C)]
#[derive(Default)]
struct Region {
    start: u64,
    end: u64,
    categories: u64,
}

const _: () = assert!(size_of::<ScanArguments>() == 96 && size_of::<Region>() == 24);

/// The kernel's page tables of this process, opened when they are first asked about. Not to be kept: see above.
#[derive(Debug)]
pub struct Pagemap {
    file: OnceCell<i32>,
}

impl Default for Pagemap {
    fn default() -> Self {
        Self::new()
    }
}

impl Pagemap {
    /// Nothing is opened yet.
    pub const fn new() -> Self {
        Pagemap { file: OnceCell::new() }
    }

    fn file(&self) -> i32 {
        // SAFETY: the path is a constant with its zero byte.
        let open = || unsafe { libc::open(c"/proc/self/pagemap".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
        *self.file.get_or_init(open)
    }

    /// The first stretch of a range of addresses that may have been written to, or nothing if none was. Its ends are the
    /// range's or multiples of a kernel page; more may follow behind it.
    pub fn first(&self, range: Range<usize>) -> Option<Range<usize>> {
        if range.is_empty() {
            return None;
        }
        let page = SYSTEM.page_size();
        let pages = range.start & !(page - 1)..range.end.next_multiple_of(page);
        let found = self.scan(&pages).or_else(|| self.read(&pages)).unwrap_or(Some(pages));
        found.map(|f| f.start.max(range.start)..f.end.min(range.end))
    }

    /// By PAGEMAP_SCAN; the outer option says whether the kernel has answered.
    fn scan(&self, pages: &Range<usize>) -> Option<Option<Range<usize>>> {
        let mut region = Region::default();
        let mut arguments = ScanArguments {
            size: size_of::<ScanArguments>() as u64,
            start: pages.start as u64,
            end: pages.end as u64,
            regions: (&raw mut region) as u64,
            regions_len: 1,
            // Not the page of zeros, and present or swapped out.
            inverted: ZERO_PAGE,
            all_of: ZERO_PAGE,
            any_of: PRESENT | SWAPPED,
            ..Default::default()
        };
        // SAFETY: the kernel reads the arguments and writes them and the one region they point to.
        match unsafe { libc::ioctl(self.file(), PAGEMAP_SCAN as _, &raw mut arguments) } {
            0 => Some(None),
            1 => Some(Some(region.start as usize..region.end as usize)),
            _ => None,
        }
    }

    /// By reading entries, one a page; those of pages of zeros look like any others.
    fn read(&self, pages: &Range<usize>) -> Option<Option<Range<usize>>> {
        let page = SYSTEM.page_size();
        let mut entries = [0u64; 512];
        let (mut at, mut found) = (pages.start, None::<Range<usize>>);
        // The thread that asks will ask again for what follows: few at first, lest each time many are read of which few are looked at.
        let mut most = 8;
        while at < pages.end {
            let want = ((pages.end - at) / page).min(most) * 8;
            most = (most * 4).min(entries.len());
            let from = (at / page * 8) as libc::off_t;
            // SAFETY: the buffer has room for as many bytes as are asked for.
            let got = unsafe { libc::pread(self.file(), entries.as_mut_ptr().cast(), want, from) };
            if got <= 0 {
                return None;
            }
            for entry in &entries[..got as usize / 8] {
                match (entry & (ENTRY_PRESENT | ENTRY_SWAPPED) != 0, &mut found) {
                    (true, Some(found)) => found.end += page,
                    (true, None) => found = Some(at..at + page),
                    (false, Some(_)) => return Some(found),
                    (false, None) => {}
                }
                at += page;
            }
        }
        Some(found)
    }
}

impl Drop for Pagemap {
    fn drop(&mut self) {
        if let Some(&file @ 0..) = self.file.get() {
            // SAFETY: this owner opened the file, and closes it once.
            unsafe { libc::close(file) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Reservation;

    const PAGES: usize = 4096;

    /// Everything found, by one way of asking.
    fn all(range: Range<usize>, first: impl Fn(Range<usize>) -> Option<Range<usize>>) -> Vec<Range<usize>> {
        let (mut at, mut found) = (range.start, Vec::new());
        while let Some(next) = first(at..range.end) {
            assert!(next.start >= at && next.end > next.start && next.end <= range.end);
            at = next.end;
            found.push(next);
        }
        found
    }

    #[test]
    fn only_what_was_written_is_found() {
        let size = SYSTEM.page_size();
        let memory = Reservation::new(&SYSTEM, PAGES * size, size).unwrap();
        memory.commit(0..memory.len()).unwrap();
        let touched = Pagemap::new();
        let base = memory.start();
        let whole = base..base + memory.len();
        assert_eq!(touched.first(whole.clone()), None);
        assert_eq!(touched.first(base..base), None);
        let written = [0, 1, 700, 701, 702, 2000, PAGES - 1];
        for page in written {
            // SAFETY: committed above, and this test's own.
            unsafe { ((base + page * size + 8) as *mut u64).write_volatile(7) };
        }
        // Read only: the page of zeros.
        // SAFETY: as above.
        assert_eq!(unsafe { ((base + 1000 * size) as *const u64).read_volatile() }, 0);
        let page = |from: usize, to: usize| base + from * size..base + to * size;
        let exact = vec![page(0, 2), page(700, 703), page(2000, 2001), page(PAGES - 1, PAGES)];
        if touched.scan(&whole).is_some() {
            assert_eq!(all(whole.clone(), |range| touched.first(range)), exact);
            assert_eq!(touched.first(base + 100..base + 200), Some(base + 100..base + 200));
        }
        if touched.read(&whole).is_some() {
            let with_zeros =
                vec![page(0, 2), page(700, 703), page(1000, 1001), page(2000, 2001), page(PAGES - 1, PAGES)];
            assert_eq!(all(whole.clone(), |range| touched.read(&range).unwrap()), with_zeros);
        }
        // Without an answer everything may have been.
        let blind = Pagemap { file: OnceCell::from(-1) };
        assert_eq!(blind.first(whole.clone()), Some(whole));
        // What was given back is untouched again.
        // SAFETY: nobody needs what is in it.
        unsafe { memory.decommit(0..memory.len()).unwrap() };
        assert!(touched.scan(&page(0, PAGES)).is_none_or(|found| found.is_none()));
    }
}
