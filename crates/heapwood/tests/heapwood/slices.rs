//! Slices: empty, small and large, of data and of pointers, and built by closures that allocate and collect.

use crate::common::*;
use heapwood::{AllocError, ById, Gc, GcCell, Slice, Trace};
use std::cell::Cell;
use std::collections::{BTreeSet, HashMap};

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
    }
}

#[test]
fn copies_equal_their_source() {
    let heap = heap(SMALL);
    let m = heap.attach().unwrap();
    let text = "Heapwood holds what its makers thought worth keeping. ".repeat(1000);
    for len in [0, 1, 7, 8, 100, text.len()] {
        let copy = m.alloc_copy(&text.as_bytes()[..len]);
        m.collect();
        assert_eq!(&copy[..], &text.as_bytes()[..len]);
    }
    let pairs = m.alloc_copy(&[(1u8, 2u64), (3, 4)]);
    assert_eq!(pairs[1], (3, 4));
    assert_eq!(format!("{:?}", m.alloc_copy(&[1, 2, 3])), "[1, 2, 3]");
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
                assert!(ById(entry.second.get()) == ById(Some(numbers[i])));
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
fn slices_compare_hash_and_are_iterated_as_their_elements() {
    let heap = heap(SMALL);
    let m = heap.attach().unwrap();
    let (abc, again, abd) = (m.alloc_copy(b"abc"), m.alloc_copy(b"abc"), m.try_alloc_copy(b"abd").unwrap());
    assert!(
        abc == again && abc != abd && abc < abd && *abc == *again && *abd > *abc && !Gc::ptr_eq(abc, again)
    );
    let bytes: &[u8] = b"abc";
    assert!(*abc == *b"abc" && *abc == *bytes && *abc == bytes && *abc != [1, 2]);
    assert!(m.alloc_copy(b"ab") < abc && m.alloc_copy::<u8>(&[]) < m.alloc_copy(b"a"));
    let table = HashMap::from([(abc, 1), (abd, 2)]);
    assert_eq!(
        (table.get(&again), table.get(&b"abd"[..]), table.get(&b"ab"[..])),
        (Some(&1), Some(&2), None)
    );
    let sorted = BTreeSet::from([abd, abc, again]);
    assert!(sorted.len() == 2 && sorted.contains(&b"abc"[..]));
    let mut seen = Vec::new();
    for byte in &abc {
        seen.push(*byte);
    }
    for byte in &*abd {
        seen.push(*byte);
    }
    assert_eq!(seen, b"abcabd");
    let elements: &[u8] = abc.as_ref();
    assert_eq!(elements, b"abc");
    // Of pointers: by the contents of the objects.
    let numbers = |last| m.alloc_slice(3, |i| m.alloc(if i == 2 { last } else { i }));
    assert!(numbers(2) == numbers(2) && numbers(2) != numbers(3) && numbers(2) < numbers(3));
}

#[test]
fn texts_are_strings() {
    for config in [SMALL, STRESS] {
        let heap = heap(config);
        let m = heap.attach().unwrap();
        let long = "Märchen ".repeat(2000);
        let (empty, word, again, text) =
            (m.alloc_str(""), m.alloc_str("Wald"), m.alloc_str("Wald"), m.try_alloc_str(&long).unwrap());
        m.collect();
        assert!(
            empty.is_empty() && text.len() == long.len() && **text == *long && text.chars().count() == 16_000
        );
        assert!(word == again && *word == *again && *word == "Wald" && *word == *"Wald");
        assert_eq!(*"Wald", *word);
        assert!(empty < word && *word > *empty && word != text && word.starts_with('W'));
        assert_eq!(
            (format!("{word}"), format!("{word:?}"), format!("{:>6}", *word)),
            ("Wald".into(), "\"Wald\"".into(), "  Wald".into())
        );
        let words = HashMap::from([(word, 1), (text, 2)]);
        assert_eq!((words.get(&again), words.get("Wald"), words.get("Wal")), (Some(&1), Some(&1), None));
        let sorted = BTreeSet::from([word, empty]);
        assert!(sorted.contains("") && sorted.first().unwrap().is_empty());
        let (chars, bytes): (&str, &[u8]) = (word.as_ref(), (*word).as_ref());
        assert_eq!((chars, bytes), ("Wald", &b"Wald"[..]));
        assert_eq!(size_of_val(&word), 8);
    }
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
