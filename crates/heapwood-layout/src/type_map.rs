//! Type maps: the pointers of a type, composed from the maps of its fields in `const` context, so that layouts are
//! known before the program runs. Invariant: a map is precise (its bits are all pointers), conservative (any word may
//! be a pointer), or a program for pointers beyond the bits.

use crate::mask::last_bit;
use crate::program::{BuildError, Builder, Field, Part, ProgramBuf};
use crate::{MASK_BLOCKS, MAX_MASK_WORDS, WORD};

/// The pointers of a type, as far as a constant can describe them.
///
/// A map has no size; [`TypeDescriptor::from_map`](crate::TypeDescriptor::from_map) combines it with one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TypeMap {
    /// All ones if the map is conservative, so that a reader who forgets to check sees too many pointers, not too few.
    bits: [u64; MASK_BLOCKS],
    conservative: bool,
    /// The whole map, if a pointer lies beyond the bits.
    far: Option<Builder<FAR_BYTES>>,
}

/// The most bytes of a program made at compile time.
pub const FAR_BYTES: usize = 256;

impl TypeMap {
    /// The type holds no pointer.
    pub const NO_POINTERS: TypeMap = TypeMap { bits: [0; MASK_BLOCKS], conservative: false, far: None };

    /// The type is one word, and that is a pointer.
    pub const POINTER: TypeMap = {
        let mut bits = [0; MASK_BLOCKS];
        bits[0] = 1;
        TypeMap { bits, conservative: false, far: None }
    };

    /// Any word of the type may be a pointer: for an enum whose variants have pointers in different words.
    pub const CONSERVATIVE: TypeMap =
        TypeMap { bits: [u64::MAX; MASK_BLOCKS], conservative: true, far: None };

