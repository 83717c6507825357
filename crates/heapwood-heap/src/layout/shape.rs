//! Shapes: a size class with a layout, common to all cells of a span (Go's span class).
//!
//! All types of one class and one layout share a shape, and a span holds cells of one shape. So the page of an object
//! gives its layout, without a word in the object; in a shared span the record beside the heap gives it (`per_object`).
//! Invariant: a shape never changes once its number has been given out (`shape_id`).

use crate::layout::pointer_bits::ROOM_FOR_NUMBER;
use crate::layout::program_id::ProgramId;
use crate::layout::shape_id::{EPHEMERON_BYTES, PerObject, ShapeId, WellKnown};
use crate::layout::size_class::{MAX_SMALL, SizeClass};
use crate::layout::trace_call::TraceCall;
use core::ops::Deref;
use heapwood_layout::{Layout, MASK_BLOCKS, MAX_MASK_WORDS, Program, TraceFn, TraceWithFn, TypeDescriptor};
use heapwood_os::memory::mapped_index::hash;
use heapwood_os::memory::region::Zeroed;

/// The most words of an element of a slice that is scanned by a mask.
pub const MAX_ELEMENT_WORDS: usize = u16::MAX as usize;

/// The way that objects of a shape are scanned. Every page entry contains the discriminant; 0 there means no object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ScanKind {
    /// Nothing to scan.
    NoPointers = 1,
    /// Two words, both pointers.
    Pair = 2,
    /// A mask of at most 64 words.
    Mask = 3,
    /// A mask of up to [`MAX_MASK_WORDS`] words.
    WideMask = 4,
    /// An element's mask repeated to the end of the object, after a header.
    Slice = 5,
    /// Every word may be a pointer.
    Conservative = 6,
    /// The type brings a function.
    Trace = 7,
    /// Each object has bits beside the heap.
    Bits = 8,
    /// A program repeated to the end of the object, after a header.
    Program = 9,
    /// Each object has the number of its shape beside the heap.
    Numbered = 10,
    /// An arena chunk, in use or not; its values have bits beside the heap.
    Arena = 11,
    /// An ephemeron: a key that is no edge, and a value that is one if something else leads to the key.
    Ephemeron = 12,
    /// A mask of up to [`MAX_MASK_WORDS`] words, each of which may be a pointer.
    AmbiguousMask = 13,
    /// Each of the first words may be a pointer.
    AmbiguousPrefix = 14,
}

impl ScanKind {
    /// Whether words of its objects may be pointers or anything else.
    #[inline(always)]
    pub fn has_ambiguous_words(self) -> bool {
        matches!(self, ScanKind::Conservative | ScanKind::AmbiguousMask | ScanKind::AmbiguousPrefix)
    }

    /// The kind with this discriminant.
    #[inline(always)]
    pub(crate) fn from_bits(bits: u8) -> Option<Self> {
        Some(match bits {
            1 => ScanKind::NoPointers,
            2 => ScanKind::Pair,
            3 => ScanKind::Mask,
            4 => ScanKind::WideMask,
            5 => ScanKind::Slice,
            6 => ScanKind::Conservative,
            7 => ScanKind::Trace,
            8 => ScanKind::Bits,
            9 => ScanKind::Program,
            10 => ScanKind::Numbered,
            11 => ScanKind::Arena,
            12 => ScanKind::Ephemeron,
            13 => ScanKind::AmbiguousMask,
            14 => ScanKind::AmbiguousPrefix,
            _ => return None,
        })
    }
}

