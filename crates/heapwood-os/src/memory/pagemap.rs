//! The pages of a range that the process has written to, by the kernel's page tables. A page without an entry, or one
//! that was only read, holds zeros. So a collector need not read gigabytes of a sparse array, which would also make
//! the kernel create page tables for all of it. The source is PAGEMAP_SCAN (Linux 6.7), or else /proc/self/pagemap;
//! without either, every page counts as written. The same source tells observers what of a range is in memory. Nothing is
//! allocated. The file is open only during a collection: a program may close descriptors that it does not know, and reuse
//! their numbers. Invariant: a page that is left out reads as zeros as long as no thread writes to it.

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

/// Pages that are looked for: categories of PAGEMAP_SCAN, and bits of entries, one of which they have.
#[derive(Clone, Copy)]
struct Wanted {
    categories: u64,
    entry: u64,
}

const WRITTEN: Wanted = Wanted { categories: PRESENT | SWAPPED, entry: ENTRY_PRESENT | ENTRY_SWAPPED };
const RESIDENT: Wanted = Wanted { categories: PRESENT, entry: ENTRY_PRESENT };

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

/// The kernel's page tables of this process, opened at the first query. Callers must not keep it beyond a collection.
#[derive(Debug, Default)]
pub struct Pagemap {
    file: OnceCell<Option<File>>,
}

impl Pagemap {
    /// No file is open yet.
    pub const fn new() -> Self {
        Pagemap { file: OnceCell::new() }
    }

    fn file(&self) -> Option<&File> {
        self.file.get_or_init(|| File::open(c"/proc/self/pagemap")).as_ref()
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
        self.next(&range, WRITTEN).unwrap_or(Some(range))
    }

    /// Calls `f` with each part of an address range, in order, that is in the process's memory now: neither untouched nor
    /// swapped out, nor only the kernel's page of zeros. Its ends are those of the range or multiples of a kernel page.
    /// `None` if the kernel does not tell; before Linux 6.7 pages of zeros count, too.
    pub fn for_each_resident(&self, mut range: Range<usize>, mut f: impl FnMut(Range<usize>)) -> Option<()> {
        while let Some(part) = self.next(&range, RESIDENT)? {
            range.start = part.end;
            f(part);
        }
        Some(())
    }

    /// The first part of a range with the pages that are looked for. The outer option is `None` if the kernel does not tell.
    fn next(&self, range: &Range<usize>, wanted: Wanted) -> Option<Option<Range<usize>>> {
        if range.is_empty() {
            return Some(None);
        }
        let page = SYSTEM.page_size();
        let pages = range.start & !(page - 1)..range.end.next_multiple_of(page);
        let found = self.scan(&pages, wanted).or_else(|| self.read(&pages, wanted))?;
        Some(found.map(|f| f.start.max(range.start)..f.end.min(range.end)))
    }

    /// By PAGEMAP_SCAN, without the zero page.
    fn scan(&self, pages: &Range<usize>, wanted: Wanted) -> Option<Option<Range<usize>>> {
        let mut region = Region::default();
        let mut arguments = ScanArguments {
            size: size_of::<ScanArguments>() as u64,
            start: pages.start as u64,
            end: pages.end as u64,
            regions: &raw mut region as u64,
            regions_len: 1,
            inverted: ZERO_PAGE,
            all_of: ZERO_PAGE,
            any_of: wanted.categories,
            ..ScanArguments::default()
        };
        // SAFETY: the kernel reads and writes the arguments, and writes the region that they point to.
        match unsafe { libc::ioctl(self.file()?.descriptor(), PAGEMAP_SCAN as _, &raw mut arguments) } {
            0 => Some(None),
            1 => Some(Some(region.start as usize..region.end as usize)),
            _ => None,
        }
    }

    /// By reading entries, one a page. The zero page looks like any other.
    fn read(&self, pages: &Range<usize>, wanted: Wanted) -> Option<Option<Range<usize>>> {
        let page = SYSTEM.page_size();
        let mut entries = [0u64; 512];
        let (mut at, mut found) = (pages.start, None::<Range<usize>>);
        // The caller usually asks again for what follows, so the first reads are short.
        let mut most = 8;
        while at < pages.end {
            let want = ((pages.end - at) / page).min(most);
            most = (most * 4).min(entries.len());
            for entry in self.entries(at / page, &mut entries[..want])? {
                match (entry & wanted.entry != 0, &mut found) {
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
    use core::iter::successors;

    const PAGES: usize = 4096;

    /// Pages that were written to, read only, and never touched, as each source tells them.
    #[test]
    #[ignore = "of the long suite: memory that the kernel counts"]
    fn only_written_pages_are_found() {
        let size = SYSTEM.page_size();
        let memory = Reservation::new(&SYSTEM, PAGES * size, size).unwrap();
        memory.commit(0..memory.len()).unwrap();
        let (pagemap, base) = (Pagemap::new(), memory.start());
        let whole = base..base + memory.len();
        assert_eq!(pagemap.first(whole.clone()), None);
        assert_eq!(pagemap.first(base..base), None);
        for page in [0, 1, 700, 701, 702, 2000, PAGES - 1] {
            // SAFETY: committed above, and used by this test alone.
            unsafe { ((base + page * size + 8) as *mut u64).write_volatile(7) };
        }
        // Reads only, which maps the zero page. SAFETY: as above.
        assert_eq!(unsafe { ((base + 1000 * size) as *const u64).read_volatile() }, 0);
        let page = |from: usize, to: usize| base + from * size..base + to * size;
        let zero = page(1000, 1001);
        let exact = vec![page(0, 2), page(700, 703), page(2000, 2001), page(PAGES - 1, PAGES)];
        let resident = |range: Range<usize>| {
            let mut found = Vec::new();
            pagemap.for_each_resident(range, |part| found.push(part)).unwrap();
            found
        };
        if pagemap.scan(&whole, WRITTEN).is_some() {
            let all: Vec<_> =
                successors(pagemap.first(whole.clone()), |f| pagemap.first(f.end..whole.end)).collect();
            assert_eq!((all, resident(whole.clone())), (exact.clone(), exact.clone()));
        }
        if pagemap.read(&whole, WRITTEN).is_some() {
            let read = |from| pagemap.read(&(from..whole.end), WRITTEN).unwrap();
            let all: Vec<_> = successors(read(base), |f| read(f.end)).collect();
            assert_eq!(all.iter().filter(|&part| *part != zero).cloned().collect::<Vec<_>>(), exact);
            assert!(all.contains(&zero));
        }
        assert_eq!(pagemap.first(base + 100..base + 200), Some(base + 100..base + 200));
        assert_eq!(resident(base + 100..base + 2 * size - 5), vec![base + 100..base + 2 * size - 5]);
        // Without a source every page counts as written, and nobody says what is in memory.
        let blind = Pagemap { file: OnceCell::from(None) };
        assert_eq!(blind.first(whole.clone()), Some(whole.clone()));
        assert_eq!(blind.for_each_resident(whole.clone(), |_| unreachable!()), None);
        // Decommitted pages count as unwritten again. SAFETY: the contents are not needed.
        unsafe { memory.decommit(0..memory.len()).unwrap() };
        assert_eq!(pagemap.first(whole), None);
    }
}
