//! The lookup from an address to its span: a range test, one load from the page table, and arithmetic; and the walk
//! over all spans in order of address. Invariant: an address below the committed end (`committed_end`) can be looked up in
//! every table of the heap, whatever lies there; the committed end only grows.

use crate::address::Address;
use crate::layout::shape::ScanKind;
#[cfg(loom)]
use crate::publication::mutant;
use crate::spans::large_objects::LargeObjects;
use crate::spans::page_table::{PageEntry, PageTable};
use crate::spans::span::Span;
use crate::spans::witness::Witness;
use crate::spans::young_pages::YoungPages;
use core::ops::Range;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
#[cfg(all(test, loom))]
use heapwood_os::threads::watched::Watch;
use heapwood_os::{KernelRef, Mapped, MappedArray, OsError};
use heapwood_pages::{PAGE_SIZE, PageCount, PageIndex};

/// The spans of a heap's reservation.
pub(crate) struct Spans {
    base: usize,
    /// The committed end: one past the last byte that may be looked up, relative to the base.
    committed_end: AtomicUsize,
    table: PageTable,
    descriptors: MappedArray<Span>,
    young_pages: YoungPages,
    large: LargeObjects,
    has_ambiguous: AtomicBool,
    witness: Witness,
}

impl Spans {
    pub(crate) fn new(kernel: KernelRef, base: usize, reservation: PageCount) -> Result<Self, OsError> {
        Ok(Spans {
            base,
            committed_end: AtomicUsize::new(0),
            table: PageTable::new(kernel, reservation)?,
            descriptors: MappedArray::new(kernel, reservation.0)?,
            young_pages: YoungPages::new(kernel, reservation)?,
            large: LargeObjects::new(kernel, reservation)?,
            has_ambiguous: AtomicBool::new(false),
            witness: Witness::new(),
        })
    }

    /// Commits the tables for these pages, by huge pages or not.
    pub(crate) fn commit(&self, pages: Range<PageIndex>, huge: bool) -> Result<(), OsError> {
        let descriptors = pages.start.0..pages.end.0;
        self.large.commit(descriptors.clone())?;
        self.young_pages.commit(descriptors.clone())?;
        if huge {
            self.table.commit_huge(pages.start, pages.end)?;
            return self.descriptors.commit_huge(descriptors);
        }
        self.table.commit(pages.start, pages.end)?;
        self.descriptors.commit(descriptors)
    }

    /// Releases the memory of free pages' descriptors.
    ///
    /// # Safety
    /// 1. The pages are free, below the committed end, and no thread takes them meanwhile.
    pub(crate) unsafe fn release(&self, first: PageIndex, count: PageCount) {
        // SAFETY: contract 1: no span is there, and all-zero bytes are a valid descriptor. The kernel may decline.
        let _ = unsafe { self.descriptors.decommit(first.0..first.0 + count.0) };
    }

    /// Sets the committed end: pages below `end` can be looked up from now on.
    ///
    /// # Safety
    /// 1. All tables of the heap, these included, are committed up to there.
    pub(crate) unsafe fn extend(&self, end: PageIndex) {
        self.witness.grow();
        self.committed_end.store(end.byte_offset(), Ordering::Release);
    }

    /// The address that the reservation starts at.
    #[inline(always)]
    pub(crate) fn base(&self) -> usize {
        self.base
    }

    /// The committed end, in bytes from the base. For an address that another thread may have stored, the caller
    /// observes it first (`publication::observe`). Otherwise it may see an older end, and take a new object for an
    /// address outside the heap.
    #[inline(always)]
    pub(crate) fn committed_end(&self) -> usize {
        self.committed_end.load(Ordering::Relaxed)
    }

    /// The first page that cannot be looked up.
    #[inline(always)]
    pub(crate) fn end(&self) -> PageIndex {
        PageIndex(self.committed_end() / PAGE_SIZE)
    }

    /// The young pages.
    #[inline(always)]
    pub(crate) fn young_pages(&self) -> &YoungPages {
        &self.young_pages
    }

