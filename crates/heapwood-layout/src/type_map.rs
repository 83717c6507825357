//! A type map: what one value of a type holds, composed from the maps of its fields in `const` context, so that
//! the layout of a type is known before the program runs. Invariant: a map is precise (its bits are all the
//! pointers there are) or conservative (any word may be a pointer); equal maps have equal representations.

use crate::mask::last_bit;
use crate::{MASK_BLOCKS, MAX_MASK_WORDS, WORD};

/// Where the pointers of a type are, as far as a constant can say it.
///
/// A map does not know the size of its type; [`TypeDescriptor::from_map`](crate::TypeDescriptor::from_map) brings
/// the two together.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TypeMap {
    /// All ones if the map is conservative, so that whoever forgets to ask sees too many pointers, not too few.
    bits: [u64; MASK_BLOCKS],
    conservative: bool,
}

impl TypeMap {
    /// The type holds no pointer.
    pub const NO_POINTERS: TypeMap = TypeMap { bits: [0; MASK_BLOCKS], conservative: false };

    /// The type is one word, and that is a pointer.
    pub const POINTER: TypeMap = {
        let mut bits = [0; MASK_BLOCKS];
        bits[0] = 1;
        TypeMap { bits, conservative: false }
    };

    /// Any word of the type may be a pointer: for an enum whose variants put pointers in different places.
    pub const CONSERVATIVE: TypeMap = TypeMap { bits: [u64::MAX; MASK_BLOCKS], conservative: true };

    /// This map with those of a field at `offset` bytes added. If either is conservative, so is the result.
    ///
    /// # Panics
    /// At compile time in a constant: if the field holds pointers and lies at an offset that is no multiple of
    /// [`WORD`], or reaches beyond word [`MAX_MASK_WORDS`] of the type with one of them.
    pub const fn with_field(self, offset: usize, field: TypeMap) -> TypeMap {
        if !field.has_pointers() {
            return self;
        }
        assert!(
            offset.is_multiple_of(WORD),
            "a field that holds pointers must lie at a multiple of 8 bytes: remove `repr(packed)` from the type"
        );
        if field.conservative {
            return TypeMap::CONSERVATIVE;
        }
        let word = offset / WORD;
        let fits = match last_bit(&field.bits) {
            Some(bit) => word < MAX_MASK_WORDS && word + bit < MAX_MASK_WORDS,
            None => true,
        };
        assert!(
            fits,
            "a pointer lies beyond the first 256 words (2048 bytes) of the type: put its pointers before its \
             bulk data, or move a large array of pointers to a slice of its own and keep a pointer to that"
        );
        // Checked first all the same, so that what is refused does not depend on the order of the fields.
        if self.conservative {
            return TypeMap::CONSERVATIVE;
        }
        TypeMap { bits: or_shifted(self.bits, field.bits, word), conservative: false }
    }

    /// The map of an array of `n` elements of `element_size` bytes each.
    ///
    /// # Panics
    /// As [`with_field`](Self::with_field) does: if the elements hold pointers, and their size is no multiple of
    /// [`WORD`] or a pointer of theirs lies beyond word [`MAX_MASK_WORDS`].
    pub const fn array(element: TypeMap, element_size: usize, n: usize) -> TypeMap {
        if n == 0 || !element.has_pointers() {
            return TypeMap::NO_POINTERS;
        }
        assert!(
            element_size > 0 && element_size.is_multiple_of(WORD),
            "the size of array elements that hold pointers must be a multiple of 8 bytes: remove `repr(packed)` \
             from the element's type"
        );
        if element.conservative {
            return TypeMap::CONSERVATIVE;
        }
        let mut map = TypeMap::NO_POINTERS;
        let mut i = 0;
        while i < n {
            // Ends at the latest at element 256, with with_field's message: each adds at least one pointer.
            map = map.with_field(i * element_size, element);
            i += 1;
        }
        map
    }

    /// Whether a value can hold a pointer at all.
    pub const fn has_pointers(self) -> bool {
        self.conservative || last_bit(&self.bits).is_some()
    }

    /// Whether any word may be a pointer.
    pub const fn is_conservative(self) -> bool {
        self.conservative
    }

    /// One bit per word, word 0 in the lowest bit of the first. All ones if the map is conservative.
    pub const fn mask(self) -> [u64; MASK_BLOCKS] {
        self.bits
    }
}

/// `bits | add << by`. The caller has checked that no set bit is shifted out.
const fn or_shifted(mut bits: [u64; MASK_BLOCKS], add: [u64; MASK_BLOCKS], by: usize) -> [u64; MASK_BLOCKS] {
    let (blocks, shift) = (by / 64, by % 64);
    let mut i = 0;
    while i + blocks < MASK_BLOCKS {
        bits[i + blocks] |= add[i] << shift;
        if shift > 0 && i + blocks + 1 < MASK_BLOCKS {
            bits[i + blocks + 1] |= add[i] >> (64 - shift);
        }
        i += 1;
    }
    bits
}
