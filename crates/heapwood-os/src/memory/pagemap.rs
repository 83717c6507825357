//! The pages of a range that the process has written to, by the kernel's page tables. A page without an entry, or one
//! that was only read, holds zeros. So a collector need not read gigabytes of a sparse array, which would also make
//! the kernel create page tables for all of it. The source is PAGEMAP_SCAN (Linux 6.7), or else /proc/self/pagemap;
//! without either, every page counts as written. The same source tells observers what of a range is in memory. Nothing is
//! allocated. The file is open only during a collection: a
//! program may close descriptors that it does not know, and reuse their numbers. Invariant: a page that is left out
//! reads as zeros as long as no thread writes to it.

use crate::process::file::File;
use crate::{Kernel, SYSTEM};
use core::cell::OnceCell;
use core::ops::Range;

/// `_IOWR('f', 16, struct pm_scan_arg)`.
const PAGEMAP_SCAN: u64 = 3 << 30 | (size_of::<ScanArguments>() as u64) << 16 | (b'f' as u64) << 8 | 16;
const PRESENT: u64 = 1 << 3;
const SWAPPED: u64 = 1 << 4;
/// The shared zero page: read, but never written.
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

impl ScanArguments {
    /// A scan of whole pages, in any category, which fills these regions.
    fn of(pages: Range<usize>, regions: &mut [Region]) -> Self {
        ScanArguments {
            size: size_of::<ScanArguments>() as u64,
            start: pages.start as u64,
            end: pages.end as u64,
            regions: regions.as_mut_ptr() as u64,
            regions_len: regions.len() as u64,
            ..ScanArguments::default()
        }
    }
}

#[repr(C)]
struct Region {
    start: u64,
    end: u64,
    categories: u64,
}

impl Region {
    const EMPTY: Region = Region { start: 0, end: 0, categories: 0 };
}

/// The regions of one scan for an observer.
const REGIONS: usize = 64;

const _: () = assert!(size_of::<ScanArguments>() == 96 && size_of::<Region>() == 24);

/// The kernel's page tables of this process, opened at the first query. Callers must not keep it beyond a collection.
#[derive(Debug)]
pub struct Pagemap {
    file: OnceCell<Option<File>>,
}

impl Default for Pagemap {
    fn default() -> Self {
        Self::new()
    }
}

impl Pagemap {
    /// No file is open yet.
    pub const fn new() -> Self {
        Pagemap { file: OnceCell::new() }
    }

    fn file(&self) -> Option<&File> {
        self.file.get_or_init(|| File::open(c"/proc/self/pagemap")).as_ref()
    }

    /// What PAGEMAP_SCAN returns: how many regions it has found, negative for an error.
    fn ask(&self, arguments: &mut ScanArguments) -> i32 {
        let Some(file) = self.file() else { return -1 };
        // SAFETY: the kernel reads and writes the arguments, and writes the regions that they point to (`ScanArguments::of`).
        unsafe { libc::ioctl(file.descriptor(), PAGEMAP_SCAN as _, core::ptr::from_mut(arguments)) }
    }

