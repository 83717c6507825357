//! A type as a heap knows it. Invariant: types of one size class and one layout have one shape, and a shape gives the
//! pointers in all its objects.

use heapwood_heap::{MAX_ELEMENT_WORDS, ProgramId, Scan, ShapeId, SizeClass};
use heapwood_layout::{Layout, TypeDescriptor, WORD};

/// A type as a heap knows it: a size and a shape that match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectType {
    size: usize,
    shape: ShapeId,
}

impl ObjectType {
    /// The type of objects of `size` bytes, not 0, of this shape.
    pub(crate) const fn new(size: usize, shape: ShapeId) -> Self {
        ObjectType { size, shape }
    }

    /// Objects of `size` bytes, not 0, without pointers.
    pub const fn no_pointers(size: usize) -> Self {
        Self::new(size, ShapeId::no_pointers(SizeClass::of(size)))
    }

    /// Objects of `size` bytes, not 0, in which any word may be a pointer.
    pub const fn conservative(size: usize) -> Self {
        Self::new(size, ShapeId::conservative(SizeClass::of(size)))
    }

    /// Bytes of an object.
    #[inline(always)]
    pub const fn size(self) -> usize {
        self.size
    }

    /// The shape of its objects.
    #[inline(always)]
    pub const fn shape(self) -> ShapeId {
        self.shape
    }

    /// The size of its cells; `None` if each object has pages of its own.
    pub fn cell_size(self) -> Option<usize> {
        SizeClass::of(self.size).map(SizeClass::cell_size)
    }
}

/// The form in which a heap keeps a type that a program describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Described {
    /// A mask, to be registered.
    Mask(TypeDescriptor),
    /// A registered program.
    Program(ProgramId),
}

/// The scan of a slice of `element`s after `header` words without pointers. An element with a trace function has no
/// slices: its function knows only single objects.
pub const fn slice_scan(element: &TypeDescriptor, header: u8) -> Option<Scan> {
    Some(match element.layout() {
        Layout::NoPointers => Scan::Layout(Layout::NoPointers),
        Layout::Conservative => Scan::Layout(Layout::Conservative),
        Layout::Mask(mask) if element.size() / WORD <= MAX_ELEMENT_WORDS => {
            Scan::Slice { header, words: element.size() / WORD, mask: mask.bits() }
        }
        // Only the first words of such an element have pointers, but no slice has such long elements.
        Layout::Mask(_) => Scan::Layout(Layout::Conservative),
        Layout::Trace(_) => return None,
    })
}
