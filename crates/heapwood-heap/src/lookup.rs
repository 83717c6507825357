//! From an address to the object it lies in: a range test, one load from the page table, and arithmetic.

use crate::address::{Address, ObjectRef};
use crate::bump::Bumps;
use crate::space::Space;
use crate::span::{Span, first_page};
use core::sync::atomic::Ordering;
use heapwood_pages::{PAGE_SIZE, PageIndex};

/// An object found from an address inside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object {
    /// Its first byte.
    pub base: ObjectRef,
    /// The bytes it may use: its cell, or what a large object was asked for.
    pub bytes: usize,
}

impl Space {
    /// [`Space::find`] for the thread that owns `bumps`, whose runs are looked at first.
    pub(crate) fn find_own(&self, bumps: &Bumps<'_>, addr: Address) -> Option<Object> {
        let span = self.find_span(addr)?;
        let bump = bumps.get(span.shape);
        // Cells below the cursor of the span's owner exist.
        if bump.span() == Some(self.page_of(span.cells_start)) {
            span.set_frontier(bump.cursor.get());
        }
        self.find(addr)
    }

    /// Whether there is an object in a cell of `span`. Below the frontier there is one in each, but the frontier of a
    /// span that has not been swept is that of the cycle before.
    #[inline]
    fn exists(&self, span: &Span, cell: usize) -> bool {
        let swept = span.swept_in.load(Ordering::Relaxed) == self.cycle();
        swept && cell < span.frontier() || self.marks.is_allocated(cell)
    }

    /// The object that `addr` points to or into, if it exists. Exact when all mutators are stopped and flushed;
    /// otherwise objects in the span that a mutator allocates from may be missing.
    #[inline]
    pub fn find(&self, addr: Address) -> Option<Object> {
        let span = self.find_span(addr)?;
        let base = self.cell_in(span, addr)?;
        // A span that its owner makes anew just now may lead anywhere.
        let exists = base <= addr && self.exists(span, base.get());
        exists.then(|| Object { base: ObjectRef::new(base.get()), bytes: span.object_bytes() })
    }

    /// The span that `addr` lies in.
    #[inline]
    pub fn find_span(&self, addr: Address) -> Option<&Span> {
        if !self.contains(addr) {
            return None;
        }
        let page = self.page_of(addr.get());
        let entry = self.table.get(page);
        entry.kind()?;
        // SAFETY: the entry of a page in the heap leads to one.
        Some(unsafe { self.span_unchecked(first_page(page, entry)) })
    }

    /// The first byte of the cell of `span` that `addr` lies in, whether or not an object is there.
    #[inline]
    pub fn cell_in(&self, span: &Span, addr: Address) -> Option<Address> {
        let addr = addr.get();
        if addr < span.cells_start || addr >= span.cells_end {
            return None;
        }
        let index = crate::size_class::cell_at(addr - span.cells_start, span.reciprocal);
        Some(Address::new(span.cells_start + index * span.cell_size as usize))
    }

    pub(crate) fn for_each_span(&self, mut f: impl FnMut(PageIndex, &Span)) {
        let mut page = PageIndex(0);
        let end = PageIndex(self.extent() / PAGE_SIZE);
        while page < end {
            let entry = self.table.get(page);
            if entry.kind().is_none() {
                page = PageIndex(page.0 + 1);
                continue;
            }
            let span = self.span(page);
            f(page, span);
            page = PageIndex(page.0 + span.pages().0);
        }
    }

    pub(crate) fn for_each_object(&self, mut f: impl FnMut(ObjectRef, usize)) {
        self.for_each_span(|_, span| {
            let bytes = span.object_bytes();
            for cell in (span.cells_start..span.cells_end).step_by(bytes) {
                if self.exists(span, cell) {
                    f(ObjectRef::new(cell), bytes);
                }
            }
        });
    }
}
