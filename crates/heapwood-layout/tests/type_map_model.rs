//! Type maps against a naive model: a type as a vector with one bool for each word.

use heapwood_layout::{Layout, MAX_MASK_WORDS, TypeDescriptor, TypeMap, WORD};
use proptest::prelude::*;
use std::panic::catch_unwind;

#[derive(Clone, Debug)]
enum Shape {
    Scalar(usize),
    Pointer,
    /// An enum of this many words.
    Conservative(usize),
    Struct(Vec<Shape>),
    Array(Box<Shape>, usize),
}

fn shapes() -> impl Strategy<Value = Shape> {
    let leaf = prop_oneof![
        3 => (0usize..6).prop_map(Shape::Scalar),
        4 => Just(Shape::Pointer),
        1 => (1usize..4).prop_map(Shape::Conservative),
        1 => (50usize..140).prop_map(Shape::Scalar),
    ];
    leaf.prop_recursive(5, 64, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Shape::Struct),
            (inner, 0usize..20).prop_map(|(element, n)| Shape::Array(Box::new(element), n)),
        ]
    })
}

impl Shape {
    /// The model: one bool for each word, and whether any part is conservative.
    fn words(&self) -> (Vec<bool>, bool) {
        match self {
            Shape::Scalar(words) => (vec![false; *words], false),
            Shape::Pointer => (vec![true], false),
            Shape::Conservative(words) => (vec![true; *words], true),
            Shape::Struct(fields) => {
                fields.iter().fold((vec![], false), |(mut words, conservative), field| {
                    let (more, also) = field.words();
                    words.extend(more);
                    (words, conservative || also)
                })
            }
            Shape::Array(element, n) => {
                let (words, conservative) = element.words();
                (words.repeat(*n), conservative && *n > 0)
            }
        }
    }

    /// The number of words that a mask must reach for this and all its parts.
    fn reach(&self) -> usize {
        let own = self.words().0.iter().rposition(|word| *word).map_or(0, |last| last + 1);
        match self {
            Shape::Struct(fields) => fields.iter().map(Shape::reach).fold(own, usize::max),
            Shape::Array(element, _) => own.max(element.reach()),
            _ => own,
        }
    }

    fn map(&self) -> TypeMap {
        match self {
            Shape::Scalar(_) => TypeMap::NO_POINTERS,
            Shape::Pointer => TypeMap::POINTER,
            Shape::Conservative(_) => TypeMap::CONSERVATIVE,
            Shape::Struct(fields) => {
                // In reverse order, as a compiler may order fields.
                let (mut all, mut offset) = ([(0, TypeMap::NO_POINTERS); 6], 0);
                for (k, field) in fields.iter().enumerate() {
                    all[5 - k] = (offset, field.map());
                    offset += field.words().0.len() * WORD;
                }
                TypeMap::of_fields(all)
            }
            Shape::Array(element, n) => TypeMap::array(element.map(), element.words().0.len() * WORD, *n),
        }
    }
}

proptest! {
    #[test]
    fn maps_agree_with_the_model(shape in shapes()) {
        let (words, conservative) = shape.words();
        match catch_unwind(|| shape.map()) {
            // Only if the program would not fit.
            Err(_) => prop_assert!(shape.reach() > MAX_MASK_WORDS, "refused although it fits"),
            Ok(map) if conservative => {
                prop_assert_eq!(map, TypeMap::CONSERVATIVE);
                let descriptor = TypeDescriptor::from_map(words.len() * WORD, map).unwrap();
                prop_assert_eq!(descriptor.layout(), Layout::Conservative);
            }
            Ok(map) if map.is_far() => {
                prop_assert!(words[words.len().min(MAX_MASK_WORDS)..].contains(&true), "a mask would do");
                let expected: Vec<usize> = (0..words.len()).filter(|&i| words[i]).collect();
                prop_assert_eq!(far_pointers(map, words.len() * WORD), expected);
            }
            Ok(map) => {
                prop_assert!(!words[words.len().min(MAX_MASK_WORDS)..].contains(&true), "too long for a mask");
                prop_assert_eq!(map.has_pointers(), words.contains(&true));
                for (i, block) in map.mask().into_iter().enumerate() {
                    for bit in 0..64 {
                        let word = words.get(i * 64 + bit).copied().unwrap_or(false);
                        prop_assert_eq!(block >> bit & 1 == 1, word, "word {}", i * 64 + bit);
                    }
                }
                if !words.is_empty() {
                    let descriptor = TypeDescriptor::from_map(words.len() * WORD, map).unwrap();
                    let set: Vec<usize> = match descriptor.layout() {
                        Layout::Mask(mask) => mask.iter().collect(),
                        _ => vec![],
                    };
                    let expected: Vec<usize> = (0..words.len()).filter(|&i| words[i]).collect();
                    prop_assert_eq!(set, expected);
                    // The run-time constructor reads the same bits.
                    let needed = words.len().div_ceil(64).min(4);
                    prop_assert_eq!(
                        TypeDescriptor::masked(words.len() * WORD, &map.mask()[..needed]).unwrap(),
                        descriptor
                    );
                }
            }
        }
    }
}