    /// Entries of pages from one on, as many as a read returns of those that have room; `None` without any.
    fn entries<'e>(&self, page: usize, entries: &'e mut [u64]) -> Option<&'e [u64]> {
        // SAFETY: the bytes are those of the numbers, all of whose values are valid.
        let bytes = unsafe {
            core::slice::from_raw_parts_mut(entries.as_mut_ptr().cast::<u8>(), size_of_val(entries))
        };
        let read = self.file()?.read_at(bytes, (page * size_of::<u64>()) as libc::off_t).ok()?;
        let read = &entries[..read / size_of::<u64>()];
        (!read.is_empty()).then_some(read)
    }

    /// The first part of an address range that may have been written to, if any. Its ends are those of the range or
    /// multiples of a kernel page. More may follow.
    pub fn first(&self, range: Range<usize>) -> Option<Range<usize>> {
        if range.is_empty() {
            return None;
        }
        let page = SYSTEM.page_size();
        let pages = range.start & !(page - 1)..range.end.next_multiple_of(page);
        let found = self.scan(&pages).or_else(|| self.read(&pages)).unwrap_or(Some(pages));
        found.map(|f| f.start.max(range.start)..f.end.min(range.end))
    }

    /// Calls `f` with each part of an address range, in order, that is in the process's memory now: neither untouched nor
    /// swapped out, nor only the kernel's page of zeros. Its ends are those of the range or multiples of a kernel page.
    /// `None` if the kernel does not tell; before Linux 6.7 pages of zeros count, too.
    pub fn for_each_resident(&self, range: Range<usize>, mut f: impl FnMut(Range<usize>)) -> Option<()> {
        let page = SYSTEM.page_size();
        let end = range.end.next_multiple_of(page);
        let mut at = range.start & !(page - 1);
        let mut cut = |part: Range<usize>| f(part.start.max(range.start)..part.end.min(range.end));
        while at < end {
            let mut regions = [const { Region::EMPTY }; REGIONS];
            let mut arguments = ScanArguments {
                // Present, and not the zero page.
                inverted: ZERO_PAGE,
                all_of: PRESENT | ZERO_PAGE,
                ..ScanArguments::of(at..end, &mut regions)
            };
            match self.ask(&mut arguments) {
                found @ 0.. => {
                    regions[..found as usize].iter().for_each(|r| cut(r.start as usize..r.end as usize));
                    at = arguments.walk_end as usize;
                }
                _ => return self.read_resident(at..end, cut),
            }
        }
        Some(())
    }

    /// The same for whole pages, by reading entries.
    fn read_resident(&self, pages: Range<usize>, mut f: impl FnMut(Range<usize>)) -> Option<()> {
        let page = SYSTEM.page_size();
        let (mut at, mut entries) = (pages.start, [0u64; 512]);
        while at < pages.end {
            let want = ((pages.end - at) / page).min(entries.len());
            for entry in self.entries(at / page, &mut entries[..want])? {
                if entry & ENTRY_PRESENT != 0 {
                    f(at..at + page);
                }
                at += page;
            }
        }
        Some(())
    }

    /// By PAGEMAP_SCAN. The outer option is `None` if the kernel does not support it.
    fn scan(&self, pages: &Range<usize>) -> Option<Option<Range<usize>>> {
        let mut region = [Region::EMPTY];
        let mut arguments = ScanArguments {
            // Any page but the zero page, present or swapped out.
            inverted: ZERO_PAGE,
            all_of: ZERO_PAGE,
            any_of: PRESENT | SWAPPED,
            ..ScanArguments::of(pages.clone(), &mut region)
        };
        match self.ask(&mut arguments) {
            0 => Some(None),
            1 => Some(Some(region[0].start as usize..region[0].end as usize)),
            _ => None,
        }
    }

    /// By reading entries, one a page. The zero page looks like any other.
    fn read(&self, pages: &Range<usize>) -> Option<Option<Range<usize>>> {
        let page = SYSTEM.page_size();
        let mut entries = [0u64; 512];
        let (mut at, mut found) = (pages.start, None::<Range<usize>>);
        // The caller usually asks again for what follows, so the first reads are short.
        let mut most = 8;
        while at < pages.end {
            let want = ((pages.end - at) / page).min(most);
            most = (most * 4).min(entries.len());
            for entry in self.entries(at / page, &mut entries[..want])? {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Reservation;

    const PAGES: usize = 4096;

    /// All parts that one source reports.
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
    #[ignore = "of the long suite: memory that the kernel counts"]
    fn only_written_pages_are_found() {
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
            // SAFETY: committed above, and used by this test alone.
            unsafe { ((base + page * size + 8) as *mut u64).write_volatile(7) };
        }
        // Reads only, which maps the zero page. SAFETY: as above.
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
        let resident = |range: Range<usize>| {
            let mut found = Vec::new();
            touched.for_each_resident(range, |part| found.push(part)).unwrap();
            found
        };
        if touched.scan(&whole).is_some() {
            assert_eq!(resident(whole.clone()), exact);
            assert_eq!(resident(base + 100..base + 2 * size - 5), vec![base + 100..base + 2 * size - 5]);
        }
        let mut read = 0;
        if touched.read_resident(whole.clone(), |part| read += part.len()).is_some() {
            assert_eq!(read, (written.len() + 1) * size);
        }
        // More parts than one scan reports.
        for page in (1..PAGES).step_by(2) {
            // SAFETY: as above.
            unsafe { ((base + page * size) as *mut u64).write_volatile(7) };
        }
        let mut bytes = 0;
        touched.for_each_resident(whole.clone(), |part| bytes += part.len()).unwrap();
        let even = written.iter().filter(|&&page| page % 2 == 0).count();
        let zeros = if touched.scan(&whole).is_some() { 0 } else { 1 };
        assert_eq!(bytes, (PAGES / 2 + even + zeros) * size);
        // Without a source every page counts as written, and nobody says what is in memory.
        let blind = Pagemap { file: OnceCell::from(None) };
        assert_eq!(blind.first(whole.clone()), Some(whole.clone()));
        assert_eq!(blind.for_each_resident(whole, |_| unreachable!()), None);
        // Decommitted pages count as unwritten again. SAFETY: the contents are not needed.
        unsafe { memory.decommit(0..memory.len()).unwrap() };
        assert!(touched.scan(&page(0, PAGES)).is_none_or(|found| found.is_none()));
    }
}