/// The places of the pointers in an object.
#[derive(Clone, Copy, Debug)]
pub enum Scan {
    /// By a layout.
    Layout(Layout),
    /// A function that takes a word reports them.
    Trace {
        /// The function.
        function: TraceWithFn,
        /// The word.
        data: usize,
    },
    /// The words whose bit is set hold anything, and may be pointers to or into objects, with tags.
    AmbiguousMask([u64; MASK_BLOCKS]),
    /// So do the first N words, and no others.
    AmbiguousPrefix(usize),
    /// `header` words without a pointer, then elements of `words` words each, scanned by `mask`, to the object's
    /// end.
    Slice {
        /// Words before the first element.
        header: u8,
        /// Words an element, at most [`MAX_ELEMENT_WORDS`] and not 0.
        words: usize,
        /// The words of an element that are pointers, among its first [`MAX_MASK_WORDS`].
        mask: [u64; MASK_BLOCKS],
    },
    /// `header` words without a pointer, then as many elements as fit, each by the program.
    Program {
        /// Words before the first element.
        header: u8,
        /// Registered with the heap.
        program: ProgramId,
    },
    /// The same with a program that the heap registers on first use.
    Unregistered {
        /// Words before the first element.
        header: u8,
        /// A constant of the program.
        program: Program<'static>,
    },
}

/// A class and a layout in the form that the marker reads: one cache line.
#[repr(C, align(64))]
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// The cell size in bytes; 0 if each object has pages of its own.
    pub cell_size: u32,
    /// `None` if each object has pages of its own.
    class: Option<SizeClass>,
    kind: u8,
    /// Words of the mask (masks), of an element (slices), 1 (programs: ranges of those may begin at any word).
    pub words: u16,
    /// Words before the first element (slices and programs).
    pub header: u8,
    per_object: Option<PerObject>,
    /// The trace function takes a word.
    has_data: bool,
    program: ProgramId,
    /// The mask. The words of a prefix, and the data of a trace function, are its first word.
    pub mask: [u64; MASK_BLOCKS],
    /// The trace function's address, or 0.
    trace: usize,
}

const _: () = assert!(size_of::<Shape>() == 64);

// SAFETY: all-zero bytes are a shape that no page refers to: each of its fields may be zero.
unsafe impl Zeroed for Shape {}

impl Shape {
    pub(crate) fn new(class: Option<SizeClass>, scan: Scan) -> Self {
        let mut shape = Shape {
            cell_size: class.map_or(0, |c| c.cell_size() as u32),
            class,
            kind: 0,
            words: 0,
            header: 0,
            per_object: None,
            program: ProgramId::from_index(0),
            mask: [0; MASK_BLOCKS],
            trace: 0,
            has_data: false,
        };
        let kind = match scan {
            Scan::Layout(Layout::NoPointers) => ScanKind::NoPointers,
            Scan::Layout(Layout::Conservative) => ScanKind::Conservative,
            Scan::Layout(Layout::Trace(f)) => {
                shape.trace = f as usize;
                ScanKind::Trace
            }
            Scan::Trace { function, data } => {
                (shape.trace, shape.mask[0], shape.has_data) = (function as usize, data as u64, true);
                ScanKind::Trace
            }
            Scan::AmbiguousMask(mask) => {
                shape.mask = mask;
                shape.words = highest_bit(&mask);
                if mask == [0; MASK_BLOCKS] { ScanKind::NoPointers } else { ScanKind::AmbiguousMask }
            }
            Scan::AmbiguousPrefix(words) => {
                shape.mask[0] = words as u64;
                if words == 0 { ScanKind::NoPointers } else { ScanKind::AmbiguousPrefix }
            }
            Scan::Layout(Layout::Mask(mask)) => {
                shape.mask = mask.bits();
                shape.words = highest_bit(&shape.mask);
                if shape.mask == [0b11, 0, 0, 0] && shape.cell_size == 16 {
                    ScanKind::Pair
                } else if shape.words <= 64 {
                    ScanKind::Mask
                } else {
                    ScanKind::WideMask
                }
            }
            Scan::Unregistered { .. } => unreachable!("the space registers it first"),
            Scan::Program { header, program } => {
                shape.program = program;
                shape.words = 1;
                shape.header = header;
                ScanKind::Program
            }
            Scan::Slice { header, words, mask } => {
                assert!((1..=MAX_ELEMENT_WORDS).contains(&words));
                shape.mask = mask;
                shape.words = words as u16;
                shape.header = header;
                if mask == [0; MASK_BLOCKS] { ScanKind::NoPointers } else { ScanKind::Slice }
            }
        };
        if kind == ScanKind::NoPointers {
            shape.mask = [0; MASK_BLOCKS];
            shape.words = 0;
            shape.header = 0;
        }
        shape.kind = kind as u8;
        // Writing a number is faster than writing bits, if there is room for one. A program is decoded once, instead of
        // interpreted at each marking (docs/design/layout.md).
        shape.per_object = match kind {
            ScanKind::Mask | ScanKind::WideMask | ScanKind::Slice
                if shape.cell_size as usize >= ROOM_FOR_NUMBER =>
            {
                Some(PerObject::Number)
            }
            ScanKind::Mask | ScanKind::WideMask | ScanKind::Slice | ScanKind::Program => {
                Some(PerObject::Bits)
            }
            _ => None,
        };
        shape
    }

