//! Runs: ranges of adjacent free cells in a span, for a buffer to take. Small cells are found by words of the
//! allocation bits: a table has a pattern of cell starts in a page for each class, and a start without an allocation
//! bit is a free cell. Invariant: classes with a pattern have spans of one page, so one pattern fits them all. Larger
//! cells are few and tested one by one.

use crate::alloc::alloc_buffer::{AllocBuffer, chain};
use crate::granule::GRANULE;
use crate::layout::shape::{ScanKind, SmallShape};
use crate::layout::size_class::SizeClass;
use crate::marks::{Marks, PAGE_WORDS};
use crate::space::Space;
use core::ops::Range;
use heapwood_layout::WORD;
use heapwood_pages::PageIndex;

/// The largest cell size with a pattern.
const MAX_PATTERN: usize = 512;
const PATTERNS: usize = match SizeClass::of(MAX_PATTERN) {
    Some(class) => class.index() + 1,
    None => 0,
};

/// The granules of a page in which cells begin, for each class up to [`MAX_PATTERN`].
static STARTS: [[u64; PAGE_WORDS]; PATTERNS] = {
    let mut starts = [[0; PAGE_WORDS]; PATTERNS];
    let mut index = 0;
    while index < PATTERNS {
        let class = SizeClass::new(index);
        assert!(class.span_pages().0 == 1);
        let mut cell = 0;
        while cell < class.span_cells() {
            let granule = cell * class.cell_size() / GRANULE;
            starts[index][granule / 64] |= 1 << (granule % 64);
            cell += 1;
        }
        index += 1;
    }
    starts
};

/// The first run of free cells among the `cells` of a span, which begin at a cell; empty if there is none.
#[inline]
pub(crate) fn free_run(marks: &Marks, class: SizeClass, cells: Range<usize>) -> Range<usize> {
    match STARTS.get(class.index()) {
        Some(pattern) => marks.next_run(cells.start, cells.end, pattern),
        None => marks.next_run_of_large(cells.start, cells.end, class.cell_size()),
    }
}

impl Space {
    /// Moves `buffer` to the next run of free cells of its span, which begins at `page`; false if there is none. The
    /// cells are zero where they may hold pointers, unless each is written as a `whole`.
    #[inline]
    pub(crate) fn next_run(
        &self,
        buffer: &AllocBuffer,
        page: PageIndex,
        shape: SmallShape<'_>,
        whole: bool,
    ) -> bool {
        let (heap, class) = (&self.sweeper.heap, shape.size_class());
        let span = heap.spans.own(page);
        let mut run = free_run(&heap.marks, class, buffer.limit()..span.cells_end());
        if run.is_empty() {
            return false;
        }
        if self.single_cells {
            run.end = run.start + class.cell_size();
        }
        debug_assert!(run.len().is_multiple_of(class.cell_size()));
        if self.must_zero(shape, whole) && !span.is_fresh() {
            // SAFETY: the run's cells are free, and this thread owns the span.
            unsafe { (run.start as *mut u8).write_bytes(0, run.len()) };
        }
        buffer.set_run(run);
        true
    }

    /// Moves `buffer` to the next run of free cells of its span, as [`next_run`](Self::next_run), of at most `bytes` bytes or one cell.
    /// The first word of each cell holds the address of the next one, that of the last 0; other words are zero where they may
    /// hold pointers. Both in one pass.
    pub(crate) fn next_chain(
        &self,
        buffer: &AllocBuffer,
        page: PageIndex,
        shape: SmallShape<'_>,
        bytes: usize,
    ) -> bool {
        let (heap, class) = (&self.sweeper.heap, shape.size_class());
        let span = heap.spans.own(page);
        let mut run = free_run(&heap.marks, class, buffer.limit()..span.cells_end());
        if run.is_empty() {
            return false;
        }
        let most = if self.single_cells { 1 } else { (bytes / class.cell_size()).max(1) };
        run.end = run.end.min(run.start + most * class.cell_size());
        // SAFETY: the run's cells are free, and this thread owns the span.
        unsafe { chain(run.clone(), class.cell_size(), self.must_zero(shape, false) && !span.is_fresh()) };
        buffer.set_run(run);
        true
    }

    /// Whether free cells must be zero before they are allocated.
    #[inline]
    fn must_zero(&self, shape: SmallShape<'_>, whole: bool) -> bool {
        match shape.kind() {
            ScanKind::NoPointers => false,
            ScanKind::Pair | ScanKind::Mask | ScanKind::WideMask => !whole,
            // The room behind a value may look like another value.
            ScanKind::Program => !(whole && self.is_one_value(shape)),
            ScanKind::Slice
            | ScanKind::Conservative
            | ScanKind::AmbiguousMask
            | ScanKind::AmbiguousPrefix
            | ScanKind::Trace
            | ScanKind::Bits
            | ScanKind::Numbered
            | ScanKind::Ephemeron
            | ScanKind::Arena => true,
        }
    }

    /// Whether a cell of a program's shape has one element and no room for another.
    fn is_one_value(&self, shape: SmallShape<'_>) -> bool {
        // SAFETY: the shape was looked up here.
        let Some(nest) = (unsafe { self.shapes.nest_of(&shape) }) else { return false };
        shape.header == 0 && nest.words() > shape.cell_size as u64 / WORD as u64 / 2
    }
}

