//! The walker checks a stopped heap against itself: page entries against descriptors, lists against entries, page bits
//! against spans. It also checks mark bits: free pages and swept spans have none on the mark side; during a full
//! marking there is none without an allocation bit.

use crate::alloc::owner::Owner;
use crate::arenas::chunk::ArenaChunk;
use crate::error::ValidationError;
use crate::layout::shape::ScanKind;
use crate::layout::shapes::Shapes;
use crate::reclaim::central::{Central, Listed};
use crate::reclaim::sweeper::Sweeper;
use crate::spans::large_objects::LargeObjects;
use crate::spans::span::Span;
use crate::spans::span_list::SpanList;
use crate::spans::young_pages::{EPOCH, epoch_of};
use heapwood_pages::{PAGE_SIZE, PageIndex};

fn check(ok: bool, page: PageIndex, what: &'static str) -> Result<(), ValidationError> {
    if ok { Ok(()) } else { Err(ValidationError { page, what }) }
}

/// A walk over a stopped heap.
pub(crate) struct Walker<'h> {
    sweeper: &'h Sweeper,
    shapes: &'h Shapes,
    /// The spans met on lists so far.
    listed: usize,
}

impl<'h> Walker<'h> {
    pub(crate) fn new(sweeper: &'h Sweeper, shapes: &'h Shapes) -> Self {
        Walker { sweeper, shapes, listed: 0 }
    }

