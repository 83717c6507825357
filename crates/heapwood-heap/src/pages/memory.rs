//! The reservation that a heap's objects lie in. A heap that is large enough asks for huge pages behind them, where those are
//! worth it; the largest objects do without, since of them perhaps little will ever be touched, and a huge page would be behind every page that is.
//! Invariant: what has been given back reads as zeros.

use crate::pages::first_touch::FirstTouch;
use core::ops::Range;
use core::sync::atomic::{AtomicBool, Ordering};
use heapwood_os::{HUGE_PAGE, KernelRef, OsError, Reservation, clock, round_up};
use heapwood_pages::{PAGE_SIZE, PageCount, PageIndex};

/// A heap up to this size (8 MiB) has small pages: a hundred heaps of a few KiB would have a huge page each
/// (docs/results/costs.md).
const HUGE_FROM: PageIndex = PageIndex((8 << 20) / PAGE_SIZE);
/// Objects from here on may be sparse.
const SPARSE: PageCount = PageCount::from_bytes(1 << 30);

/// A heap's reservation.
pub(crate) struct Memory {
    reserved: Reservation,
    huge_pages: bool,
    /// What it has got so far is to have huge pages.
    asked: AtomicBool,
}

fn bytes_of(first: PageIndex, count: PageCount) -> Range<usize> {
    first.byte_offset()..first.byte_offset() + count.bytes()
}

impl Memory {
    /// Reserves N bytes, to have huge pages or not.
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

    /// As [`Reservation::give_away`].
    ///
    /// # Safety
    /// 1. As there.
    pub(crate) unsafe fn give_away(&self) -> Reservation {
        // SAFETY: contract 1.
        unsafe { self.reserved.give_away() }
    }

    /// Whether there are to be huge pages at all.
    pub(crate) fn has_huge_pages(&self) -> bool {
        self.huge_pages
    }

    /// Whether a heap that reaches up to this page had better have huge pages behind its objects.
    pub(crate) fn prefers_huge_pages(&self, end: PageIndex) -> bool {
        self.huge_pages && end > HUGE_FROM
    }

    /// Makes more pages usable, up to where the heap ends from now on.
    pub(crate) fn commit(
        &self,
        from: PageIndex,
        end: PageIndex,
        touched: &mut FirstTouch,
    ) -> Result<(), OsError> {
        self.reserved.commit(from.byte_offset()..end.byte_offset())?;
        let asks = self.prefers_huge_pages(end) && touched.is_worth(end, || self.touch_huge(from, end));
        if asks {
            // It may not have asked before: what the heap has already may get them, too.
            let from = if self.asked.load(Ordering::Relaxed) { from } else { PageIndex(0) };
            self.reserved.advise_huge(from.byte_offset()..end.byte_offset());
        }
        self.asked.store(asks, Ordering::Relaxed);
        Ok(())
    }

    /// Touches the first huge page between these, of a heap that has grown by them and uses none yet; how many nanoseconds of this
    /// thread that took, the waiting for other threads not counted.
    fn touch_huge(&self, from: PageIndex, end: PageIndex) -> u64 {
        let count = PageCount(end.0 - from.0);
        let first = round_up(from.byte_offset(), HUGE_PAGE).unwrap_or(usize::MAX);
        // Of a chunk for an object that may be sparse little will be touched.
        if count >= SPARSE || first.saturating_add(HUGE_PAGE) > end.byte_offset() {
            return 0;
        }
        self.reserved.advise_huge(first..first + HUGE_PAGE);
        let began = clock::thread_cpu_ns();
        let byte = (self.start() + first) as *mut u8;
        // SAFETY: the page was committed just now, nobody uses it, and it reads as zeros before and after.
        unsafe { byte.write_volatile(0) };
        clock::thread_cpu_ns() - began
    }

    /// Gives the memory of pages back; false if the kernel does not take it.
    ///
    /// # Safety
    /// 1. The pages are committed, and nobody needs what is in them.
    pub(crate) unsafe fn give_back(&self, first: PageIndex, count: PageCount) -> bool {
        // SAFETY: contract 1.
        unsafe { self.reserved.decommit(bytes_of(first, count)) }.is_ok()
    }

    /// A chunk of an arena is about to be used for the first time: it gets a huge page, touched at once, whatever the heap's size. So
    /// it costs one fault and not five hundred (docs/design/huge-page-diagnosis.md).
    pub(crate) fn prepare_chunk(&self, first: PageIndex, count: PageCount) {
        if !self.huge_pages {
            return;
        }
        self.reserved.advise_huge(bytes_of(first, count));
        let byte = (self.start() + first.byte_offset()) as *mut u8;
        // SAFETY: the pages were taken for the arena, which nobody uses yet; they read as zeros before and after.
        unsafe { byte.write_volatile(0) };
    }

    /// The memory of a chunk that an arena has given up goes back while its addresses rest; if that is to be `protected` nobody
    /// can read there, unless the kernel refuses. Whether it reads as zeros afterwards: the kernel may refuse that, too.
    pub(crate) fn rest(&self, first: PageIndex, count: PageCount, protected: bool) -> bool {
        // SAFETY: the chunk is nobody's.
        unsafe {
            let given = self.give_back(first, count);
            if protected {
                self.reserved.protect(bytes_of(first, count));
            }
            given
        }
    }

    /// Its addresses leave the quarantine. Its memory goes back once more, for a thread with a stale pointer may have written there
    /// before it was `protected`; false if the kernel does not take it, or gives no access.
    pub(crate) fn wake(&self, first: PageIndex, count: PageCount, protected: bool) -> bool {
        // SAFETY: the chunk is nobody's.
        let given = unsafe { self.give_back(first, count) };
        given && (!protected || self.reserved.commit(bytes_of(first, count)).is_ok())
    }

    /// The pages belong to an object now that may be sparse.
    pub(crate) fn begin_sparse(&self, first: PageIndex, count: PageCount) {
        if count >= SPARSE && self.huge_pages {
            self.reserved.advise_small(bytes_of(first, count));
        }
    }

    /// Makes the pages of an object that may be sparse zero without touching them; false if they must be written.
    ///
    /// # Safety
    /// 1. The pages are committed, and nobody needs what is in them.
    pub(crate) unsafe fn empty_sparse(&self, first: PageIndex, count: PageCount) -> bool {
        // SAFETY: contract 1.
        count >= SPARSE && unsafe { self.give_back(first, count) }
    }

    /// The object that had the pages is dead.
    pub(crate) fn end_sparse(&self, first: PageIndex, count: PageCount) {
        if count >= SPARSE && self.asked.load(Ordering::Relaxed) {
            self.reserved.advise_huge(bytes_of(first, count));
        }
    }
}