    /// The size class, or `None` if each object has pages of its own.
    #[inline]
    pub fn class(&self) -> Option<SizeClass> {
        self.class
    }

    /// Whether its objects have cells, of at most so many bytes.
    #[inline(always)]
    pub fn has_cells_up_to(&self, bytes: usize) -> bool {
        self.cell_size.wrapping_sub(1) < bytes as u32
    }

    /// The shape as one with cells, if it has a size class.
    #[inline]
    pub(crate) fn small(&self) -> Option<SmallShape<'_>> {
        self.class.map(|class| SmallShape { shape: self, class })
    }

    /// The scan kind of its objects.
    #[inline(always)]
    pub fn kind(&self) -> ScanKind {
        ScanKind::from_bits(self.kind).expect("a registered shape has a kind")
    }

    /// The trace function of a [`ScanKind::Trace`] shape.
    pub fn trace(&self) -> Option<TraceCall> {
        // SAFETY: the word was made from such a function in `new`.
        let call = || unsafe {
            match self.has_data {
                false => TraceCall::Alone(core::mem::transmute::<usize, TraceFn>(self.trace)),
                true => TraceCall::With(
                    core::mem::transmute::<usize, TraceWithFn>(self.trace),
                    self.mask[0] as usize,
                ),
            }
        };
        (self.trace != 0).then(call)
    }

    /// The words of an [`AmbiguousPrefix`](ScanKind::AmbiguousPrefix).
    #[inline]
    pub fn prefix_words(&self) -> usize {
        self.mask[0] as usize
    }

    /// Whether a word of its objects may be a pointer, and may be anything.
    pub fn is_ambiguous(&self, word: usize) -> bool {
        match self.kind() {
            ScanKind::Conservative => true,
            ScanKind::AmbiguousMask => word < MAX_MASK_WORDS && self.mask[word / 64] >> (word % 64) & 1 != 0,
            ScanKind::AmbiguousPrefix => word < self.prefix_words(),
            _ => false,
        }
    }

    /// The program of a [`ScanKind::Program`] shape.
    #[inline]
    pub fn program(&self) -> Option<ProgramId> {
        (self.kind() == ScanKind::Program).then_some(self.program)
    }

    pub(crate) fn same(&self, other: &Shape) -> bool {
        self.class == other.class
            && self.kind == other.kind
            && self.words == other.words
            && self.header == other.header
            && self.program == other.program
            && self.mask == other.mask
            && self.trace == other.trace
            && self.has_data == other.has_data
    }

    /// A hash of what [`same`](Self::same) compares.
    pub(crate) fn hash(&self) -> u64 {
        let class = self.class.map_or(u64::MAX, |class| class.index() as u64);
        let small = [class, self.kind.into(), self.header.into(), u64::from(self.words)];
        let large = [self.program.index() as u64, self.trace as u64];
        hash(small.into_iter().chain(large).chain(self.mask))
    }

    /// A shape of a kind that no layout has: shared cells, of layouts that have no spans of their own, or ephemerons.
    fn of_kind(class: SizeClass, kind: ScanKind) -> Self {
        let mut shape = Shape::new(Some(class), Scan::Layout(Layout::Conservative));
        shape.kind = kind as u8;
        shape
    }

    /// The form of the record of its objects in shared spans. `None` if they never share: shapes with a trace function,
    /// or shapes that many types have in common.
    #[inline]
    pub(crate) fn per_object(&self) -> Option<PerObject> {
        self.per_object
    }

    /// The shape with a number that every heap knows.
    pub(crate) fn well_known(id: ShapeId) -> Shape {
        let masked = |bytes, mask| {
            let described = TypeDescriptor::masked(bytes, &[mask]).expect("two or four words");
            Shape::new(SizeClass::of(bytes), Scan::Layout(described.layout()))
        };
        match id.meaning() {
            WellKnown::NoPointers(class) => Shape::new(class, Scan::Layout(Layout::NoPointers)),
            WellKnown::Conservative(class) => Shape::new(class, Scan::Layout(Layout::Conservative)),
            WellKnown::Masked(bytes, mask) => masked(bytes, mask),
            WellKnown::Shared(class, PerObject::Bits) => Shape::of_kind(class, ScanKind::Bits),
            WellKnown::Shared(class, PerObject::Number) => Shape::of_kind(class, ScanKind::Numbered),
            WellKnown::Arena => {
                Shape { kind: ScanKind::Arena as u8, ..Shape::well_known(ShapeId::conservative(None)) }
            }
            WellKnown::Ephemeron => {
                Shape::of_kind(SizeClass::of(EPHEMERON_BYTES).expect("four words"), ScanKind::Ephemeron)
            }
        }
    }
}

