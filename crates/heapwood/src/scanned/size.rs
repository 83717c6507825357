//! Where the block of a layout lies. Invariant: it follows from the layout alone, so that a block can be freed, and grow in place, without
//! a look at the heap; a size that is a multiple of the alignment begins at one, since spans begin at pages.

use core::alloc::Layout;
use heapwood_heap::{MAX_SMALL, MAX_TABLED, ShapeId, SizeClass};
use heapwood_pages::PAGE_SIZE as PAGE;

/// The kinds of cells: of each size class, scanned or not.
pub(super) const KINDS: usize = match SizeClass::of(MAX_SMALL) {
    Some(last) => 2 * (last.index() + 1),
    None => 0,
};

/// The place of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// A layout of words that may be pointers, or of none.
    pub(super) shape: ShapeId,
    /// The bytes of its cell; of a large block, those that were asked for.
    pub(super) bytes: usize,
    pub(super) is_large: bool,
    /// The number of its kind, below [`KINDS`].
    pub(super) kind: usize,
    /// Its words are scanned.
    pub(super) is_scanned: bool,
}

/// The place of a block of the usual kind: a small one whose alignment is that of any cell. It is the same as [`Place::of`] says.
#[derive(Clone, Copy, Debug)]
pub(super) struct Usual {
    class: SizeClass,
    /// Its words are scanned.
    pub(super) is_scanned: bool,
}

// A class ends there, so a larger block has another.
const _: () = assert!(SizeClass::of_tabled(Usual::MOST).cell_size() == Usual::MOST);

impl Usual {
    /// The largest of them.
    pub(super) const MOST: usize = MAX_TABLED;

    #[inline(always)]
    pub(super) fn of(layout: Layout) -> Option<Usual> {
        if layout.size() > Self::MOST || layout.align() > 16 {
            return None;
        }
        let is_scanned = layout.align() >= align_of::<usize>();
        Some(Usual { class: SizeClass::of_tabled(layout.size().max(1)), is_scanned })
    }

    /// The number of its kind.
    #[inline(always)]
    pub(super) fn kind(self) -> usize {
        kind_of(self.class, self.is_scanned)
    }

    /// As many freed ones a thread keeps.
    #[inline(always)]
    pub(super) fn most_kept(self) -> usize {
        usize::from(MOST_KEPT[self.class.index()])
    }

    /// The bytes of its cell.
    #[inline(always)]
    pub(super) fn bytes(self) -> usize {
        self.class.cell_size()
    }
}

/// The most freed cells of a kind that a thread keeps, and the most bytes.
pub(super) const KEPT_CELLS: usize = 1 << 10;
const KEPT_BYTES: usize = 64 << 10;

/// As many cells of so many bytes.
#[inline(always)]
pub(super) const fn most_kept(bytes: usize) -> usize {
    let cells = KEPT_BYTES / bytes;
    if cells < 2 {
        2
    } else if cells > KEPT_CELLS {
        KEPT_CELLS
    } else {
        cells
    }
}

/// By size class.
static MOST_KEPT: [u16; KINDS / 2] = {
    let mut kept = [0; KINDS / 2];
    let mut size = 1;
    while size <= MAX_SMALL {
        let Some(class) = SizeClass::of(size) else { panic!("a small size has a class") };
        kept[class.index()] = most_kept(class.cell_size()) as u16;
        size = class.cell_size() + 1;
    }
    kept
};

#[inline(always)]
fn kind_of(class: SizeClass, is_scanned: bool) -> usize {
    class.index() * 2 + usize::from(is_scanned)
}

impl Place {
    /// None: the system's.
    #[inline]
    pub(super) fn of(layout: Layout) -> Option<Place> {
        let (size, align) = (layout.size().max(1), layout.align());
        // A `Gc` is aligned to words, and so is what holds one.
        let is_scanned = align >= align_of::<usize>();
        let class = match align {
            ..=16 => SizeClass::of(size),
            _ => Self::aligned_class(size, align)?,
        };
        let shape = if is_scanned { ShapeId::conservative(class) } else { ShapeId::no_pointers(class) };
        Some(match class {
            Some(class) => {
                let kind = kind_of(class, is_scanned);
                Place { shape, bytes: class.cell_size(), is_large: false, kind, is_scanned }
            }
            None => Place { shape, bytes: size, is_large: true, kind: 0, is_scanned },
        })
    }

    /// A class all of whose cells are aligned so, or none for pages.
    #[cold]
    fn aligned_class(size: usize, align: usize) -> Option<Option<SizeClass>> {
        if align > PAGE {
            return None;
        }
        let class = SizeClass::of(size.checked_next_multiple_of(align)?.checked_next_power_of_two()?);
        Some(class.filter(|class| class.cell_size().is_multiple_of(align)))
    }

    /// Whether freed cells of this place wait in boxes: a box takes 4 KiB, so few large cells do not.
    #[inline]
    pub(super) fn may_be_boxed(self) -> bool {
        self.bytes <= MAX_TABLED
    }

    /// Whether a block of this place has the room that another place needs, and not much more.
    pub(super) fn has_room_of(self, other: Place) -> bool {
        let pages = |bytes: usize| bytes.div_ceil(PAGE);
        match (self.is_large, other.is_large) {
            (false, false) => self.shape == other.shape,
            (true, true) => self.shape == other.shape && pages(self.bytes) == pages(other.bytes),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_has_room_and_is_aligned() {
        for shift in 0..=13 {
            for size in (1..200).chain([1000, 5000, 30_000, 40_000, 1 << 20]) {
                let place = Place::of(Layout::from_size_align(size, 1 << shift).unwrap()).unwrap();
                if let Some(usual) = Usual::of(Layout::from_size_align(size, 1 << shift).unwrap()) {
                    let same = (usual.kind(), usual.bytes(), usual.is_scanned);
                    assert_eq!(same, (place.kind, place.bytes, place.is_scanned));
                }
                assert!(place.bytes >= size && place.is_scanned == (shift >= 3), "{size} {shift}: {place:?}");
                let aligned_to = if place.is_large { PAGE } else { place.bytes & place.bytes.wrapping_neg() };
                assert!(aligned_to >= 1 << shift, "{size} {shift}: {place:?}");
            }
        }
        assert_eq!(Place::of(Layout::from_size_align(8, 2 * PAGE).unwrap()), None);
    }
}
