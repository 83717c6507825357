//! Allocation of values of many sizes and alignments: each comes back as it was written, aligned, apart from the
//! others, and stays so through collections.

use crate::common::*;
use heapwood::{ById, Gc, Mutator, NoPointers, Trace};
use std::cmp::Ordering;
use std::collections::HashSet;

/// Allocates three of a kind, with others between, and looks at them again after collections.
fn three<T: Trace + Copy + PartialEq>(m: &Mutator, value: T) {
    let objects = [m.alloc(value), m.try_alloc(value).unwrap(), m.alloc(value)];
    for _ in 0..2 {
        for (i, object) in objects.iter().enumerate() {
            assert!(**object == value);
            let start = Gc::as_ptr(*object) as usize;
            assert_eq!(start % align_of::<T>().max(8), 0);
            for other in &objects[i + 1..] {
                assert!(
                    start.abs_diff(Gc::as_ptr(*other) as usize) >= size_of::<T>().max(1),
                    "two objects overlap"
                );
            }
        }
        m.alloc([!0u64; 3]);
        m.collect();
    }
}

#[test]
fn values_of_many_sizes_come_back_as_written() {
    let heap = heap(SMALL);
    let m = heap.attach().unwrap();
    three(&m, 7u8);
    three(&m, 7u16);
    three(&m, true);
    three(&m, 'x');
    three(&m, -1.5f64);
    three(&m, 1u128 << 100);
    three(&m, (1u8, 2u64, 3u16));
    macro_rules! sizes {
        ($($n:literal)*) => { $( three(&m, [($n % 251) as u8; $n]); three(&m, [!($n as u64); $n / 8 + 1]); )* };
    }
    sizes!(1 2 3 7 8 9 15 16 17 24 31 32 33 48 63 64 65 100 127 128 129 200 255 256 257 500 511 512 513 1000 1024);
    sizes!(1025 2000 2048 2049 3000 4095 4096 4097 8191 8192 8193 16384 20000 32767 32768 32769 40000 65536 100000);
}

#[derive(Trace, NoPointers, Clone, Copy, PartialEq, Debug)]
struct Nothing;

#[test]
fn values_without_size_are_objects_too() {
    let heap = heap(SMALL);
    let m = heap.attach().unwrap();
    let (a, b): (Gc<Nothing>, Gc<Nothing>) = (m.alloc(Nothing), m.alloc(Nothing));
    assert!(!Gc::ptr_eq(a, b), "each object has an address of its own");
    assert_eq!(*a, *b);
    let (c, d) = (m.alloc(()), m.try_alloc([0u64; 0]).unwrap());
    m.collect();
    assert_eq!((*c, d.len()), ((), 0));
    for _ in 0..1_000_000 {
        m.alloc(());
    }
    assert!(heap.stats().collections > 1, "objects without size are collected like others");
}

#[derive(Trace, Clone, Copy, PartialEq)]
#[repr(align(16))]
struct Wide {
    link: Option<Gc<u64>>,
    bytes: [u8; 33],
}

#[test]
fn values_are_aligned_to_sixteen() {
    let heap = heap(SMALL);
    let m = heap.attach().unwrap();
    let number = m.alloc(99u64);
    let objects: [Gc<Wide>; 50] =
        std::array::from_fn(|i| m.alloc(Wide { link: Some(number), bytes: [i as u8; 33] }));
    m.collect();
    for (i, object) in objects.iter().enumerate() {
        assert_eq!(Gc::as_ptr(*object) as usize % 16, 0);
        assert!(object.bytes == [i as u8; 33] && *object.link.unwrap() == 99);
    }
    three(&m, Wide { link: Some(number), bytes: [7; 33] });
}

#[derive(Trace, Clone, Copy)]
enum Shape {
    Empty,
    Number(u64),
    Pair(Gc<u64>, Gc<u64>),
}

#[derive(Trace, Clone, Copy)]
struct Big {
    pad: [u64; 240],
    last: Option<Gc<u64>>,
}

#[derive(Trace, Clone, Copy)]
#[repr(C)]
struct Huge {
    first: Option<Gc<u64>>,
    pad: [u64; 6000],
}