    /// The start pages of large objects.
    pub(crate) fn large(&self) -> &LargeObjects {
        &self.large
    }

    /// The memory of the page table.
    pub(crate) fn table_memory(&self) -> &dyn Mapped {
        &self.table
    }

    /// The memory of the descriptors.
    pub(crate) fn descriptor_memory(&self) -> &dyn Mapped {
        &self.descriptors
    }

    /// Whether an address can be looked up.
    #[inline(always)]
    pub(crate) fn contains(&self, address: Address) -> bool {
        address.offset_from(Address::new(self.base)) < self.committed_end()
    }

    /// The page of an address in the reservation.
    #[inline(always)]
    pub(crate) fn page_of(&self, address: usize) -> PageIndex {
        PageIndex((address - self.base) / PAGE_SIZE)
    }

    /// The first page of the span of an address.
    ///
    /// # Panics
    /// It lies outside the heap.
    pub(crate) fn first_page_of(&self, address: usize) -> PageIndex {
        let page = self.page_of(address);
        self.entry(page).first_page(page)
    }

    /// The address of a page's first byte.
    #[inline(always)]
    pub(crate) fn address_of(&self, page: PageIndex) -> usize {
        self.base + page.byte_offset()
    }

    /// The entry of the first page.
    #[inline(always)]
    pub(crate) fn entries(&self) -> *const PageEntry {
        self.table.as_ptr()
    }

    /// The entry of a page.
    ///
    /// # Panics
    /// It lies outside the heap.
    pub(crate) fn entry(&self, page: PageIndex) -> PageEntry {
        self.check(page);
        // SAFETY: just checked.
        unsafe { self.table.get(page) }
    }

    /// The pages whose objects may hold pointers. Other threads may make and end spans meanwhile: a span that the caller has known
    /// before, and that nobody ends, is among them as a whole.
    pub(crate) fn pages_with_pointers(&self) -> impl Iterator<Item = PageIndex> {
        let may_hold = |page: &PageIndex| {
            // SAFETY: it lies below the committed end.
            let kind = unsafe { self.table.get(*page) }.kind();
            !matches!(kind, None | Some(ScanKind::NoPointers))
        };
        (0..self.end().0).map(PageIndex).filter(may_hold)
    }

    fn check(&self, page: PageIndex) {
        assert!(page < self.end(), "page {} lies outside the heap", page.0);
    }

    /// The span whose first page is `page`.
    ///
    /// # Panics
    /// It lies outside the heap.
    pub(crate) fn get(&self, page: PageIndex) -> &Span {
        self.check(page);
        self.at(page)
    }

    /// The same for a page that a buffer, a list or the page table names: a span exists there.
    #[inline(always)]
    pub(crate) fn at(&self, page: PageIndex) -> &Span {
        debug_assert!(page < self.end());
        // SAFETY: descriptors below the committed end are committed, and spans lie there. Fields that change are
        // atomic, except while a span is made, and then no other thread knows it.
        unsafe { &*self.descriptors.at(page.0) }
    }

    /// Prefetches the descriptor of a page where a span is likely to begin soon.
    #[inline(always)]
    pub(crate) fn prefetch(&self, page: PageIndex) {
        crate::prefetch::for_write(self.descriptors.as_ptr().wrapping_add(page.0).cast());
    }

    /// The same for a span that the caller owns: a mutator's own, one being swept, or one on a list that the caller
    /// holds.
    #[inline(always)]
    pub(crate) fn own(&self, page: PageIndex) -> &Span {
        self.witness.own(page);
        self.at(page)
    }

    /// The same by its number in lists.
    #[inline(always)]
    pub(crate) fn numbered(&self, number: u32) -> &Span {
        self.own(PageIndex(number as usize))
    }

    /// The witness of span ownership.
    #[inline(always)]
    pub(crate) fn witness(&self) -> &Witness {
        &self.witness
    }

