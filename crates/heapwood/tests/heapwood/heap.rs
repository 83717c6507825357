//! Heaps as a whole: settings and their errors, hooks, and one program that uses everything under verify and stress mode.

use crate::common::*;
use heapwood::{Concurrent, Config, Gc, GcCell, GcTrace, Heap, HeapError, Misuse, Mutator, Slice, Trace};
use std::thread;

/// The error of making such a heap.
fn refusal(config: Config) -> String {
    // SAFETY: no pointer is ever made.
    unsafe { Heap::new(config) }.map(|_| ()).unwrap_err().to_string()
}

#[test]
fn wrong_settings_are_errors_with_the_range() {
    for percent in [0, Config::MAX_PERCENT + 1, u32::MAX] {
        assert_eq!(
            refusal(SMALL.percent(percent)),
            format!(
                "option percent is {percent}: it must be 1 to 100000; choose such a value, or leave it out for the \
                 default, 150"
            )
        );
    }
    for limit in [0, 1, Config::MIN_LIMIT - 1] {
        let text = refusal(SMALL.limit(limit));
        assert!(text.starts_with(&format!("option limit is {limit} byte")), "{text}");
        assert!(
            text.ends_with(": it must be at least 4 MiB; choose such a value, or leave it out"),
            "{text}"
        );
    }
    for bytes in [1, 1 << 60] {
        let text = refusal(SMALL.address_space(bytes));
        assert!(
            text.contains(": it must be 16 MiB to 16 TiB; choose such a value, or leave it out"),
            "{text}"
        );
    }
    for (config, other) in [
        (SMALL.background_release(false), "background_release is off"),
        (SMALL.stop(heapwood::Stop::Signals), "stop is signals"),
    ] {
        let text = refusal(config.concurrent(Concurrent::On).max_pause(0));
        assert!(text.starts_with(&format!("option concurrent is on and {other}: ")), "{text}");
    }
}

#[test]
fn the_edges_of_the_settings_work() {
    for config in [
        SMALL.percent(1),
        SMALL.percent(Config::MAX_PERCENT),
        SMALL.limit(Config::MIN_LIMIT),
        SMALL.limit(usize::MAX),
        SMALL.min_heap(0),
        SMALL.min_heap(usize::MAX),
        SMALL.mark_stack(1),
        SMALL.address_space(16 << 20),
        SMALL.conservative_stacks(false),
        SMALL.concurrent(Concurrent::On).max_pause(0),
        Config::DEFAULT,
    ] {
        let heap = heap(config);
        let m = heap.attach().unwrap();
        let kept = list(&m, 10_000);
        m.collect();
        list(&m, 10_000);
        m.collect();
        assert_list(kept, 10_000);
    }
    let heap = heap(SMALL);
    assert!(
        matches!(heap.set_percent(0), Err(HeapError::OutOfRange { option, value: 0 }) if option.name == "percent")
    );
    assert!(heap.set_percent(Config::MAX_PERCENT + 1).is_err());
    assert_eq!(heap.set_percent(50), Ok(()));
}

#[test]
fn settings_change_while_the_heap_is_in_use() {
    let heap = heap(SMALL.trace(GcTrace::Off));
    let m = heap.attach().unwrap();
    assert_eq!(heap.set_limit(Some(Config::MIN_LIMIT)), Ok(()));
    assert!(m.try_alloc_slice(2 * Config::MIN_LIMIT, |_| 0u8).is_err());
    assert!(heap.set_limit(Some(Config::MIN_LIMIT - 1)).is_err());
    assert_eq!(heap.set_limit(None), Ok(()));
    assert!(m.try_alloc_slice(2 * Config::MIN_LIMIT, |_| 0u8).is_ok());
    assert_eq!((heap.set_mark_threads(Some(1)), heap.set_mark_threads(None)), (Ok(()), Ok(())));
    assert!(heap.set_mark_threads(Some(0)).is_err());
    let before = heap.stats().collections;
    assert_eq!((heap.disable_collections(), heap.disable_collections()), (Ok(1), Ok(2)));
    (0..500_000u64).for_each(|i| _ = m.alloc([i; 4]));
    assert_eq!(heap.stats().collections, before, "more than a small heap may grow without one");
    assert_eq!((heap.enable_collections(), heap.enable_collections()), (Ok(1), Ok(0)));
    assert_eq!(heap.enable_collections(), Err(Misuse::CollectionsOn));
    m.collect();
    assert!(heap.stats().collections > before);
}

#[test]
fn clones_are_the_same_heap() {
    let one = heap(SMALL);
    let clone = one.clone();
    let m = clone.attach().unwrap();
    m.collect();
    assert_eq!((one.stats().collections, m.heap().stats().collections), (1, 1));
    assert!(format!("{one:?}").contains("collections: 1"));
    let kept = m.alloc(8u64);
    drop((one, clone));
    m.collect();
    assert_eq!(*kept, 8);
}

