//! Where the memory behind a stopped heap's pages is: each byte in one part. The spans are found on the lists and with
//! their mutators, not by a walk over the pages; so a span that is lost, or on two lists, shows in the sum. Cells are
//! counted a word of bits at a time, for this may be asked of a large heap that runs. Invariants: the parts of a class
//! add up to its pages, and all parts to the pages that the page allocator takes for resident; the heap is not changed.

use crate::alloc::owner::Owner;
use crate::layout::shape_id::ShapeId;
use crate::layout::size_class::{CLASSES, SizeClass};
use crate::marks::Marks;
use crate::pages::page_heap::PageHeap;
use crate::reclaim::sweeper::Sweeper;
use crate::spans::large_objects::LargeObjects;
use crate::spans::span::Span;
use core::ops::Range;
use heapwood_pages::PageCount;

/// The number of [`ClassParts`] of a heap: one for each size class, and one for large objects.
pub const CLASS_PARTS: usize = CLASSES + 1;

/// The memory of the spans of a size class, or of large objects, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct ClassParts {
    /// The size of its cells; 0 for large objects.
    pub cell: usize,
    /// The number of spans; that of large objects.
    pub spans: usize,
    /// Bytes of their pages, which the following parts add up to.
    pub bytes: usize,
    /// Objects that a collection has found alive or promoted.
    pub old: usize,
    /// Objects made since the last collection.
    pub young: usize,
    /// Cells that the program has freed, before they are used again or swept.
    pub freed: usize,
    /// Dead cells, until their spans are swept.
    pub unswept: usize,
    /// Free cells of swept spans on the central lists.
    pub partial: usize,
    /// Free cells of spans that mutators have cached.
    pub cached: usize,
    /// Free cells of the spans that mutators allocate from.
    pub open: usize,
    /// The ends of spans that no cell fits into, and those of the last pages of large objects.
    pub tails: usize,
}

/// Where the memory of a heap's pages is, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct SpaceParts {
    /// Spans by size class, in order of size, and large objects last.
    pub classes: [ClassParts; CLASS_PARTS],
    /// Pages of large objects under construction.
    pub unfinished: usize,
    /// Pages that mutators have cached.
    pub cached_pages: usize,
    /// Free pages that may be resident; those being released among them.
    pub free_pages: usize,
    /// Pages of arenas that are open or referred to.
    pub arenas: usize,
    /// Chunks for the next arenas, as far as they have memory.
    pub free_arenas: usize,
    /// Chunks in quarantine, as far as they have memory.
    pub quarantined: usize,
    /// All pages that may be resident, as the page allocator counts them, without chunks that have no memory.
    pub backed: usize,
}

/// Who has the free cells of a span.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Holder {
    /// Nobody: it is not swept.
    Unswept,
    /// The central lists.
    Central,
    /// A mutator, for later.
    Cache,
    /// A mutator's buffer.
    Buffer,
}

impl ClassParts {
    /// The sum of the parts.
    pub fn total(&self) -> usize {
        let ClassParts { old, young, freed, unswept, partial, cached, open, tails, .. } = *self;
        old + young + freed + unswept + partial + cached + open + tails
    }

    /// Adds the spans of another class.
    pub fn add(&mut self, other: &ClassParts) {
        let ClassParts { cell: _, spans, bytes, old, young, freed, unswept, partial, cached, open, tails } =
            *other;
        self.spans += spans;
        self.bytes += bytes;
        self.old += old;
        self.young += young;
        self.freed += freed;
        self.unswept += unswept;
        self.partial += partial;
        self.cached += cached;
        self.open += open;
        self.tails += tails;
    }

    /// Adds a span of cells.
    fn add_cells(&mut self, heap: &PageHeap, span: &Span, holder: Holder) {
        let (cell, pages) = (span.object_bytes(), span.pages().bytes());
        // Of a span that was swept in another cycle the fresh range says nothing, or is empty.
        let fresh = match span.is_swept_in(heap.marks.cycle()) {
            true => span.fresh_range_start()..span.frontier(),
            false => span.cells_start()..span.cells_start(),
        };
        let bits = Bits::of(heap, span, &fresh);
        let young = fresh.len() / cell - bits.known_in_fresh;
        let free = span.cells() - bits.old - young - bits.freed;
        // Below the fresh range a cell is used again only when the span was swept.
        let dead = match holder {
            Holder::Unswept => free,
            _ => (fresh.start - span.cells_start()) / cell - bits.below_fresh,
        };
        *match holder {
            Holder::Unswept | Holder::Central => &mut self.partial,
            Holder::Cache => &mut self.cached,
            Holder::Buffer => &mut self.open,
        } += (free - dead) * cell;
        self.old += bits.old * cell;
        self.young += young * cell;
        self.freed += bits.freed * cell;
        self.unswept += dead * cell;
        self.tails += pages - span.cells() * cell;
        self.bytes += pages;
        self.spans += 1;
    }

    /// Adds a large object, alive or not.
    fn add_large(&mut self, heap: &PageHeap, span: &Span) {
        let (start, pages) = (span.cells_start(), span.pages().bytes());
        let object = span.object_bytes();
        *match (heap.exists(span, start), heap.marks.is_allocated(start)) {
            (true, true) => &mut self.old,
            (true, false) => &mut self.young,
            (false, _) if heap.freed.is_freed(start) => &mut self.freed,
            (false, _) => &mut self.unswept,
        } += object;
        self.tails += pages - object;
        self.bytes += pages;
        self.spans += 1;
    }
}