    /// Makes pages a span.
    ///
    /// # Safety
    /// 1. The caller has taken all pages of the span for it; no other thread knows them.
    /// 2. The span is of the shape given by `kind`.
    pub(crate) unsafe fn add(&self, page: PageIndex, span: Span, kind: ScanKind) {
        let (pages, shape) = (span.pages(), span.shape());
        self.witness.make(page, || span.swept_in());
        self.at(page).remake(span);
        #[cfg(loom)]
        if mutant::is(mutant::ENTRY_LATE) && self.at(page).cell_size() != 0 {
            return;
        }
        self.table.set_span(page, pages, kind, shape);
        if kind.is_ambiguous() && !self.has_ambiguous() {
            self.has_ambiguous.store(true, Ordering::Relaxed);
        }
    }

    /// Whether a span was made whose objects' words may be pointers and may be anything.
    pub(crate) fn has_ambiguous(&self) -> bool {
        self.has_ambiguous.load(Ordering::Relaxed)
    }

    /// Rewrites the descriptor of an arena chunk, which keeps its pages.
    ///
    /// # Safety
    /// 1. The caller owns the chunk, and no arena has it.
    pub(crate) unsafe fn renew(&self, page: PageIndex, span: Span) {
        self.at(page).remake(span);
    }

    /// Ends an arena chunk that the caller owns: its pages have no span any more.
    pub(crate) fn remove_chunk(&self, page: PageIndex) {
        self.young_pages.set(page, self.at(page).pages(), 0);
        self.remove(page);
    }

    /// Ends a span that the caller owns.
    pub(crate) fn remove(&self, page: PageIndex) {
        self.witness.end(page);
        self.table.clear_span(page, self.at(page).pages());
    }

    /// Whether a page is the first of a large object.
    pub(crate) fn starts_large(&self, page: PageIndex) -> bool {
        let entry = self.entry(page);
        entry.kind().is_some() && entry.back().0 == 0 && self.at(page).cell_size() == 0
    }

    /// The span of an address.
    #[inline]
    pub(crate) fn find(&self, address: Address) -> Option<&Span> {
        if !self.contains(address) {
            return None;
        }
        let page = self.page_of(address.get());
        // SAFETY: the address lies below the committed end.
        let entry = unsafe { self.table.get(page) };
        entry.kind()?;
        Some(self.at(entry.first_page(page)))
    }

    /// The same with the span's first page and the entry.
    #[inline]
    pub(crate) fn find_with_entry(&self, address: Address) -> Option<(PageIndex, PageEntry, &Span)> {
        if !self.contains(address) {
            return None;
        }
        let page = self.page_of(address.get());
        // SAFETY: the address lies below the committed end.
        let entry = unsafe { self.table.get(page) };
        entry.kind()?;
        let first = entry.first_page(page);
        Some((first, entry, self.at(first)))
    }

    /// Has a model watch the entry and the descriptor of a page.
    #[cfg(all(test, loom))]
    pub(crate) fn watch(&self, watch: &Watch, page: PageIndex) {
        self.table.watch(watch, page);
        self.at(page).watch(watch);
    }

    /// The same for its entry alone.
    #[cfg(all(test, loom))]
    pub(crate) fn watch_entry(&self, watch: &Watch, page: PageIndex) {
        self.table.watch(watch, page);
    }

    /// Writes the entries of a span that was made without.
    #[cfg(all(test, loom))]
    pub(crate) fn set_late(&self, page: PageIndex, kind: ScanKind) {
        self.table.set_span(page, self.at(page).pages(), kind, self.at(page).shape());
    }

    /// All pages in order of address: each free page, and the first page of each span with the span.
    pub(crate) fn walk(&self) -> impl Iterator<Item = (PageIndex, Option<&Span>)> {
        let (mut next, end) = (PageIndex(0), self.end());
        core::iter::from_fn(move || {
            let page = next;
            if page >= end {
                return None;
            }
            let span = self.entry(page).kind().map(|_| self.at(page));
            next = PageIndex(page.0 + span.map_or(1, |span| span.pages().0));
            Some((page, span))
        })
    }

    /// All spans with their first pages, in order of address.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (PageIndex, &Span)> {
        self.walk().filter_map(|(page, span)| Some((page, span?)))
    }
}