#[test]
fn pointers_are_found_in_structs_enums_arrays_and_large_values() {
    for config in [SMALL, VERIFY, STRESS] {
        let heap = heap(config);
        let m = heap.attach().unwrap();
        let number = |n: u64| m.alloc(n);
        let shapes =
            [m.alloc(Shape::Empty), m.alloc(Shape::Number(5)), m.alloc(Shape::Pair(number(1), number(2)))];
        let array = m.alloc([0, 1, 2, 3, 4].map(|n| Some(number(n))));
        let big = m.alloc(Big { pad: [1; 240], last: Some(number(77)) });
        let huge = m.alloc(Huge { first: Some(number(88)), pad: [2; 6000] });
        for i in 0..if config.stress { 20 } else { 60_000 } {
            number(!i);
        }
        m.collect();
        assert!(matches!(*shapes[0], Shape::Empty) && matches!(*shapes[1], Shape::Number(5)));
        let Shape::Pair(a, b) = *shapes[2] else { panic!("the variant changed") };
        assert_eq!((*a, *b), (1, 2));
        assert_eq!(array.map(|n| *n.unwrap()), [0, 1, 2, 3, 4]);
        assert_eq!((*big.last.unwrap(), *huge.first.unwrap()), (77, 88));
        assert!(big.pad == [1; 240] && huge.pad == [2; 6000]);
        assert_eq!(heap.stats().barrier_violations, 0);
    }
}

#[derive(Trace, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Named {
    name: Gc<[u8; 2]>,
}

#[test]
fn pointers_compare_and_show_their_contents() {
    let heap = heap(SMALL);
    let m = heap.attach().unwrap();
    let named = |name: &[u8; 2]| m.alloc(Named { name: m.alloc(*name) });
    let (a, same, less) = (named(b"ab"), named(b"ab"), named(b"aa"));
    assert!(a == a && a == same && a != less && a.name == same.name);
    assert!(Gc::ptr_eq(a, a) && !Gc::ptr_eq(a, same));
    assert!(less < a && a.cmp(&same).is_eq() && a.partial_cmp(&less).is_some_and(Ordering::is_gt));
    // Ordinary memory keeps nothing alive: the array on the stack does.
    let kept = [a, same, less];
    let mut seen: HashSet<Gc<Named>> = kept.into_iter().collect();
    assert_eq!(
        (seen.len(), seen.contains(&*same)),
        (2, true),
        "looked up by content, also of a value that is no `Gc`"
    );
    assert!(!seen.insert(same) && seen.insert(named(b"zz")));
    let (five, other) = (m.alloc(5u64), m.alloc(5.5));
    assert_eq!(format!("{five:?} {five} {other}"), "5 5 5.5");
    assert_eq!(format!("{five:p}"), format!("{:p}", Gc::as_ptr(five)));
    assert_eq!(kept.map(|named| *named.name), [*b"ab", *b"ab", *b"aa"]);
}

#[test]
fn keys_by_identity_tell_equal_objects_apart() {
    let heap = heap(SMALL);
    let m = heap.attach().unwrap();
    let kept: [Gc<u64>; 3] = std::array::from_fn(|_| m.alloc(7));
    let by_id =
        |set: &HashSet<ById<Gc<u64>>>| kept.iter().filter(|&&object| set.contains(&ById(object))).count();
    let set: HashSet<_> = kept.into_iter().chain(kept).take(5).map(ById).collect();
    assert_eq!((set.len(), by_id(&set)), (3, 3));
    m.collect();
    assert_eq!(by_id(&set), 3, "objects never move");
    assert!(!set.contains(&ById(m.alloc(7))));
    assert!(
        ById(kept[0]) == ById(kept[0]) && ById(kept[0]) != ById(kept[1]) && ById(kept[1]) != ById(kept[0])
    );
    assert_eq!(ById(kept[0]).cmp(&ById(kept[1])), Gc::as_ptr(kept[0]).cmp(&Gc::as_ptr(kept[1])));
    assert!(ById(None) < ById(Some(kept[0])) && ById(None::<Gc<u64>>) == ById(None));
    let (weak, again) = (m.weak(kept[0]), m.weak(kept[0]));
    assert!(ById(weak) == ById(weak) && ById(weak) != ById(again));
    // In an object it is the pointer that it holds.
    let holder = m.alloc((ById(m.alloc(8u64)), 1u8));
    (0..100_000u64).for_each(|i| _ = m.alloc(i));
    m.collect();
    assert_eq!((*holder.0.0, kept.map(|object| *object)), (8, [7; 3]));
}