/// The bits of a span's cells, counted.
struct Bits {
    /// Cells with an allocation bit that were not freed.
    old: usize,
    /// Freed cells that are no free cells yet.
    freed: usize,
    /// Cells of the fresh range with either bit.
    known_in_fresh: usize,
    /// Cells below the fresh range with an allocation bit.
    below_fresh: usize,
}

impl Bits {
    fn of(heap: &PageHeap, span: &Span, fresh: &Range<usize>) -> Bits {
        let ones = |word: u64| word.count_ones() as usize;
        let start = span.cells_start();
        let mut bits = Bits { old: 0, freed: 0, known_in_fresh: 0, below_fresh: 0 };
        for at in (start..start + span.pages().bytes()).step_by(Marks::WORD_BYTES) {
            let (allocated, freed) = (heap.marks.allocated_word(at), heap.freed.word_at(at));
            let (below, in_fresh) =
                (Marks::bits_in(at, start..fresh.start), Marks::bits_in(at, fresh.clone()));
            bits.old += ones(allocated & !freed);
            bits.freed += ones(freed & (allocated | in_fresh));
            bits.known_in_fresh += ones(in_fresh & (allocated | freed));
            bits.below_fresh += ones(below & allocated);
        }
        bits
    }
}

impl SpaceParts {
    /// The parts of a stopped heap, whose mutators are `owners` and have published their cursors.
    pub(crate) fn of<'m>(sweeper: &Sweeper, owners: impl Iterator<Item = Owner<'m>>) -> SpaceParts {
        let mut parts = SpaceParts {
            classes: core::array::from_fn(|class| ClassParts {
                cell: if class < CLASSES { SizeClass::new(class).cell_size() } else { 0 },
                ..ClassParts::default()
            }),
            unfinished: sweeper.lock().unfinished().bytes(),
            cached_pages: 0,
            free_pages: 0,
            arenas: 0,
            free_arenas: 0,
            quarantined: 0,
            backed: 0,
        };
        parts.add_central(sweeper);
        owners.for_each(|owner| parts.add_owner(&sweeper.heap, &owner));
        parts.add_large(&sweeper.heap);
        parts.add_pages(sweeper);
        parts
    }

    /// The sum of all parts.
    pub fn total(&self) -> usize {
        let SpaceParts { unfinished, cached_pages, free_pages, arenas, free_arenas, quarantined, .. } = *self;
        let spans: usize = self.classes.iter().map(ClassParts::total).sum();
        spans + unfinished + cached_pages + free_pages + arenas + free_arenas + quarantined
    }

    /// The sum over all classes.
    pub fn of_spans(&self) -> ClassParts {
        let mut sum = ClassParts::default();
        self.classes.iter().for_each(|class| sum.add(class));
        sum
    }

    fn add_span(&mut self, heap: &PageHeap, span: &Span, holder: Holder) {
        let class = SizeClass::of(span.object_bytes()).expect("cells have a size class");
        self.classes[class.index()].add_cells(heap, span, holder);
    }

    /// Adds the spans that no mutator has. The lists of one shape at a time are copied under the lock: nobody changes
    /// them in a stopped heap, and a walk under it would count as a long hold.
    fn add_central(&mut self, sweeper: &Sweeper) {
        let spans = &sweeper.heap.spans;
        let mut next = sweeper.lock().next_listed(1);
        while let Some(shape) = next {
            let lists = *sweeper.lock().lists(shape);
            for listed in lists.all() {
                let holder = if listed.swept == Some(false) { Holder::Unswept } else { Holder::Central };
                for (page, _) in listed.list.walk(spans) {
                    self.add_span(&sweeper.heap, spans.at(page), holder);
                }
            }
            next = sweeper.lock().next_listed(shape.index() as u32 + 1);
        }
    }

    /// Adds what a mutator has.
    fn add_owner(&mut self, heap: &PageHeap, owner: &Owner<'_>) {
        let spans = &heap.spans;
        self.cached_pages += owner.cached_pages().bytes();
        owner.for_each_list(|list, _| {
            list.walk(spans).for_each(|(page, _)| self.add_span(heap, spans.at(page), Holder::Cache));
        });
        owner.for_each_own_span(|page| self.add_span(heap, spans.at(page), Holder::Buffer));
    }

    /// Adds the large objects, and the chunks that arenas have.
    fn add_large(&mut self, heap: &PageHeap) {
        let spans = &heap.spans;
        for page in spans.large().starts(0..LargeObjects::words_below(spans.end())) {
            let span = spans.at(page);
            match span.shape() == ShapeId::ARENA {
                true => self.arenas += span.pages().bytes(),
                false => self.classes[CLASSES].add_large(heap, span),
            }
        }
    }

    /// Adds the chunks that no arena has, and free pages.
    fn add_pages(&mut self, sweeper: &Sweeper) {
        let (heap, spans) = (&sweeper.heap, &sweeper.heap.spans);
        // Both at one moment: the heap's own thread releases memory of either in a stop, too.
        let chunks = sweeper.chunks.lock();
        let pages = heap.pages.stats();
        let (free, quarantined) = chunks.bytes_with_memory(spans);
        (self.free_arenas, self.quarantined) = (free, quarantined);
        self.free_pages = PageCount(pages.backed().0 - pages.in_use().0).bytes();
        self.backed = pages.backed().bytes() - chunks.bytes_without_memory();
    }
}
