//! Pointers, cells, slices and texts in ordinary memory, without a heap, which Miri cannot map: that the reads of objects keep to Rust's
//! memory model. `.ci/long` runs this file under Miri; elsewhere it is a test like others.

use heapwood::{ById, CellValue, Gc, GcCell, GcMap, GcStr, GcString, GcVec, Slice, Trace};
use std::cmp::Ordering;
use std::collections::{BTreeSet, HashSet};
use std::ptr::NonNull;

/// An object that is never freed.
fn object<T>(value: T) -> Gc<T> {
    let object = NonNull::from(Box::leak(Box::new(value)));
    // A collector knows addresses alone.
    object.expose_provenance();
    // SAFETY: nothing collects or frees it, and no mutator is asked about it.
    unsafe { Gc::from_raw(object) }
}

/// A slice as the heap lays it out: the length, then the elements.
fn slice<T: Copy>(elements: &[T]) -> Gc<Slice<T>> {
    let bytes = (8 + size_of_val(elements)).next_multiple_of(8);
    let memory = NonNull::from(Box::leak(vec![0u64; bytes / 8].into_boxed_slice())).cast::<u64>();
    memory.expose_provenance();
    // SAFETY: the memory has room for both.
    unsafe {
        memory.write(elements.len() as u64);
        memory.add(1).cast::<T>().copy_from_nonoverlapping(NonNull::from(elements).cast(), elements.len());
    }
    // SAFETY: as above.
    unsafe { Gc::from_raw(memory.cast()) }
}

fn text(text: &str) -> Gc<GcStr> {
    let bytes = NonNull::new(Gc::as_ptr(slice(text.as_bytes()))).unwrap();
    // SAFETY: as above; it is a transparent slice of the bytes of a text.
    unsafe { Gc::from_raw(bytes.cast()) }
}

#[derive(Trace, Clone, Copy, CellValue)]
enum Value {
    Nil,
    Small(u8),
    Number(u64),
    Object(Gc<u64>),
}

/// Bytes between fields, and at the end.
#[derive(Trace, Clone, Copy, CellValue)]
struct Padded {
    flag: bool,
    object: Option<Gc<u64>>,
    short: u16,
    value: Value,
}

#[derive(Trace)]
struct Node {
    number: u64,
    next: GcCell<Option<Gc<Node>>>,
}

#[test]
fn pointers_are_followed_and_compared() {
    let (seven, same, eight) = (object(7u64), object(7u64), object(8u64));
    assert!(
        seven == same && seven < eight && !Gc::ptr_eq(seven, same) && seven.cmp(&same) == Ordering::Equal
    );
    assert_eq!(format!("{seven} {eight:?}"), "7 8");
    assert_eq!(HashSet::from([seven, same, eight]).len(), 2);
    assert!(HashSet::from([seven]).contains(&7));
    assert_eq!(HashSet::from([seven, same, eight].map(ById)).len(), 3);
    assert_eq!(BTreeSet::from([ById(None), ById(Some(seven)), ById(None)]).len(), 2);
    assert_eq!(ById(seven).cmp(&ById(eight)), Gc::as_ptr(seven).cmp(&Gc::as_ptr(eight)));
}

/// The word of a cell is a pointer again when it is read, and what it leads to may be read.
#[test]
fn cells_of_one_pointer_are_read() {
    let list = (0..10).fold(None, |next, number| Some(object(Node { number, next: GcCell::new(next) })));
    let numbers = std::iter::successors(list, |node| node.next.get()).map(|node| node.number);
    assert!((0..10).rev().eq(numbers));
    let cell: GcCell<Gc<u64>> = GcCell::from(object(7));
    assert_eq!((*cell.get(), format!("{cell:?}")), (7, "GcCell(7)".to_string()));
    assert!(GcCell::<Option<Gc<u64>>>::default().get().is_none());
    assert_eq!(*GcCell::new(ById(object(8u64))).get().0, 8);
}

#[test]
fn cells_of_values_with_padding_are_read() {
    let values = [Value::Nil, Value::Small(1), Value::Number(2), Value::Object(object(3))];
    for (i, value) in values.into_iter().enumerate() {
        let padded = Padded { flag: true, object: (i % 2 == 0).then(|| object(4)), short: 5, value };
        let cell = object([GcCell::new(padded), GcCell::new(padded)]);
        let Padded { flag, object, short, value } = cell[1].get();
        assert_eq!((flag, object.map(|object| *object), short), (true, (i % 2 == 0).then_some(4), 5));
        let number = match value {
            Value::Nil => 0,
            Value::Small(small) => u64::from(small),
            Value::Number(number) => number,
            Value::Object(object) => *object,
        };
        assert_eq!(number, i as u64);
    }
    assert_eq!(object(GcCell::new((1u8, 2u32))).get(), (1, 2));
}

#[test]
fn slices_and_texts_are_read() {
    for len in [0, 1, 3, 100] {
        let numbers: Vec<u16> = (0..len).collect();
        let (made, again) = (slice(&numbers), slice(&numbers));
        assert!(**made == numbers[..] && made == again && made.iter().eq(&numbers));
        assert_eq!(HashSet::from([made, again]).len(), 1);
        let objects: Vec<_> = numbers.iter().map(|&number| (number, object(number))).collect();
        assert!(slice(&objects).into_iter().all(|(number, object)| number == &**object));
    }
    let (ada, bob) = (text("Ada"), text("Bob"));
    assert!(
        *ada == "Ada" && ada < bob && ada.starts_with('A') && HashSet::from([ada]).contains(&*text("Ada"))
    );
    assert_eq!(format!("{ada} {bob:?} {}", text("").len()), "Ada \"Bob\" 0");
}

#[test]
fn collections_without_memory_are_read() {
    let vec: Gc<GcVec<Value>> = object(GcVec::new());
    assert!(vec.is_empty() && vec.get(0).is_none() && vec.last().is_none() && vec.iter().next().is_none());
    let map: Gc<GcMap<Gc<GcStr>, Value>> = object(GcMap::new());
    assert!(map.is_empty() && map.get(&*text("key")).is_none() && map.iter().next().is_none());
    let string = object(GcString::new());
    assert_eq!((&**string, format!("{string}")), ("", String::new()));
}