    /// This map with that of a field at `offset` bytes added. If either is conservative, so is the result.
    ///
    /// # Panics
    /// At compile time in a constant: if the field holds pointers and lies at an offset that is no multiple of
    /// [`WORD`], or has a pointer beyond word [`MAX_MASK_WORDS`] of the type.
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
        // Checked first, so that errors do not depend on the order of the fields.
        if self.conservative {
            return TypeMap::CONSERVATIVE;
        }
        assert!(
            self.far.is_none() && field.fits_at(offset / WORD),
            "a pointer lies beyond the first 256 words (2048 bytes) of the type: all fields must be given at once \
             (TypeMap::of_fields)"
        );
        TypeMap { bits: or_shifted(self.bits, field.bits, offset / WORD), conservative: false, far: None }
    }

    /// Whether the bits suffice for all pointers of a field of this type at that word.
    const fn fits_at(&self, word: usize) -> bool {
        match last_bit(&self.bits) {
            _ if self.far.is_some() => false,
            Some(bit) => word < MAX_MASK_WORDS && word + bit < MAX_MASK_WORDS,
            None => true,
        }
    }

    /// The map of a type with these fields, each with its offset in bytes, in any order. If one is conservative, so is
    /// the type.
    ///
    /// # Panics
    /// At compile time in a constant: if a field holds pointers and lies at an offset that is no multiple of [`WORD`],
    /// or the description takes more than [`FAR_BYTES`] bytes.
    pub const fn of_fields<const N: usize>(fields: [(usize, TypeMap); N]) -> TypeMap {
        let (mut near, mut i) = (true, 0);
        while i < N {
            near = near
                && (!fields[i].1.has_pointers()
                    || fields[i].1.conservative
                    || fields[i].1.fits_at(fields[i].0 / WORD));
            i += 1;
        }
        let mut map = TypeMap::NO_POINTERS;
        if near {
            let mut i = 0;
            while i < N {
                map = map.with_field(fields[i].0, fields[i].1);
                i += 1;
            }
            return map;
        }
        let mut parts = [Field { offset: 0, part: Part::Mask([0; MASK_BLOCKS]) }; N];
        let (mut i, mut end) = (0, 0);
        while i < N {
            let (offset, field) = &fields[i];
            i += 1;
            if !field.has_pointers() {
                continue;
            }
            assert!(
                offset.is_multiple_of(WORD),
                "a field that holds pointers must lie at a multiple of 8 bytes: remove `repr(packed)` from the type"
            );
            if field.conservative {
                return TypeMap::CONSERVATIVE;
            }
            let part = match &field.far {
                Some(far) => Part::Body(far.body()),
                None => Part::Mask(field.bits),
            };
            let offset = (*offset / WORD) as u64;
            parts[i - 1] = Field { offset, part };
            let behind = offset + part.words();
            end = if behind > end { behind } else { end };
        }
        TypeMap {
            bits: [u64::MAX; MASK_BLOCKS],
            conservative: false,
            far: Some(fitting(Builder::try_of_fields(end, &parts))),
        }
    }

    /// The map of the struct `T` with these fields, each with its offset in bytes.
    ///
    /// # Panics
    /// As [`of_fields`](Self::of_fields), or if `T` holds pointers and is not aligned to a word.
    pub const fn of_struct<T, const N: usize>(fields: [(usize, TypeMap); N]) -> TypeMap {
        let map = TypeMap::of_fields(fields);
        assert!(
            !map.has_pointers() || align_of::<T>().is_multiple_of(WORD),
            "a type that holds a `Gc` must be aligned to 8 bytes: remove `repr(packed)`"
        );
        map
    }

    /// The map of the enum `T`, from whether its payloads may hold pointers.
    pub const fn of_enum<T>(has_pointers: bool) -> TypeMap {
        if !has_pointers {
            TypeMap::NO_POINTERS
        } else if size_of::<T>() == WORD {
            // The pointer fills the whole word, so the discriminant can only be the pointer's niche: zero.
            TypeMap::POINTER
        } else {
            TypeMap::CONSERVATIVE
        }
    }

    /// The map of a field of type `T` that the collector skips. Pointers to objects are not `Send`, so it holds none.
    ///
    /// # Panics
    /// At compile time in a constant: if `T` needs a drop.
    pub const fn of_skipped<T: Send + 'static>() -> TypeMap {
        assert!(
            !core::mem::needs_drop::<T>(),
            "a field with `#[trace(skip)]` must need no drop, since nothing in a heap is dropped: hold a `Gc<Finalized<T>>` instead"
        );
        TypeMap::NO_POINTERS
    }

    /// The program of a type of `size` bytes, if a pointer lies beyond the bits.
    ///
    /// # Panics
    /// As [`of_fields`](Self::of_fields), or if the type is smaller than the map.
    pub const fn program(&self, size: usize) -> Option<ProgramBuf<FAR_BYTES>> {
        match &self.far {
            Some(far) => Some(far.padded((size / WORD) as u64).finish()),
            None => None,
        }
    }

    /// The map of an array of `n` elements of `element_size` bytes each.
    ///
    /// # Panics
    /// At compile time in a constant: if the elements hold pointers and their size is no multiple of [`WORD`], or the
    /// description takes more than [`FAR_BYTES`] bytes.
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
        if !element.fits_at((n - 1).saturating_mul(element_size / WORD)) {
            let one = TypeMap::of_fields_far(element);
            let mut far = Builder::new();
            let made = far.push_array(one.body(), (element_size / WORD) as u64, n as u64);
            fitting(made);
            return TypeMap { bits: [u64::MAX; MASK_BLOCKS], conservative: false, far: Some(far) };
        }
        let mut map = TypeMap::NO_POINTERS;
        let mut i = 0;
        while i < n {
            map = map.with_field(i * element_size, element);
            i += 1;
        }
        map
    }

    /// The map as instructions, up to its last pointer.
    const fn of_fields_far(map: TypeMap) -> Builder<FAR_BYTES> {
        match map.far {
            Some(far) => far,
            None => {
                let part = Part::Mask(map.bits);
                Builder::of_fields(part.words(), &[Field { offset: 0, part }])
            }
        }
    }

    /// Whether a value may hold a pointer.
    pub const fn has_pointers(self) -> bool {
        self.conservative || last_bit(&self.bits).is_some()
    }

    /// Whether any word may be a pointer.
    pub const fn is_conservative(self) -> bool {
        self.conservative
    }

    /// Whether a pointer may lie beyond the bits; then only a [`program`](Self::program) describes it.
    pub const fn is_far(&self) -> bool {
        self.far.is_some()
    }

    /// One bit for each word, word 0 in the lowest bit of the first. All ones if the map is conservative or a program.
    pub const fn mask(self) -> [u64; MASK_BLOCKS] {
        self.bits
    }
}

/// The result, or a panic with a remedy for authors of types, who have no builder.
#[track_caller]
const fn fitting<T: Copy>(made: Result<T, BuildError>) -> T {
    match made {
        Ok(made) => made,
        Err(BuildError::Full { .. }) => panic!(
            "the type has too many different arrays of pointers to be described in 256 bytes: move some of them to objects \
             of their own"
        ),
        Err(error) => error.panic(),
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
