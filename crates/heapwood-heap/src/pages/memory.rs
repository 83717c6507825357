//! The reservation of a heap's objects. A large enough heap asks for huge pages, where they are profitable. The largest
//! objects do without: the program may touch little of them, and each touched page would cost a huge page. Invariant:
//! released memory reads as zeros.

use crate::policy::growth;
use core::ops::Range;
use core::sync::atomic::{AtomicBool, Ordering};
use heapwood_os::{HUGE_PAGE, KernelRef, Mapped, OsError, Reservation, process::clock, round_up};
use heapwood_pages::{PAGE_SIZE, PageCount, PageIndex};

/// A heap up to this size (8 MiB) has small pages; otherwise a hundred heaps of a few KiB would have a huge page each
/// (docs/results/2026-11/costs.tsv).
const HUGE_FROM: PageIndex = PageIndex((8 << 20) / PAGE_SIZE);
/// Objects from this size on may be sparse.
const SPARSE: PageCount = PageCount::from_bytes(1 << 30);

/// A heap's reservation.
pub(crate) struct Memory {
    reserved: Reservation,
    huge_pages: bool,
    /// Whether it asked for huge pages for the memory so far.
    asked: AtomicBool,
}

fn bytes_of(first: PageIndex, count: PageCount) -> Range<usize> {
    first.byte_offset()..first.byte_offset() + count.bytes()
}

/// The state of a quarantined chunk's memory.
#[derive(Clone, Copy)]
pub(crate) struct Quarantined {
    /// Nobody can read or write it.
    pub(crate) protected: bool,
    /// The kernel had it back when the quarantine began: it read as zeros.
    pub(crate) empty: bool,
}

impl Memory {
    /// Reserves `bytes` bytes, with huge pages or not.
    pub(crate) fn new(kernel: KernelRef, bytes: usize, huge_pages: bool) -> Result<Self, OsError> {
        Ok(Memory {
            reserved: Reservation::new(kernel, bytes, HUGE_PAGE)?,
            huge_pages,
            asked: AtomicBool::new(false),
        })
    }

    /// The address it starts at.
    pub(crate) fn start(&self) -> usize {
        self.reserved.start()
    }

    /// As [`Reservation::detach`].
    ///
    /// # Safety
    /// 1. As there.
    pub(crate) unsafe fn detach(&self) -> Reservation {
        // SAFETY: contract 1.
        unsafe { self.reserved.detach() }
    }

    /// Whether huge pages may be used at all.
    pub(crate) fn has_huge_pages(&self) -> bool {
        self.huge_pages
    }

    /// Whether a heap that reaches up to this page should have huge pages behind its objects.
    pub(crate) fn prefers_huge_pages(&self, end: PageIndex) -> bool {
        self.huge_pages && end > HUGE_FROM
    }

    /// Commits more pages, up to the new end of the heap.
    pub(crate) fn commit(
        &self,
        from: PageIndex,
        end: PageIndex,
        touched: &mut FirstTouch,
    ) -> Result<(), OsError> {
        self.reserved.commit(from.byte_offset()..end.byte_offset())?;
        let asks = self.prefers_huge_pages(end) && touched.is_worth(end, || self.touch_huge(from, end));
        if asks {
            // It may not have asked before: the earlier memory may get huge pages, too.
            let from = if self.asked.load(Ordering::Relaxed) { from } else { PageIndex(0) };
            self.reserved.advise_huge(from.byte_offset()..end.byte_offset());
        }
        self.asked.store(asks, Ordering::Relaxed);
        Ok(())
    }

    /// Touches the first huge page between these pages, by which the heap has grown. None of them is used yet.
    /// Returns the nanoseconds of this thread's time; waiting for other threads does not count.
    fn touch_huge(&self, from: PageIndex, end: PageIndex) -> u64 {
        let count = PageCount(end.0 - from.0);
        let first = round_up(from.byte_offset(), HUGE_PAGE).unwrap_or(usize::MAX);
        // The program will touch little of memory for a sparse object.
        if count >= SPARSE || first.saturating_add(HUGE_PAGE) > end.byte_offset() {
            return 0;
        }
        self.reserved.advise_huge(first..first + HUGE_PAGE);
        let began = clock::thread_cpu_ns();
        let byte = (self.start() + first) as *mut u8;
        // SAFETY: the page was committed just now, no thread uses it, and it reads as zeros before and after.
        unsafe { byte.write_volatile(0) };
        clock::thread_cpu_ns() - began
    }