    /// Checks everything that can be recomputed.
    pub(crate) fn run<'m>(mut self, owners: impl Iterator<Item = Owner<'m>>) -> Result<(), ValidationError> {
        let heap = &self.sweeper.heap;
        let (mut central, end) = (self.sweeper.lock(), heap.spans.end());
        let pages_agree = heap.pages.is_valid().is_ok();
        check(pages_agree, PageIndex(0), "the page allocator's summaries disagree with its bits")?;
        self.lists(&mut central)?;
        let mut cached = central.unfinished().0;
        for owner in owners {
            self.owner(&owner)?;
            cached += owner.cached_pages().0;
        }
        self.large_objects()?;
        self.chunks()?;
        let (mut spans, mut in_use) = (0, 0);
        for (page, span) in heap.spans.walk() {
            match span {
                None => self.free_page(page)?,
                Some(span) => {
                    self.span(page, span)?;
                    spans += 1;
                    in_use += span.pages().0;
                }
            }
        }
        check(spans == self.listed, end, "a span is on no list, or on two")?;
        let in_use = in_use + cached;
        check(in_use == heap.pages.in_use().0, end, "the count of pages in use is wrong")
    }

    fn lists(&mut self, central: &mut Central<'_>) -> Result<(), ValidationError> {
        let heap = &self.sweeper.heap;
        let mut next = central.next_listed(1);
        while let Some(shape) = next {
            let lists = central.lists(shape);
            for Listed { list, swept, untouched, may_have_free } in lists.all() {
                self.list(list, |span, page| {
                    check(span.shape() == shape, page, "a span is on another shape's list")?;
                    let in_cycle = span.is_swept_in(heap.marks.cycle());
                    let agrees = swept.is_none_or(|swept| in_cycle == swept);
                    check(agrees, page, "a span's sweep cycle disagrees with its list")?;
                    check(
                        !untouched || span.has_empty_fresh_range(),
                        page,
                        "an untouched span was allocated from",
                    )?;
                    let full = may_have_free || heap.free_cells(span) == 0;
                    check(full, page, "a span on the full list has free cells")
                })?;
            }
            next = central.next_listed(shape.index() as u32 + 1);
        }
        Ok(())
    }

    /// Checks a mutator's spans: swept ones on lists, and those that it allocates from.
    fn owner(&mut self, owner: &Owner<'_>) -> Result<(), ValidationError> {
        let heap = &self.sweeper.heap;
        let swept = |span: &Span| span.is_swept_in(heap.marks.cycle());
        // Cached spans may have been swept some cycles ago, if nothing was allocated from them since.
        let ready = |span: &Span| swept(span) || span.has_empty_fresh_range();
        let mut result = Ok(());
        owner.for_each_list(|list, may_have_free| {
            let right = self.list(list, |span, page| {
                check(ready(span), page, "a mutator has an unswept cached span")?;
                check(may_have_free || heap.free_cells(span) == 0, page, "a used-up span has free cells")
            });
            result = result.clone().and(right);
        });
        owner.for_each_own_span(|page| {
            self.listed += 1;
            let span = heap.spans.at(page);
            let right = check(swept(span), page, "a mutator allocates from an unswept span");
            result = result.clone().and(right.and(check(
                span.is_held(),
                page,
                "a mutator's span is not marked as held",
            )));
        });
        result
    }

    /// Checks the large objects, which are on no list.
    fn large_objects(&mut self) -> Result<(), ValidationError> {
        let spans = &self.sweeper.heap.spans;
        for page in spans.large().starts(0..LargeObjects::words_below(spans.end())) {
            check(spans.starts_large(page), page, "no large object starts where one should")?;
            self.listed += 1;
        }
        Ok(())
    }

    /// Checks the arena chunks that no arena has.
    fn chunks(&mut self) -> Result<(), ValidationError> {
        let (spans, mut result) = (&self.sweeper.heap.spans, Ok(()));
        self.sweeper.chunks.lock().for_each(spans, |page, state| {
            self.listed += 1;
            let chunk = ArenaChunk::of(spans.at(page));
            let begins = spans.entry(page).is(ScanKind::Arena) && spans.entry(page).back().0 == 0;
            let right = check(
                begins && chunk.state() == state,
                page,
                "a free arena chunk is on the list of another state",
            );
            result = result.clone().and(right);
        });
        result
    }

    /// Checks that the chunk's next in the ring is a chunk in use of the same arena.
    fn ring(&self, page: PageIndex, chunk: ArenaChunk<'_>) -> Result<(), ValidationError> {
        let spans = &self.sweeper.heap.spans;
        let next = PageIndex(chunk.next() as usize);
        let is_chunk = spans.entry(next).is(ScanKind::Arena) && spans.entry(next).back().0 == 0;
        let follows = is_chunk && {
            let next = ArenaChunk::of(spans.at(next));
            next.is_in_use() && next.arena() == chunk.arena()
        };
        check(follows, page, "an arena chunk leads to none of the same arena")?;
        let ordered = chunk.seen() <= chunk.frontier() && chunk.frontier() <= chunk.end();
        check(ordered, page, "an arena chunk is used beyond its end")
    }

    /// Follows a list through its batches.
    fn list(
        &mut self,
        list: SpanList,
        each: impl Fn(&Span, PageIndex) -> Result<(), ValidationError>,
    ) -> Result<(), ValidationError> {
        let spans = &self.sweeper.heap.spans;
        let mut met = 0;
        for (page, right) in list.walk(spans) {
            let entry = spans.entry(page);
            let begins = entry.kind().is_some() && entry.back().0 == 0;
            check(begins, page, "a list leads to no span's start")?;
            each(spans.at(page), page)?;
            check(right, page, "a list has a wrong batch or length")?;
            (met, self.listed) = (met + 1, self.listed + 1);
        }
        check(met == list.len(), spans.end(), "a list ends before its last span")
    }

    fn free_page(&self, page: PageIndex) -> Result<(), ValidationError> {
        let (marks, start) = (&self.sweeper.heap.marks, self.sweeper.heap.spans.address_of(page));
        let clear = marks.count_allocated(start, start + PAGE_SIZE) == 0;
        check(clear, page, "a free page has allocation bits")?;
        check(marks.marks_clear(start, start + PAGE_SIZE), page, "a free page has mark bits")
    }

    fn span(&self, page: PageIndex, span: &Span) -> Result<(), ValidationError> {
        let heap = &self.sweeper.heap;
        let (spans, marks) = (&heap.spans, &heap.marks);
        let entry = spans.entry(page);
        check(entry.back().0 == 0, page, "a span's first page is missing")?;
        let shape = self.shapes.shape(span.shape());
        check(entry.shape() == span.shape(), page, "a page's shape is not its span's")?;
        check(entry.is(shape.kind()), page, "a page's scan kind is not its shape's")?;
        check(span.cell_size() == shape.cell_size, page, "a span's cell size is not its shape's")?;
        let (frontier, cells) = (span.frontier(), span.cells_start()..=span.cells_end());
        let cell = (span.cell_size() as usize).max(1);
        let is_at_cell = (frontier - span.cells_start()).is_multiple_of(cell);
        check(cells.contains(&frontier) && is_at_cell, page, "a frontier is not at a cell")?;
        for back in 0..span.pages().0 {
            let at = PageIndex(page.0 + back);
            let in_use = heap.pages.with(|pages| pages.is_in_use(at));
            check(in_use, at, "a span's page is free in the page bitmap")?;
            let e = spans.entry(at);
            let agrees = e.back().0 == back && e.shape() == span.shape() && e.kind() == entry.kind();
            check(agrees, at, "a page inside a span has a wrong entry")?;
        }
        let (start, end) = (spans.address_of(page), spans.address_of(page) + span.pages().bytes());
        let at_cells = span.iter().filter(|cell| marks.is_allocated(cell.get())).count();
        let all = marks.count_allocated(start, end);
        let chunk = entry.is(ScanKind::Arena).then(|| ArenaChunk::of(span));
        let has_inside = chunk.is_some_and(ArenaChunk::has_marks_inside);
        check(at_cells == all || has_inside, page, "an allocation bit is not at a cell's start")?;
        if let Some(chunk) = chunk {
            if !chunk.is_in_use() {
                let is_clear = has_inside || all == 0 && marks.marks_clear(start, end);
                return check(is_clear, page, "a free arena chunk has bits");
            }
            self.ring(page, chunk)?;
        }
        let swept = span.is_swept_in(marks.cycle());
        let is_young = spans.young_pages().get(page) & EPOCH == epoch_of(marks.cycle());
        // An object in a freed cell gets its bit at once.
        let no_old = all == 0 || heap.freed.are_in_use();
        check(!is_young || swept && no_old, page, "a young page is part of a span with old objects")?;
        if marks.is_concurrent_marking() {
            let agree = marks.marks_are_allocated(start, end);
            return check(agree, page, "an object is marked that did not exist when the marking began");
        }
        check(!swept || marks.marks_clear(start, end), page, "a swept span has mark bits")
    }
}
