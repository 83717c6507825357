//! From an address to the span it lies in: a range test, one load from the page table, and arithmetic. And over all spans, in
//! order of address. Invariant: an address below the extent can be looked up in every table of the heap, whatever lies
//! there; the extent only grows.

use crate::address::Address;
use crate::layout::shape::ScanKind;
use crate::spans::large_objects::LargeObjects;
use crate::spans::page_table::{PageEntry, PageTable};
use crate::spans::span::Span;
use crate::spans::witness::Witness;
use crate::spans::young_pages::YoungPages;
use core::ops::Range;
use core::sync::atomic::{AtomicUsize, Ordering};
use heapwood_os::{KernelRef, MappedArray, OsError};
use heapwood_pages::{PAGE_SIZE, PageCount, PageIndex};

/// The spans of a heap's reservation.
pub(crate) struct Spans {
    base: usize,
    /// One past the last byte that may be looked up, relative to the base.
    extent: AtomicUsize,
    table: PageTable,
    descriptors: MappedArray<Span>,
    ages: YoungPages,
    large: LargeObjects,
    witness: Witness,
}

impl Spans {
    pub(crate) fn new(kernel: KernelRef, base: usize, window: PageCount) -> Result<Self, OsError> {
        Ok(Spans {
            base,
            extent: AtomicUsize::new(0),
            table: PageTable::new(kernel, window)?,
            descriptors: MappedArray::new(kernel, window.0)?,
            ages: YoungPages::new(kernel, window)?,
            large: LargeObjects::new(kernel, window)?,
            witness: Witness::new(),
        })
    }

    /// Makes the tables usable for these pages, in huge pages or not.
    pub(crate) fn commit(&self, pages: Range<PageIndex>, huge: bool) -> Result<(), OsError> {
        let descriptors = pages.start.0..pages.end.0;
        self.large.commit(descriptors.clone())?;
        self.ages.commit(descriptors.clone())?;
        if huge {
            self.table.commit_huge(pages.start, pages.end)?;
            return self.descriptors.commit_huge(descriptors);
        }
        self.table.commit(pages.start, pages.end)?;
        self.descriptors.commit(descriptors)
    }

    /// Gives the memory of free pages' descriptors back.
    ///
    /// # Safety
    /// 1. The pages are free, below the extent, and nobody takes them meanwhile.
    pub(crate) unsafe fn give_back(&self, first: PageIndex, count: PageCount) {
        // SAFETY: contract 1: no span is there, and zeros are such a descriptor. The kernel may refuse.
        let _ = unsafe { self.descriptors.decommit(first.0..first.0 + count.0) };
    }

    /// Pages below `end` can be looked up from now on.
    ///
    /// # Safety
    /// 1. The tables are committed up to there, these and all others of the heap.
    pub(crate) unsafe fn extend(&self, end: PageIndex) {
        self.witness.grow();
        self.extent.store(end.byte_offset(), Ordering::Release);
    }

    /// The address that the reservation starts at.
    #[inline(always)]
    pub(crate) fn base(&self) -> usize {
        self.base
    }

    /// How many bytes from the base on can be looked up. Who asks about an address that another thread may have stored observes it
    /// first (`publication::observe`): else an older extent may be seen, and a new object be taken for what lies outside the heap.
    #[inline(always)]
    pub(crate) fn extent(&self) -> usize {
        self.extent.load(Ordering::Relaxed)
    }

    /// The first page that cannot be looked up.
    #[inline(always)]
    pub(crate) fn end(&self) -> PageIndex {
        PageIndex(self.extent() / PAGE_SIZE)
    }

    /// How old pages are.
    #[inline(always)]
    pub(crate) fn ages(&self) -> &YoungPages {
        &self.ages
    }

    /// Where large objects start.
    pub(crate) fn large(&self) -> &LargeObjects {
        &self.large
    }

    /// Whether an address can be looked up.
    #[inline(always)]
    pub(crate) fn contains(&self, address: Address) -> bool {
        address.offset_from(Address::new(self.base)) < self.extent()
    }

    /// The page that an address of the reservation lies in.
    #[inline(always)]
    pub(crate) fn page_of(&self, address: usize) -> PageIndex {
        PageIndex((address - self.base) / PAGE_SIZE)
    }

    /// The first page of the span that an address lies in.
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

    /// The same, of a page that an allocation buffer, a list or the page table names: those of spans that exist.
    #[inline(always)]
    pub(crate) fn at(&self, page: PageIndex) -> &Span {
        debug_assert!(page < self.end());
        // SAFETY: descriptors below the extent are committed, and spans lie there; what changes in them is atomic, but when
        // a span is made, which nobody else knows yet.
        unsafe { &*self.descriptors.at(page.0) }
    }

    /// Fetches the line of a page's descriptor, if a span is likely to begin there soon.
    #[inline(always)]
    pub(crate) fn prefetch(&self, page: PageIndex) {
        crate::prefetch::for_write(self.descriptors.as_ptr().wrapping_add(page.0).cast());
    }

    /// The same of one that is the caller's: a mutator's own, one that is being swept, or one on a list that it holds.
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

    /// Who uses spans as its own.
    #[inline(always)]
    pub(crate) fn witness(&self) -> &Witness {
        &self.witness
    }

    /// Makes pages a span.
    ///
    /// # Safety
    /// 1. The caller has taken the pages, all that the span says, for it; nobody else knows of them.
    /// 2. The span is of the shape given by `kind`.
    pub(crate) unsafe fn add(&self, page: PageIndex, span: Span, kind: ScanKind) {
        let (pages, shape) = (span.pages(), span.shape());
        self.witness.make(page, || span.swept_in());
        // SAFETY: contract 1; pages in use lie below the extent.
        unsafe { self.descriptors.at(page.0).write(span) };
        self.table.set_span(page, pages, kind, shape);
    }

    /// Makes a chunk of an arena, which is of the same pages, anew.
    ///
    /// # Safety
    /// 1. The chunk is the caller's, and no arena's.
    pub(crate) unsafe fn renew(&self, page: PageIndex, span: Span) {
        // SAFETY: contract 1; pages in use lie below the extent.
        unsafe { self.descriptors.at(page.0).write(span) };
    }

    /// A chunk of an arena is none any more. The caller held it.
    pub(crate) fn remove_chunk(&self, page: PageIndex) {
        self.ages.set(page, self.at(page).pages(), 0);
        self.remove(page);
    }

    /// No span has the pages any more. The caller held it.
    pub(crate) fn remove(&self, page: PageIndex) {
        self.witness.end(page);
        self.table.clear_span(page, self.at(page).pages());
    }

    /// Whether a page is the first of a large object.
    pub(crate) fn starts_large(&self, page: PageIndex) -> bool {
        let entry = self.entry(page);
        entry.kind().is_some() && entry.back().0 == 0 && self.at(page).cell_size() == 0
    }

    /// The span that an address lies in.
    #[inline]
    pub(crate) fn find(&self, address: Address) -> Option<&Span> {
        if !self.contains(address) {
            return None;
        }
        let page = self.page_of(address.get());
        // SAFETY: the address lies below the extent.
        let entry = unsafe { self.table.get(page) };
        entry.kind()?;
        Some(self.at(entry.first_page(page)))
    }

    /// All pages in order of address: each free one, and the first of each span with the span.
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