/// A shape with cells, and so with a size class.
#[derive(Clone, Copy)]
pub(crate) struct SmallShape<'s> {
    shape: &'s Shape,
    class: SizeClass,
}

impl SmallShape<'_> {
    /// The class of the cells.
    #[inline(always)]
    pub(crate) fn size_class(&self) -> SizeClass {
        self.class
    }
}

impl Deref for SmallShape<'_> {
    type Target = Shape;
    #[inline(always)]
    fn deref(&self) -> &Shape {
        self.shape
    }
}

fn highest_bit(mask: &[u64; MASK_BLOCKS]) -> u16 {
    (0..MASK_BLOCKS)
        .rev()
        .find(|&i| mask[i] != 0)
        .map_or(0, |i| (i * 64) as u16 + 64 - mask[i].leading_zeros() as u16)
}

const _: () = assert!(MAX_SMALL >= MAX_MASK_WORDS * 8);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_known_at_compile_time_name_the_right_shapes() {
        for class in SizeClass::all().map(Some).chain([None]) {
            let s = Shape::well_known(ShapeId::no_pointers(class));
            assert_eq!((s.class(), s.kind()), (class, ScanKind::NoPointers));
            let s = Shape::well_known(ShapeId::conservative(class));
            assert_eq!((s.class(), s.kind()), (class, ScanKind::Conservative));
        }
        for (size, masks) in [(16, 1..4u64), (24, 1..8), (32, 1..16)] {
            for mask in masks {
                let s = Shape::well_known(ShapeId::well_known(size, &[mask, 0, 0, 0]).unwrap());
                assert_eq!(s.class(), SizeClass::of(size));
                assert_eq!(s.mask[0], mask);
                assert_eq!(s.kind() == ScanKind::Pair, size == 16 && mask == 3);
            }
        }
        assert_eq!(ShapeId::well_known(48, &[1, 0, 0, 0]), None);
        assert_eq!(
            ShapeId::well_known(16, &[1 << 40, 0, 0, 0]),
            None,
            "no type of this size has such a mask"
        );
        assert_eq!(ShapeId::well_known(48, &[0; 4]), Some(ShapeId::no_pointers(SizeClass::of(48))));
    }
}
