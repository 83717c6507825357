//! Slices: empty, small and large, of data and of pointers, and built by closures that allocate and collect.

use crate::common::*;
use heapwood::{AllocError, Gc, GcCell, Slice, Trace, WeakSet};
use std::borrow::Borrow;
use std::cell::Cell;
use std::hash::{DefaultHasher, Hash, Hasher};

const LENGTHS: [usize; 18] =
    [0, 1, 2, 3, 7, 8, 9, 31, 64, 100, 255, 256, 1000, 4095, 4096, 4097, 10_000, 100_000];

#[test]
fn slices_of_data_of_every_length_come_back_as_written() {
    let heap = heap(SMALL);
    let m = heap.attach().unwrap();
    for len in LENGTHS {
        let bytes = m.alloc_slice(len, |i| i as u8);
        let words = m.try_alloc_slice(len, |i| i as u64 * 3).unwrap();
        let triples = m.alloc_slice(len, |i| [i as u16, 1, 2]);
        m.collect();
        assert_eq!((bytes.len(), words.len(), triples.len()), (len, len, len));
        assert!(bytes.iter().enumerate().all(|(i, &b)| b == i as u8));
        assert!(words.iter().enumerate().all(|(i, &w)| w == i as u64 * 3));
        assert!(triples.iter().enumerate().all(|(i, &t)| t == [i as u16, 1, 2]));
        assert_eq!(size_of_val(&bytes), 8, "a pointer to a slice is one word");
        assert_eq!(m.alloc_copy(&bytes), bytes);
    }
    assert_eq!(format!("{:?}", m.alloc_copy(&[(1u8, 2u64), (3, 4)])), "[(1, 2), (3, 4)]");
}

#[derive(Trace)]
struct Entry {
    key: u32,
    first: Option<Gc<u64>>,
    text: [u8; 11],
    second: GcCell<Option<Gc<u64>>>,
}

#[test]
fn slices_keep_their_targets_alive() {
    for config in [SMALL, VERIFY] {
        let heap = heap(config);
        let m = heap.attach().unwrap();
        for len in LENGTHS.into_iter().filter(|&l| l <= 10_000) {
            let numbers = m.alloc_slice(len, |i| m.alloc(i as u64));
            let entries = m.alloc_slice(len, |i| Entry {
                key: i as u32,
                first: (i % 2 == 0).then(|| m.alloc(i as u64)),
                text: [i as u8; 11],
                second: GcCell::new(None),
            });
            m.collect();
            entries.iter().zip(numbers.iter()).for_each(|(e, &n)| e.second.set(&m, Some(n)));
            m.collect();
            for i in 0..len {
                let entry = &entries[i];
                assert_eq!((entry.key, entry.text, *numbers[i]), (i as u32, [i as u8; 11], i as u64));
                assert_eq!(entry.first.map(|n| *n), (i % 2 == 0).then_some(i as u64));
                assert!(entry.second.get() == Some(numbers[i]));
            }
        }
        m.collect();
        assert_eq!(heap.stats().barrier_violations, 0);
    }
}

#[test]
fn elements_may_have_no_size_or_be_slices() {
    let heap = heap(SMALL);
    let m = heap.attach().unwrap();
    assert_eq!(m.alloc_slice(1_000_000, |_| ()).len(), 1_000_000);
    let table: Gc<Slice<Gc<Slice<u32>>>> = m.alloc_slice(300, |row| m.alloc_slice(row, |i| (row * i) as u32));
    m.collect();
    for (row, numbers) in table.iter().enumerate() {
        assert_eq!(numbers.len(), row);
        assert!(numbers.iter().enumerate().all(|(i, &n)| n == (row * i) as u32));
    }
}