#[derive(Trace)]
#[allow(clippy::large_enum_variant, reason = "one that is scanned conservatively, and not small")]
enum Item {
    Nothing,
    Text(Gc<Slice<u8>>),
    Many(Gc<Slice<GcCell<Option<Gc<Item>>>>>),
    Numbers([u64; 40], Option<Gc<u64>>),
}

/// A tree of all kinds of items; `seed` decides which.
fn item(m: &Mutator, depth: u64, seed: u64) -> Gc<Item> {
    match seed % 4 {
        _ if depth == 0 => m.alloc(Item::Nothing),
        0 => m.alloc(Item::Text(m.alloc_copy(seed.to_string().as_bytes()))),
        1 => m.alloc(Item::Numbers([seed; 40], Some(m.alloc(seed)))),
        _ => {
            let many = m.alloc_slice(4, |_| GcCell::new(None));
            for (i, cell) in many.iter().enumerate() {
                cell.set(m, Some(item(m, depth - 1, seed.wrapping_mul(3) + i as u64 + 2)));
            }
            m.alloc(Item::Many(many))
        }
    }
}

fn check(item: Gc<Item>, depth: u64, seed: u64) {
    match &*item {
        Item::Nothing => assert_eq!(depth, 0),
        Item::Text(text) => assert_eq!(&text[..], seed.to_string().as_bytes()),
        Item::Numbers(numbers, boxed) => {
            assert_eq!(*numbers, [seed; 40]);
            assert_eq!(*boxed.unwrap(), seed);
        }
        Item::Many(many) => {
            for (i, cell) in many.iter().enumerate() {
                check(cell.get().unwrap(), depth - 1, seed.wrapping_mul(3) + i as u64 + 2);
            }
        }
    }
}

fn everything(config: Config, depth: u64, rounds: u64) {
    let heap = heap(config);
    let m = heap.attach().unwrap();
    let root = m.root(item(&m, depth, 2));
    let numbers = m.root(m.alloc_slice(20_000, |i| i as u32));
    let links = m.root(list(&m, 300).unwrap());
    for round in 0..rounds {
        check(item(&m, depth, round), depth, round);
        // Move the list's first node behind its second.
        let first = links.get(&m);
        let second = first.next.get().unwrap();
        let third = second.next.replace(&m, Some(first));
        first.next.set(&m, third);
        m.collect();
        second.next.set(&m, third);
        first.next.set(&m, Some(second));
        let theirs = (heap.clone(), &links);
        m.blocking(|| {
            thread::scope(|s| {
                s.spawn(move || {
                    let m = theirs.0.attach().unwrap();
                    assert_list(Some(theirs.1.get(&m)), 300);
                    check(item(&m, depth, round + 1), depth, round + 1);
                    m.collect();
                });
            })
        });
        m.alloc([round; 5000]);
        m.safepoint();
    }
    check(root.get(&m), depth, 2);
    assert!(numbers.get(&m).iter().enumerate().all(|(i, &n)| n == i as u32));
    assert_list(Some(links.get(&m)), 300);
    m.collect();
    let stats = heap.stats();
    assert_eq!(stats.barrier_violations, 0);
    assert!(stats.collections > 2 * rounds);
    assert_eq!(stats.verified, if config.verify { stats.collections } else { 0 });
}

#[test]
fn everything_works_in_each_mode() {
    let modes = [(SMALL, 5, 20), (VERIFY, 5, 10), (STRESS, 3, 3), (VERIFY.stress(true).mark_stack(16), 3, 2)];
    modes.into_iter().for_each(|(config, depth, rounds)| everything(config, depth, rounds));
}

/// A hook is called at both ends of a collection, and dropped when another replaces it, when it is forgotten, and with its heap.
#[test]
fn hooks_are_told_of_collections_and_dropped() {
    use heapwood::{CollectionKind, CollectionMoment};
    use std::sync::{Arc, Mutex};
    let events = Arc::new(Mutex::new(Vec::new()));
    let heap = heap(SMALL.concurrent(heapwood::Concurrent::Off));
    let m = heap.attach().unwrap();
    let set = || {
        let (told, set_in) = (events.clone(), heap.full_collections());
        heap.on_collection(move |moment, kind| told.lock().unwrap().push((moment, kind, set_in))).unwrap();
    };
    set();
    m.collect();
    let full = |at| {
        [
            (CollectionMoment::Start, CollectionKind::Full, at),
            (CollectionMoment::End, CollectionKind::Full, at),
        ]
    };
    assert_eq!(events.lock().unwrap().drain(..).collect::<Vec<_>>(), full(0));
    set();
    assert_eq!(Arc::strong_count(&events), 2, "the first is gone");
    m.collect();
    assert_eq!(events.lock().unwrap().drain(..).collect::<Vec<_>>(), full(1));
    assert!(m.blocking(|| heap.on_collection(|_, _| ())).is_err() && Arc::strong_count(&events) == 2);
    heap.forget_on_collection().unwrap();
    m.collect();
    assert_eq!(
        (events.lock().unwrap().len(), Arc::strong_count(&events), heap.full_collections()),
        (0, 1, 3)
    );
    set();
    drop((m, heap));
    assert_eq!(Arc::strong_count(&events), 1);
}
