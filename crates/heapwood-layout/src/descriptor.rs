//! Type descriptors: a size and a layout that fit together. The constructors are `const`, so an invalid type that is
//! known at compile time is a compile error. Invariant: all descriptors come from these constructors, so a heap need
//! not check them again.

use crate::error::LayoutError;
use crate::mask::{PointerMask, last_bit};
use crate::trace_fn::TraceFn;
use crate::type_map::TypeMap;
use crate::{MASK_BLOCKS, MAX_MASK_WORDS, WORD};

/// How the pointers of an object are found.
#[derive(Clone, Copy, Debug)]
pub enum Layout {
    /// The object has no pointers.
    NoPointers,
    /// Any word may be a pointer.
    Conservative,
    /// The words whose bit is set, at least one.
    Mask(PointerMask),
    /// A function reports them.
    Trace(TraceFn),
}

impl PartialEq for Layout {
    /// Compares trace functions by address. Equal functions may have different addresses, since the compiler may
    /// duplicate them.
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Layout::NoPointers, Layout::NoPointers) | (Layout::Conservative, Layout::Conservative) => true,
            (Layout::Mask(a), Layout::Mask(b)) => a == b,
            (Layout::Trace(a), Layout::Trace(b)) => core::ptr::fn_addr_eq(*a, *b),
            _ => false,
        }
    }
}

impl Eq for Layout {}

/// The size of a type in bytes, and its layout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TypeDescriptor {
    size: usize,
    layout: Layout,
}

impl TypeDescriptor {
    /// A type of any size without pointers.
    pub const fn no_pointers(size: usize) -> Result<Self, LayoutError> {
        match check_size(size) {
            Ok(()) => Ok(TypeDescriptor { size, layout: Layout::NoPointers }),
            Err(error) => Err(error),
        }
    }

    /// A type in which any word may be a pointer.
    pub const fn conservative(size: usize) -> Result<Self, LayoutError> {
        match words(size) {
            Ok(_) => Ok(TypeDescriptor { size, layout: Layout::Conservative }),
            Err(error) => Err(error),
        }
    }

    /// A type whose word `i` is a pointer if bit `i % 64` of `mask_words[i / 64]` is set, for its first
    /// [`MAX_MASK_WORDS`] words, without pointers in later words. The slice may be shorter than the type. Without a
    /// set bit the layout is [`Layout::NoPointers`].
    pub const fn masked(size: usize, mask_words: &[u64]) -> Result<Self, LayoutError> {
        let words = match words(size) {
            Ok(words) => words,
            Err(error) => return Err(error),
        };
        let needed = words.div_ceil(64);
        if mask_words.len() > needed {
            return Err(LayoutError::MaskTooLong { given: mask_words.len(), needed });
        }
        match last_bit(mask_words) {
            Some(bit) if bit >= words => return Err(LayoutError::BitBeyondType { bit, words }),
            Some(bit) if bit >= MAX_MASK_WORDS => return Err(LayoutError::BeyondMask { word: bit }),
            _ => {}
        }
        let mut bits = [0; MASK_BLOCKS];
        let mut i = 0;
        while i < MASK_BLOCKS && i < mask_words.len() {
            bits[i] = mask_words[i];
            i += 1;
        }
        Self::with_bits(size, words, bits)
    }

    /// A type whose pointers `trace` reports.
    pub const fn traced(size: usize, trace: TraceFn) -> Result<Self, LayoutError> {
        match words(size) {
            Ok(_) => Ok(TypeDescriptor { size, layout: Layout::Trace(trace) }),
            Err(error) => Err(error),
        }
    }

    /// A type of `size` bytes whose map was composed at compile time.
    pub const fn from_map(size: usize, map: TypeMap) -> Result<Self, LayoutError> {
        if !map.has_pointers() {
            return Self::no_pointers(size);
        }
        // A descriptor has no program; without one, any word may be a pointer.
        if map.is_conservative() || map.is_far() {
            return Self::conservative(size);
        }
        match words(size) {
            Ok(words) => Self::with_bits(size, words, map.mask()),
            Err(error) => Err(error),
        }
    }

    const fn with_bits(size: usize, words: usize, bits: [u64; MASK_BLOCKS]) -> Result<Self, LayoutError> {
        if last_bit(&bits).is_none() {
            return Self::no_pointers(size);
        }
        match PointerMask::new(words, bits) {
            Ok(mask) => Ok(TypeDescriptor { size, layout: Layout::Mask(mask) }),
            Err(error) => Err(error),
        }
    }

    /// The size of a value in bytes: at least 1, at most `isize::MAX`, and a multiple of [`WORD`] if it may hold
    /// pointers.
    pub const fn size(&self) -> usize {
        self.size
    }

    /// How the pointers are found.
    pub const fn layout(&self) -> Layout {
        self.layout
    }

    /// Whether a value may hold pointers.
    pub const fn has_pointers(&self) -> bool {
        !matches!(self.layout, Layout::NoPointers)
    }
}

const fn check_size(size: usize) -> Result<(), LayoutError> {
    if size == 0 {
        Err(LayoutError::ZeroSize)
    } else if size > isize::MAX as usize {
        Err(LayoutError::TooLarge { size })
    } else {
        Ok(())
    }
}

/// The words of a type that may hold pointers.
const fn words(size: usize) -> Result<usize, LayoutError> {
    match check_size(size) {
        Ok(()) if size.is_multiple_of(WORD) => Ok(size / WORD),
        Ok(()) => Err(LayoutError::NotWholeWords { size }),
        Err(error) => Err(error),
    }
}
