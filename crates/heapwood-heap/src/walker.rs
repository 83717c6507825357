//! The walker: checks a stopped space against itself. Page entries against descriptors, lists against entries,
//! page bits against spans, mark bits against the rule that free pages and swept spans have none on the mark side.

use crate::space::Space;
use crate::span::NO_SPAN;
use core::fmt;
use core::sync::atomic::Ordering;
use heapwood_pages::{PAGE_SIZE, PageIndex};

/// The first thing found wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid {
    /// The page it was found at.
    pub page: PageIndex,
    /// What is wrong there.
    pub what: &'static str,
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "page {}: {}", self.page.0, self.what)
    }
}

impl core::error::Error for Invalid {}

impl Space {
    pub(crate) fn is_valid(&self) -> Result<(), Invalid> {
        let mut central = self.central.lock();
        let check = |ok: bool, page: PageIndex, what| if ok { Ok(()) } else { Err(Invalid { page, what }) };
        if self.pages.is_valid().is_err() {
            return Err(Invalid {
                page: PageIndex(0),
                what: "the page allocator's summaries disagree with its bits",
            });
        }
        let end = central.high_water;
        let mut listed = 0usize;
        let mut next = central.next_listed(1);
        while let Some(shape) = next {
            let lists = *central.lists(self, shape);
            let state = [(lists.unswept, false), (lists.partial, true), (lists.full, true)];
            for (which, (list, swept)) in state.into_iter().enumerate() {
                let (mut at, mut last) = (list.first(), None);
                while let Some(page) = at {
                    check(page < end, page, "a list leads outside the heap")?;
                    let entry = self.table.get(page);
                    check(
                        entry.kind().is_some() && entry.back().0 == 0,
                        page,
                        "a list leads to no span's start",
                    )?;
                    let span = self.span(page);
                    check(span.shape == shape, page, "a span is on another shape's list")?;
                    let in_cycle = span.swept_in.load(Ordering::Relaxed) == self.cycle();
                    check(in_cycle == swept, page, "a span's sweep cycle disagrees with its list")?;
                    let is_full_list = which == 2;
                    check(
                        !is_full_list || self.free_cells(page) == 0,
                        page,
                        "a span on the full list has free cells",
                    )?;
                    listed += 1;
                    check(listed <= end.0, page, "a list has a cycle")?;
                    last = Some(page);
                    at = (span.next != NO_SPAN).then_some(PageIndex(span.next as usize));
                }
                check(last == list.last(), last.unwrap_or(end), "a list ends before its tail")?;
            }
            next = central.next_listed(shape.index() as u32 + 1);
        }
        let (mut spans, mut in_use, mut page) = (0usize, 0usize, PageIndex(0));
        while page < end {
            let entry = self.table.get(page);
            let Some(kind) = entry.kind() else {
                let start = self.address_of(page);
                let clear = self.marks.count_allocated(start, start + PAGE_SIZE) == 0;
                check(clear, page, "a free page has allocation bits")?;
                check(self.marks.marks_clear(start, start + PAGE_SIZE), page, "a free page has mark bits")?;
                page = PageIndex(page.0 + 1);
                continue;
            };
            check(entry.back().0 == 0, page, "a span's first page is missing")?;
            let span = self.span(page);
            let shape = self.shape(span.shape);
            check(entry.shape() == span.shape, page, "a page's shape is not its span's")?;
            check(kind == shape.kind(), page, "a page's scan kind is not its shape's")?;
            check(span.cell_size == shape.cell_size, page, "a span's cell size is not its shape's")?;
            let frontier = span.frontier();
            check(
                (span.cells_start..=span.cells_end).contains(&frontier)
                    && (frontier - span.cells_start).is_multiple_of(span.object_bytes()),
                page,
                "a frontier is not at a cell",
            )?;
            for back in 0..span.pages().0 {
                let at = PageIndex(page.0 + back);
                check(
                    self.pages.with(|pages| pages.is_in_use(at)),
                    at,
                    "a span's page is free in the page bitmap",
                )?;
                let e = self.table.get(at);
                let agrees = e.back().0 == back && e.shape() == span.shape && e.kind() == Some(kind);
                check(agrees, at, "a page inside a span has a wrong entry")?;
            }
            let (start, bytes) = (self.address_of(page), span.pages().0 * PAGE_SIZE);
            let at_cells = (span.cells_start..span.cells_end)
                .step_by(span.object_bytes())
                .filter(|&c| self.marks.is_allocated(c))
                .count();
            let all = self.marks.count_allocated(start, start + bytes);
            check(at_cells == all, page, "an allocation bit is not at a cell's start")?;
            if span.swept_in.load(Ordering::Relaxed) == self.cycle() {
                check(self.marks.marks_clear(start, start + bytes), page, "a swept span has mark bits")?;
            }
            spans += 1;
            in_use += span.pages().0;
            page = PageIndex(page.0 + span.pages().0);
        }
        check(spans == listed, end, "a span is on no list, or on two")?;
        let in_use = in_use + central.unfinished.0;
        check(in_use == self.pages.in_use().0, end, "the count of pages in use is wrong")
    }
}
