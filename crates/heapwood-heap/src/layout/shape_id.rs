//! Shape numbers. Pointer-free and conservative shapes of every class, shared shapes, and every mask over two or four
//! words have numbers known at compile time. Other types get theirs at registration. Invariant: the meaning of a number
//! is fixed by its constructor.

use crate::layout::size_class::{CLASSES, SizeClass};
use heapwood_layout::MASK_BLOCKS;

/// The number of a shape within its heap; 0 is none. Invariant: it is below [`MAX_SHAPES`]. Only heaps make numbers
/// that are not known at compile time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct ShapeId(u32);

/// The most shapes of a heap.
pub const MAX_SHAPES: usize = 1 << 14;
/// The most shapes of types, besides those that every heap knows.
pub const MAX_OWN_SHAPES: usize = MAX_SHAPES - WELL_KNOWN as usize;

const FIRST_NO_POINTERS: u32 = 1;
const FIRST_CONSERVATIVE: u32 = FIRST_NO_POINTERS + CLASSES as u32 + 1;
const FIRST_TWO_WORDS: u32 = FIRST_CONSERVATIVE + CLASSES as u32 + 1;
const FIRST_FOUR_WORDS: u32 = FIRST_TWO_WORDS + 3;
const FIRST_BITS: u32 = FIRST_FOUR_WORDS + 15;
const FIRST_NUMBERED: u32 = FIRST_BITS + CLASSES as u32;
const ARENA: u32 = FIRST_NUMBERED + CLASSES as u32;
const EPHEMERON: u32 = ARENA + 1;
/// The number of shapes that every heap starts with, number 0 included.
pub(crate) const WELL_KNOWN: u32 = EPHEMERON + 1;

/// Bytes of an ephemeron: key, value, and two words of the collector's.
pub(crate) const EPHEMERON_BYTES: usize = 32;

/// The form of an object's record in a shared span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum PerObject {
    /// Its pointers, as bits.
    Bits,
    /// The number of its shape.
    Number,
}

/// The meaning of a number that every heap knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WellKnown {
    NoPointers(Option<SizeClass>),
    Conservative(Option<SizeClass>),
    /// The bytes, and a mask of the pointer words.
    Masked(usize, u64),
    Shared(SizeClass, PerObject),
    Arena,
    Ephemeron,
}

impl ShapeId {
    /// The shape's number.
    #[inline(always)]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// Whether layouts share spans of this shape.
    #[inline]
    pub(crate) const fn is_shared(self) -> bool {
        self.0 >= FIRST_BITS && self.0 < ARENA
    }

    /// Whether it is of shared spans or arena chunks.
    #[inline(always)]
    pub(crate) const fn is_shared_or_arena(self) -> bool {
        self.0 >= FIRST_BITS && self.0 <= ARENA
    }

    /// The shape of arena chunks.
    pub(crate) const ARENA: Self = ShapeId(ARENA);

    /// The shape of ephemerons.
    pub const EPHEMERON: Self = ShapeId(EPHEMERON);

    /// The shape with this number, which is below [`MAX_SHAPES`].
    #[inline(always)]
    pub(crate) const fn from_index(index: u32) -> Self {
        debug_assert!((index as usize) < MAX_SHAPES);
        ShapeId(index)
    }

    /// Whether every heap has it.
    #[inline(always)]
    pub(crate) const fn is_well_known(self) -> bool {
        self.0 < WELL_KNOWN
    }

    /// Pointer-free cells of `class`; `None` means objects with pages of their own.
    pub const fn no_pointers(class: Option<SizeClass>) -> Self {
        ShapeId(FIRST_NO_POINTERS + class_slot(class))
    }

    /// Cells of `class` in which any word may be a pointer.
    pub const fn conservative(class: Option<SizeClass>) -> Self {
        ShapeId(FIRST_CONSERVATIVE + class_slot(class))
    }

    /// Cells of `class` for objects of different layouts.
    pub(crate) const fn shared(class: SizeClass, form: PerObject) -> Self {
        let first = match form {
            PerObject::Bits => FIRST_BITS,
            PerObject::Number => FIRST_NUMBERED,
        };
        ShapeId(first + class.index() as u32)
    }

    /// The shape of a type of `size` bytes whose pointers are the bits of `mask`, if every heap has it.
    pub const fn well_known(size: usize, mask: &[u64; MASK_BLOCKS]) -> Option<Self> {
        if mask[1] | mask[2] | mask[3] != 0 {
            return None;
        }
        if mask[0] == 0 {
            return Some(Self::no_pointers(SizeClass::of(size)));
        }
        match (size, mask[0]) {
            (1..=16, 1..4) => Some(ShapeId(FIRST_TWO_WORDS + mask[0] as u32 - 1)),
            (17..=32, 1..16) => Some(ShapeId(FIRST_FOUR_WORDS + mask[0] as u32 - 1)),
            _ => None,
        }
    }

    /// The meaning of a number below [`WELL_KNOWN`], not 0.
    pub(crate) fn meaning(self) -> WellKnown {
        let class = |first: u32| {
            let slot = (self.0 - first) as usize;
            (slot < CLASSES).then(|| SizeClass::new(slot))
        };
        let shared = |first, form| WellKnown::Shared(class(first).expect("one a class"), form);
        match self.0 {
            0 | WELL_KNOWN.. => unreachable!("not known to every heap"),
            FIRST_NO_POINTERS..FIRST_CONSERVATIVE => WellKnown::NoPointers(class(FIRST_NO_POINTERS)),
            FIRST_CONSERVATIVE..FIRST_TWO_WORDS => WellKnown::Conservative(class(FIRST_CONSERVATIVE)),
            FIRST_TWO_WORDS..FIRST_FOUR_WORDS => WellKnown::Masked(16, (self.0 - FIRST_TWO_WORDS + 1).into()),
            FIRST_FOUR_WORDS..FIRST_BITS => WellKnown::Masked(32, (self.0 - FIRST_FOUR_WORDS + 1).into()),
            FIRST_BITS..FIRST_NUMBERED => shared(FIRST_BITS, PerObject::Bits),
            FIRST_NUMBERED..ARENA => shared(FIRST_NUMBERED, PerObject::Number),
            ARENA => WellKnown::Arena,
            EPHEMERON => WellKnown::Ephemeron,
        }
    }
}

const fn class_slot(class: Option<SizeClass>) -> u32 {
    match class {
        Some(class) => class.index() as u32,
        None => CLASSES as u32,
    }
}

const _: () = assert!((WELL_KNOWN as usize) < MAX_SHAPES);