    /// Releases the memory of pages; false if the kernel declines.
    ///
    /// # Safety
    /// 1. The pages are committed, and their contents are no longer needed.
    pub(crate) unsafe fn release(&self, first: PageIndex, count: PageCount) -> bool {
        // SAFETY: contract 1.
        unsafe { self.reserved.decommit(bytes_of(first, count)) }.is_ok()
    }

    /// Prepares a huge chunk of an arena for first use: it gets a huge page, touched at once, whatever the heap's size.
    /// So it costs one fault instead of five hundred (docs/results/2026-11/first-touch.tsv).
    pub(crate) fn prepare_chunk(&self, first: PageIndex, count: PageCount) {
        if !self.huge_pages {
            return;
        }
        self.reserved.advise_huge(bytes_of(first, count));
        let byte = (self.start() + first.byte_offset()) as *mut u8;
        // SAFETY: the pages were taken for the arena, and no thread uses them yet; they read as zeros before and after.
        unsafe { byte.write_volatile(0) };
    }

    /// Puts the addresses of an arena chunk into quarantine and releases its memory. If it `protects`, nobody can read
    /// there. The protection comes first, so that nothing is written behind the release. The kernel may decline both.
    pub(crate) fn rest(&self, first: PageIndex, count: PageCount, protects: bool) -> Quarantined {
        // SAFETY: no arena has the chunk.
        unsafe {
            let protected = protects && self.reserved.protect(bytes_of(first, count));
            Quarantined { protected, empty: self.release(first, count) }
        }
    }

    /// Ends the quarantine. Releases the memory once more if a thread with a dangling pointer may have written there;
    /// false if the kernel declines this, or denies access.
    pub(crate) fn wake(&self, first: PageIndex, count: PageCount, was: Quarantined) -> bool {
        let bytes = bytes_of(first, count);
        // Parts of the kernel's pages at both ends were not protected.
        let is_untouched = was.protected && was.empty && self.reserved.is_whole_pages(&bytes);
        // SAFETY: the chunk is nobody's.
        let is_empty = is_untouched || unsafe { self.release(first, count) };
        is_empty && (!was.protected || self.reserved.commit(bytes).is_ok())
    }

    /// Gives the pages to an object that may be sparse.
    pub(crate) fn begin_sparse(&self, first: PageIndex, count: PageCount) {
        if count >= SPARSE && self.huge_pages {
            self.reserved.advise_small(bytes_of(first, count));
        }
    }

    /// Makes the pages of a sparse object zero without touching them; false if they must be written.
    ///
    /// # Safety
    /// 1. The pages are committed, and their contents are no longer needed.
    pub(crate) unsafe fn empty_sparse(&self, first: PageIndex, count: PageCount) -> bool {
        // SAFETY: contract 1.
        count >= SPARSE && unsafe { self.release(first, count) }
    }

    /// Takes the pages of a dead object back.
    pub(crate) fn end_sparse(&self, first: PageIndex, count: PageCount) {
        if count >= SPARSE && self.asked.load(Ordering::Relaxed) {
            self.reserved.advise_huge(bytes_of(first, count));
        }
    }
}

/// The decision for or against huge pages, by the cost of a first touch. On a machine of its own a kernel clears a huge
/// page in a quarter of a millisecond; 512 small pages take four times as long. In a virtual machine with free page
/// reporting, the host must find memory for each huge page that was not in use lately; this took 4 to 8 ms, while small
/// pages are mostly still the guest's. A program that grew to 500 MiB spent two fifths of its time on this
/// (docs/results/2026-11/young.tsv). So the heap touches and times one huge page of each piece it grows by. If that takes
/// too long, it uses small pages until it is half as large again. The decision affects only speed.
#[derive(Debug)]
pub(crate) struct FirstTouch {
    /// No huge page is tried until the heap reaches beyond this page.
    backoff: PageIndex,
}

impl FirstTouch {
    pub(crate) const fn new() -> Self {
        FirstTouch { backoff: PageIndex(0) }
    }

    /// Whether a heap that is to reach up to page `end` gets huge pages; `touch` touches one and returns the
    /// nanoseconds that it took.
    pub(crate) fn is_worth(&mut self, end: PageIndex, touch: impl FnOnce() -> u64) -> bool {
        if end <= self.backoff {
            return false;
        }
        let is_worth = growth::is_fast_touch(touch());
        if !is_worth {
            self.backoff = PageIndex(growth::backoff_after_slow_touch(end.0));
        }
        is_worth
    }
}

impl Mapped for Memory {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        self.reserved.for_each_mapping(f);
    }
}