/// The granules of the first run of cells in a page, of which each begins at a set bit, and at least one does.
pub(crate) fn run_of_bits(class: SizeClass, bits: &[u64; PAGE_WORDS]) -> Range<usize> {
    let first = bits.iter().position(|word| *word != 0).expect("a cell begins in the page");
    let start = first * 64 + bits[first].trailing_zeros() as usize;
    let Some(starts) = STARTS.get(class.index()) else {
        let (cell, mut end) = (class.cell_size() / GRANULE, start);
        while end < PAGE_WORDS * 64 && bits[end / 64] >> (end % 64) & 1 != 0 {
            end += cell;
        }
        return start..end;
    };
    // The run ends at the first cell behind it whose bit is clear.
    let mut others = starts[first] & !bits[first] & (u64::MAX << (start % 64));
    let mut word = first;
    while others == 0 {
        word += 1;
        if word == PAGE_WORDS {
            return start..class.span_cells() * class.cell_size() / GRANULE;
        }
        others = starts[word] & !bits[word];
    }
    start..word * 64 + others.trailing_zeros() as usize
}

/// Calls `f` with the words of a page's bits in which cells of a run begin, and the bits of these. The run begins in that page.
#[inline]
pub(crate) fn for_each_word(class: SizeClass, run: &Range<usize>, mut f: impl FnMut(usize, u64)) {
    if let Some(starts) = STARTS.get(class.index()) {
        let words = run.start / 64..run.end.div_ceil(64);
        return words.for_each(|word| f(word, starts[word] & bits_between(run, word)));
    }
    let mut at = run.start;
    while at < run.end.min(PAGE_WORDS * 64) {
        let (word, mut bits) = (at / 64, 0);
        while at < run.end && at / 64 == word {
            bits |= 1 << (at % 64);
            at += class.cell_size() / GRANULE;
        }
        f(word, bits);
    }
}

/// The bits of a page's word whose granules lie in a range.
#[inline]
fn bits_between(granules: &Range<usize>, word: usize) -> u64 {
    let below = |granule: usize| match granule.saturating_sub(word * 64) {
        some @ 0..64 => !(u64::MAX << some),
        _ => u64::MAX,
    };
    below(granules.end) & !below(granules.start)
}

/// Makes all cells of a range old; `cells` are those of a span of the class. If `marked`, also marks the cells that
/// were not old before. Returns their number.
///
/// # Safety
/// 1. The heap is stopped.
pub(crate) unsafe fn set_all_allocated(
    marks: &Marks,
    class: SizeClass,
    cells: Range<usize>,
    marked: bool,
) -> usize {
    // SAFETY: contract 1.
    unsafe {
        match STARTS.get(class.index()) {
            Some(pattern) => marks.set_all_allocated(cells.start, cells.end, pattern, marked),
            None => cells.step_by(class.cell_size()).filter(|&cell| marks.promote(cell, marked)).count(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::marks::Collection;
    use heapwood_pages::PAGE_SIZE;

    /// The reference: cell by cell.
    fn simple(marks: &Marks, cell: usize, cells: Range<usize>) -> Option<Range<usize>> {
        let start = cells.clone().step_by(cell).find(|&c| !marks.is_allocated(c))?;
        let end = (start..cells.end).step_by(cell).find(|&c| marks.is_allocated(c));
        Some(start..end.unwrap_or(cells.end))
    }

    #[test]
    fn runs_are_those_of_a_walk_cell_by_cell_for_all_classes() {
        const BASE: usize = 1 << 30;
        let mut state = 0x9E37_79B9_7F4A_7C15u64;
        let mut random = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        for class in SizeClass::all() {
            let (cell, pages) = (class.cell_size(), class.span_pages().bytes());
            // One marked cell in N, in spans at different places between full spans.
            for (round, one_in) in [1, 2, 3, 7, 50, u64::MAX].into_iter().cycle().take(60).enumerate() {
                let marks = Marks::new(&heapwood_os::SYSTEM, BASE, 1 << 20).unwrap();
                marks.commit(0, 1 << 20, false).unwrap();
                let start = BASE + PAGE_SIZE * (1 + round % 5);
                let end = start + class.span_cells() * cell;
                let side = marks.mark_side(Collection::Full);
                for granule in (BASE..BASE + (1 << 20)).step_by(GRANULE) {
                    let outside = granule < start || granule >= start + pages;
                    let begins = granule < end && granule >= start && (granule - start).is_multiple_of(cell);
                    if outside || begins && random().is_multiple_of(one_in) {
                        // SAFETY: the bits are committed, and this thread's alone.
                        assert!(unsafe { side.set(granule) });
                    }
                }
                marks.begin_cycle(Collection::Full);
                let mut from = start;
                loop {
                    let run = Some(free_run(&marks, class, from..end)).filter(|run| !run.is_empty());
                    assert_eq!(run, simple(&marks, cell, from..end), "{class:?} from {}", from - start);
                    from = match run {
                        // Runs are taken as a whole, or one cell at a time.
                        Some(run) if round % 2 == 0 => run.end,
                        Some(run) => run.start + cell,
                        None => break,
                    };
                }
            }
        }
    }
}