#[test]
fn a_closure_may_allocate_and_collect() {
    for config in [SMALL, VERIFY, STRESS] {
        let heap = heap(config);
        let m = heap.attach().unwrap();
        // Garbage first, so that slices are made in memory that was used before.
        for len in 0..100 {
            m.alloc_slice(len, |_| Some(m.alloc(0x5555_5555_5555_5555u64)));
        }
        for len in [1, 2, 3, 50, 300, 6000] {
            let every = (len / 3).max(1);
            let slice = m.alloc_slice(len, |i| {
                if i % every == 0 {
                    m.collect();
                }
                let inner = m.alloc_slice(3, |k| (i * 10 + k) as u64);
                if i % every == 1 {
                    m.collect();
                }
                (i, Some(inner))
            });
            m.collect();
            for (i, (number, inner)) in slice.iter().enumerate() {
                let i64 = i as u64;
                assert_eq!((*number, &inner.unwrap()[..]), (i, &[i64 * 10, i64 * 10 + 1, i64 * 10 + 2][..]));
            }
        }
        assert_eq!(heap.stats().barrier_violations, 0);
    }
}

#[test]
fn a_closure_that_panics_leaves_the_heap_intact() {
    let heap = heap(VERIFY);
    let m = heap.attach().unwrap();
    let made = Cell::new(0);
    let message = panic_message(|| {
        m.alloc_slice(100, |i| {
            assert!(i < 60, "enough of it");
            made.set(i);
            Some(m.alloc(i as u64))
        });
    });
    assert!(message.contains("enough of it") && made.get() == 59);
    m.collect();
    assert_list(list(&m, 1000), 1000);
    assert_eq!(heap.stats().barrier_violations, 0);
}

#[test]
fn impossible_lengths_are_errors() {
    let heap = heap(SMALL);
    let m = heap.attach().unwrap();
    for len in [usize::MAX, usize::MAX / 8, isize::MAX as usize / 8, 1 << 50, 1 << 40] {
        match m.try_alloc_slice(len, |_| -> u64 { panic!("no element should be made") }) {
            Err(e @ AllocError::ReservationFull { .. }) => assert!(!e.to_string().is_empty()),
            other => panic!("{len}: {:?}", other.map(|s| s.len())),
        }
    }
    assert!(panic_message(|| _ = m.alloc_slice(1 << 50, |_| 0u64)).contains("bytes"));
    assert_list(list(&m, 1000), 1000);
}

#[test]
fn slices_have_the_traits_of_arrays_without_a_length() {
    let heap = heap(SMALL);
    let m = heap.attach().unwrap();
    let (one, same, longer) = (m.alloc_copy(&[1u8, 2]), m.alloc_copy(&[1u8, 2]), m.alloc_copy(&[1u8, 2, 0]));
    assert!(one == same && *one == [1, 2] && *one == [1u8, 2][..] && one != longer && *one != [1]);
    assert!(one < longer && longer > same && one.cmp(&same).is_eq());
    assert!(m.alloc_slice(2, |_| f64::NAN).partial_cmp(&m.alloc_slice(2, |_| 0.0)).is_none());
    let hash = |value: &dyn Fn(&mut DefaultHasher)| {
        let mut hasher = DefaultHasher::new();
        value(&mut hasher);
        hasher.finish()
    };
    assert_eq!(hash(&|h| one.hash(h)), hash(&|h| [1u8, 2][..].hash(h)), "as what it is borrowed as");
    assert_ne!(hash(&|h| one.hash(h)), hash(&|h| longer.hash(h)));
    let (as_ref, borrowed): (&[u8], &[u8]) = ((*one).as_ref(), (*one).borrow());
    assert_eq!((as_ref, borrowed), (&[1, 2][..], &[1, 2][..]));
    let mut seen = Vec::new();
    for byte in &one {
        seen.push(*byte);
    }
    for byte in &*longer {
        seen.push(*byte);
    }
    assert_eq!(seen, [1, 2, 1, 2, 0]);
    let names: WeakSet<Slice<u8>> = m.weak_set();
    let first = names.intern(&m, one);
    assert!(Gc::ptr_eq(first, one) && Gc::ptr_eq(names.intern(&m, same), one));
}
