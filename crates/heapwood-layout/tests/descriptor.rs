//! Every error of a descriptor with its numbers, and the contents of valid ones.

use heapwood_layout::{
    Layout, LayoutError, MAX_MASK_WORDS, PointerMask, TraceContext, TypeDescriptor, TypeMap, WORD,
};

unsafe extern "C" fn nothing(_: *mut u8, _: usize, _: *mut TraceContext) {}

fn mask_of(descriptor: TypeDescriptor) -> PointerMask {
    let Layout::Mask(mask) = descriptor.layout() else { panic!("{descriptor:?} has no mask") };
    mask
}

#[test]
fn sizes_are_checked() {
    type Constructor = fn(usize) -> Result<TypeDescriptor, LayoutError>;
    let with_pointers: [Constructor; 5] = [
        TypeDescriptor::conservative,
        |size| TypeDescriptor::masked(size, &[1]),
        |size| TypeDescriptor::traced(size, nothing),
        |size| TypeDescriptor::from_map(size, TypeMap::POINTER),
        |size| TypeDescriptor::from_map(size, TypeMap::CONSERVATIVE),
    ];
    let huge = isize::MAX as usize + 1;
    for constructor in with_pointers {
        assert_eq!(constructor(0), Err(LayoutError::ZeroSize));
        assert_eq!(constructor(12), Err(LayoutError::NotWholeWords { size: 12 }));
        assert_eq!(constructor(huge), Err(LayoutError::TooLarge { size: huge }));
        for size in [8, 24, huge - 8] {
            let descriptor = constructor(size).unwrap();
            assert_eq!(descriptor.size(), size);
            assert!(descriptor.has_pointers());
        }
    }
    assert_eq!(TypeDescriptor::no_pointers(0), Err(LayoutError::ZeroSize));
    assert_eq!(TypeDescriptor::no_pointers(huge), Err(LayoutError::TooLarge { size: huge }));
    for size in [1, 12, 4096, huge - 1] {
        let descriptor = TypeDescriptor::no_pointers(size).unwrap();
        assert_eq!(descriptor, TypeDescriptor::from_map(size, TypeMap::NO_POINTERS).unwrap());
        assert!(!descriptor.has_pointers());
    }
}

#[test]
fn masks_are_checked() {
    assert_eq!(TypeDescriptor::masked(24, &[0b1000]), Err(LayoutError::BitBeyondType { bit: 3, words: 3 }));
    assert_eq!(TypeDescriptor::masked(24, &[1, 0]), Err(LayoutError::MaskTooLong { given: 2, needed: 1 }));
    let beyond = TypeMap::NO_POINTERS.with_field(24, TypeMap::POINTER);
    assert_eq!(TypeDescriptor::from_map(24, beyond), Err(LayoutError::BitBeyondType { bit: 3, words: 3 }));

    let limit = MAX_MASK_WORDS * WORD;
    let full = mask_of(TypeDescriptor::masked(limit, &[u64::MAX; 4]).unwrap());
    assert_eq!((full.words(), full.count()), (256, 256));
    assert!(full.iter().eq(0..256));
    assert_eq!(
        TypeDescriptor::masked(limit + 8, &[0, 0, 0, 0, 1]),
        Err(LayoutError::BeyondMask { word: MAX_MASK_WORDS })
    );
    assert_eq!(TypeDescriptor::masked(12, &[]), Err(LayoutError::NotWholeWords { size: 12 }));
}

#[test]
fn a_mask_answers_for_every_word() {
    let bits = [1 << 63, 0, 1, 1 << 63];
    let mask = PointerMask::new(256, bits).unwrap();
    assert_eq!(mask.iter().collect::<Vec<_>>(), [63, 128, 255]);
    assert_eq!(mask.iter().len(), 3);
    assert!(
        mask.is_set(63)
            && !mask.is_set(64)
            && mask.is_set(255)
            && !mask.is_set(256)
            && !mask.is_set(usize::MAX)
    );
    assert_eq!(mask.bits(), bits);
    assert_eq!(PointerMask::new(0, [1, 0, 0, 0]), Err(LayoutError::BitBeyondType { bit: 0, words: 0 }));
}

#[test]
fn messages_carry_the_numbers() {
    let error = |result: Result<TypeDescriptor, LayoutError>| result.unwrap_err().to_string();
    assert_eq!(
        error(TypeDescriptor::masked(24, &[0b1000])),
        "bit 3 of the pointer mask is set, but the type has only 3 words"
    );
    assert_eq!(
        error(TypeDescriptor::masked(24, &[1, 0])),
        "the pointer mask has 2 words of 64 bits, but the type needs no more than 1"
    );
    assert_eq!(
        error(TypeDescriptor::conservative(12)),
        "the type's size is 12 bytes, and must be a multiple of 8, because it may hold pointers"
    );
    assert_eq!(
        error(TypeDescriptor::masked(4096, &[0, 0, 0, 0, 0b10])),
        "word 257 of the type is a pointer, but a mask reaches only the first 256 words (2048 bytes): describe \
         the type by a program, or move the pointers to an object of their own"
    );
    assert_eq!(error(TypeDescriptor::no_pointers(0)), "the type's size is 0 bytes, and must be at least 1");
    assert!(error(TypeDescriptor::no_pointers(usize::MAX)).contains(&isize::MAX.to_string()));
}
