//! Size classes: the cell sizes that small objects are rounded up to.
//!
//! Up to 256 bytes the classes are the multiples of 16, the granule of mark bits. Above, each doubling is cut into
//! eight equal steps, up to 32 KiB. So a cell wastes at most 1/8, from 128 bytes on. A span of a class is the fewest
//! pages that waste at most 1/8 at the end and hold enough cells: sixteen up to 2 KiB, since in a fragmented heap sweeping
//! and refilling cost by the span. Tests assert both bounds over all sizes. The idea is tcmalloc's; the
//! steps make the class of a size arithmetic. For sizes known only at run time, tables made by that arithmetic replace
//! it: the class of each size up to 2 KiB, and the cell size and span of each class.

use crate::granule::GRANULE;
use heapwood_pages::{PAGE_SIZE, PageCount};

/// The number of classes.
pub(crate) const CLASSES: usize = 72;
/// The largest size with a class; larger objects get pages of their own.
pub const MAX_SMALL: usize = 32 << 10;
/// The fewest pages of a span. One page was as fast as four or eight (docs/design/memory.md), and wastes least.
pub(crate) const MIN_SPAN_PAGES: usize = 1;

const LINEAR: usize = 16;
const STEPS: usize = 8;
const LINEAR_MAX: usize = LINEAR * GRANULE;

/// The largest size in the table of classes.
pub const MAX_TABLED: usize = 2 << 10;

/// The class of each number of granules up to [`MAX_TABLED`].
static CLASS_OF: [u8; MAX_TABLED / GRANULE + 1] = {
    let mut classes = [0; MAX_TABLED / GRANULE + 1];
    let mut granules = 0;
    while granules < classes.len() {
        classes[granules] = match SizeClass::computed(granules * GRANULE) {
            Some(class) => class.0,
            None => panic!("a size in the table has a class"),
        };
        granules += 1;
    }
    classes
};

/// The cell size of each class.
static CELL_SIZE: [u16; CLASSES] = {
    let mut sizes = [0; CLASSES];
    let mut index = 0;
    while index < CLASSES {
        sizes[index] = SizeClass::new(index).computed_cell_size() as u16;
        index += 1;
    }
    sizes
};
const _: () = assert!(MAX_SMALL <= u16::MAX as usize);

/// The pages of a span of each class.
static SPAN_PAGES: [u8; CLASSES] = {
    let mut pages = [0; CLASSES];
    let mut index = 0;
    while index < CLASSES {
        pages[index] = SizeClass::new(index).computed_span_pages() as u8;
        index += 1;
    }
    pages
};

/// [`reciprocal`] of the cell size of each class.
static RECIPROCAL: [u32; CLASSES] = {
    let mut reciprocals = [0; CLASSES];
    let mut index = 0;
    while index < CLASSES {
        reciprocals[index] = reciprocal(SizeClass::new(index).computed_cell_size()) as u32;
        index += 1;
    }
    reciprocals
};
const _: () = assert!(reciprocal(GRANULE) <= u32::MAX as u64);

/// The number of a size class, below the number of classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SizeClass(u8);

impl SizeClass {
    /// The class with number `index`.
    pub const fn new(index: usize) -> Self {
        assert!(index < CLASSES);
        SizeClass(index as u8)
    }

    /// The smallest class whose cells hold `bytes`, or `None` above [`MAX_SMALL`].
    #[inline]
    pub const fn of(bytes: usize) -> Option<Self> {
        if bytes <= MAX_TABLED {
            return Some(SizeClass::of_tabled(bytes));
        }
        SizeClass::computed(bytes)
    }

    /// The same for sizes up to [`MAX_TABLED`].
    #[inline(always)]
    pub const fn of_tabled(bytes: usize) -> Self {
        SizeClass(CLASS_OF[bytes.div_ceil(GRANULE)])
    }

    const fn computed(bytes: usize) -> Option<Self> {
        if bytes > MAX_SMALL {
            return None;
        }
        if bytes <= LINEAR_MAX {
            let bytes = if bytes == 0 { 1 } else { bytes };
            return Some(SizeClass((bytes.div_ceil(GRANULE) - 1) as u8));
        }
        let last = bytes - 1;
        let doubling = last.ilog2() as usize - LINEAR_MAX.ilog2() as usize;
        let step = (last >> (doubling + 5)) % STEPS;
        Some(SizeClass((LINEAR + doubling * STEPS + step) as u8))
    }

