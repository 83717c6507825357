//! Headers with tails: of every length, with pointers on either side, built by closures that allocate and collect.

use crate::common::*;
use heapwood::{Gc, GcCell, Trace, WithTail};

const LENGTHS: [usize; 12] = [0, 1, 2, 5, 29, 30, 31, 63, 64, 255, 4095, 20_000];

#[derive(Trace)]
struct Class {
    name: Gc<u64>,
    number: u32,
    next: GcCell<Option<Gc<u64>>>,
}

#[derive(Clone, Copy, Trace)]
struct Field {
    tag: u64,
    value: Option<Gc<u64>>,
}

#[test]
fn headers_and_elements_live_together() {
    for generational in [heapwood::Generational::Always, heapwood::Generational::Off] {
        let heap = heap(SMALL.generational(generational));
        let m = heap.attach().unwrap();
        for len in LENGTHS {
            let header = Class {
                name: m.alloc(len as u64),
                number: 7,
                next: GcCell::new(Some(m.alloc(1 + len as u64))),
            };
            let object: Gc<WithTail<Class, Field>> = m.alloc_with_tail(header, len, |i| {
                if i % 977 == 1 {
                    m.collect();
                }
                Field { tag: i as u64 | 1 << 63, value: (i % 3 != 0).then(|| m.alloc(i as u64)) }
            });
            m.collect();
            assert_eq!(size_of_val(&object), 8, "a pointer to it is one word");
            assert_eq!((*object.header().name, object.header().number), (len as u64, 7));
            assert_eq!(*object.header().next.get().unwrap(), 1 + len as u64);
            object.header().next.set(&m, Some(m.alloc(5)));
            m.collect();
            assert_eq!(*object.header().next.get().unwrap(), 5);
            assert_eq!(object.tail().len(), len);
            for (i, field) in object.tail().iter().enumerate() {
                assert_eq!(field.tag, i as u64 | 1 << 63);
                assert_eq!(field.value.map(|value| *value), (i % 3 != 0).then_some(i as u64));
            }
        }
    }
}

#[test]
fn data_may_be_on_either_side() {
    let heap = heap(SMALL);
    let m = heap.attach().unwrap();
    for len in LENGTHS {
        let bytes = m.alloc_with_tail((3u16, 9u8), len, |i| i as u8);
        let named = m.alloc_with_tail(m.alloc(11u64), len, |i| i as u16);
        let nothing = m.alloc_with_tail(m.alloc(12u64), len, |_| ());
        m.collect();
        assert_eq!(*bytes.header(), (3, 9));
        assert!(bytes.tail().iter().enumerate().all(|(i, &b)| b == i as u8) && bytes.tail().len() == len);
        assert_eq!((**named.header(), named.tail().len()), (11, len));
        assert_eq!((**nothing.header(), nothing.tail().len()), (12, len));
    }
    assert_eq!(format!("{:?}", m.alloc_with_tail(1, 2, |i| i)), "WithTail { header: 1, tail: [0, 1] }");
}

#[test]
fn what_no_heap_has_room_for_is_an_error() {
    let heap = heap(SMALL);
    let m = heap.attach().unwrap();
    let element = |_| -> u64 { unreachable!("nothing is written") };
    assert!(m.try_alloc_with_tail(1u64, usize::MAX / 8, element).is_err());
    assert!(m.try_alloc_with_tail(1u64, usize::MAX, element).is_err());
    assert_eq!(m.alloc_with_tail(1u64, 1, |_| 2u64).tail(), [2]);
}