fn message(refused: impl FnOnce() -> TypeMap + std::panic::UnwindSafe) -> String {
    let payload = catch_unwind(refused).unwrap_err();
    payload
        .downcast_ref::<&str>()
        .map(|s| s.to_string())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap()
}

#[test]
fn errors_name_a_remedy() {
    let split = message(|| TypeMap::NO_POINTERS.with_field(4, TypeMap::POINTER));
    assert!(split.contains("multiple of 8") && split.contains("repr(packed)"), "{split}");
    let far = message(|| TypeMap::NO_POINTERS.with_field(2048, TypeMap::POINTER));
    assert!(far.contains("256 words") && far.contains("of_fields"), "{far}");
    let stride = message(|| TypeMap::array(TypeMap::POINTER, 9, 1));
    assert!(stride.contains("multiple of 8"), "{stride}");
    assert_eq!(message(|| TypeMap::NO_POINTERS.with_field(usize::MAX & !7, TypeMap::POINTER)), far);
}

#[test]
fn data_without_pointers_may_be_anywhere_and_of_any_size() {
    let map = TypeMap::POINTER.with_field(3, TypeMap::NO_POINTERS).with_field(1 << 40, TypeMap::NO_POINTERS);
    assert_eq!(map, TypeMap::POINTER);
    assert_eq!(TypeMap::array(TypeMap::NO_POINTERS, 1, usize::MAX), TypeMap::NO_POINTERS);
    assert_eq!(TypeMap::array(TypeMap::POINTER, 8, 0), TypeMap::NO_POINTERS);
    assert_eq!(TypeMap::array(TypeMap::CONSERVATIVE, 16, 1000), TypeMap::CONSERVATIVE);
}

#[test]
fn a_conservative_field_is_visible_to_those_who_read_only_the_mask() {
    let map = TypeMap::NO_POINTERS.with_field(4096, TypeMap::CONSERVATIVE);
    assert!(map.is_conservative() && map.has_pointers());
    assert_eq!(map.mask(), [u64::MAX; 4]);
}

/// The pointers of a map that is a program.
fn far_pointers(map: TypeMap, size: usize) -> Vec<usize> {
    let program = map.program(size).expect("a far map");
    assert_eq!(program.words() as usize, size / 8);
    let mut bits = vec![0u64; (size / 8).div_ceil(64)];
    program.program().decode(&mut bits, 0);
    (0..size / 8).filter(|i| bits[i / 64] >> (i % 64) & 1 == 1).collect()
}

/// The model accepts that a type is refused whose program does not fit; these fit.
#[test]
fn pointers_beyond_a_mask_make_a_program() {
    const NODE: TypeMap = TypeMap::NO_POINTERS.with_field(8, TypeMap::POINTER);
    // [100]{word ptr word}, then a word, then a pointer, then [1000]word; declared in another order.
    const LARGE: TypeMap = TypeMap::of_fields([
        (2408, TypeMap::POINTER),
        (2416, TypeMap::NO_POINTERS),
        (0, TypeMap::array(NODE, 24, 100)),
    ]);
    let size = 2416 + 8000;
    let expected: Vec<usize> = (0..100).map(|k| k * 3 + 1).chain([301]).collect();
    assert_eq!(far_pointers(LARGE, size), expected);
    let inside = TypeMap::of_fields([(16, LARGE), (0, TypeMap::POINTER)]);
    let shifted: Vec<usize> = [0].into_iter().chain(expected.iter().map(|w| w + 2)).collect();
    assert_eq!(far_pointers(inside, 16 + size), shifted);
    assert!(LARGE.program(size).unwrap().bytes().len() <= 16);
    assert!(TypeMap::array(TypeMap::POINTER, 8, 1 << 40).program(1 << 43).unwrap().bytes().len() < 12);
}