    /// The class's number.
    #[inline(always)]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The size of its cells in bytes, a multiple of [`GRANULE`].
    #[inline(always)]
    pub const fn cell_size(self) -> usize {
        CELL_SIZE[self.index()] as usize
    }

    const fn computed_cell_size(self) -> usize {
        let i = self.index();
        if i < LINEAR {
            return (i + 1) * GRANULE;
        }
        let doubling = (i - LINEAR) / STEPS;
        let step = (i - LINEAR) % STEPS;
        (LINEAR_MAX << doubling) + (step + 1) * ((LINEAR_MAX / STEPS) << doubling)
    }

    /// The offset of the cell that holds the byte at this offset in a span.
    #[inline(always)]
    pub fn cell_of(self, offset: usize) -> usize {
        cell_at(offset, RECIPROCAL[self.index()] as u64) * self.cell_size()
    }

    /// The pages of a span of this class.
    #[inline(always)]
    pub const fn span_pages(self) -> PageCount {
        PageCount(SPAN_PAGES[self.index()] as usize)
    }

    const fn computed_span_pages(self) -> usize {
        let size = self.cell_size();
        let least = match size {
            ..=2048 => 16,
            2049..=8192 => 4,
            _ => 2,
        };
        let mut pages = MIN_SPAN_PAGES;
        loop {
            let bytes = pages * PAGE_SIZE;
            let cells = bytes / size;
            if cells >= least && (bytes - cells * size) * 8 <= bytes {
                return pages;
            }
            pages += 1;
        }
    }

    /// The cells of a span of this class.
    pub const fn span_cells(self) -> usize {
        self.span_pages().bytes() / self.cell_size()
    }

    /// All classes, smallest first.
    pub fn all() -> impl Iterator<Item = SizeClass> {
        (0..CLASSES).map(SizeClass::new)
    }
}

/// `2^32 / cell` rounded up: the factor that turns an offset into a cell number without division.
pub(crate) const fn reciprocal(cell: usize) -> u64 {
    (1u64 << 32).div_ceil(cell as u64)
}

/// The number of the cell at `offset` bytes in a span. It may be any if the two are of different spans, as where one is
/// made just now.
#[inline(always)]
pub(crate) fn cell_at(offset: usize, reciprocal: u64) -> usize {
    ((offset as u64).wrapping_mul(reciprocal) >> 32) as usize
}

const _: () = assert!(SizeClass::new(CLASSES - 1).cell_size() == MAX_SMALL);
const _: () = assert!(PAGE_SIZE.is_multiple_of(GRANULE));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_of_a_span_is_in_its_cell() {
        for class in SizeClass::all() {
            let cell = class.cell_size();
            for offset in 0..class.span_pages().bytes() {
                assert_eq!(class.cell_of(offset), offset / cell * cell, "{class:?} {offset}");
            }
        }
    }

    #[test]
    fn every_size_gets_the_smallest_class_that_holds_it() {
        assert_eq!(SizeClass::of(MAX_SMALL + 1), None);
        for bytes in 0..=MAX_SMALL {
            let class = SizeClass::of(bytes).unwrap();
            assert!(class.cell_size() >= bytes);
            if class.index() > 0 {
                assert!(SizeClass::new(class.index() - 1).cell_size() < bytes.max(1));
            }
        }
    }

    #[test]
    fn worst_waste_inside_a_cell() {
        let waste = |bytes: usize| {
            let cell = SizeClass::of(bytes).unwrap().cell_size();
            (cell - bytes) as f64 / cell as f64
        };
        let worst = (129..=MAX_SMALL).map(waste).fold(0.0, f64::max);
        assert!(worst < 1.0 / 8.0, "{worst}");
        assert!((1..=128).all(|b| SizeClass::of(b).unwrap().cell_size() - b < GRANULE));
    }

    #[test]
    fn worst_waste_at_the_end_of_a_span() {
        for class in SizeClass::all() {
            let bytes = class.span_pages().0 * PAGE_SIZE;
            let used = class.span_cells() * class.cell_size();
            assert!((bytes - used) * 7 <= bytes, "{class:?}: {used} of {bytes}");
            assert!(class.span_pages().0 <= 16.max(MIN_SPAN_PAGES), "{class:?}");
        }
    }
}
