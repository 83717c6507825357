//! Roots: they keep objects alive from the ordinary heap and across threads, until they are dropped.

use crate::common::*;
use heapwood::{Gc, Mutator, Root};
use std::sync::atomic::{AtomicU64, Ordering};

/// Many small lists, so that a stray word on the stack keeps little alive.
#[inline(never)]
fn rooted_lists(m: &Mutator, lists: usize) -> Vec<Root<Node>> {
    (0..lists).map(|_| m.root(list(m, 100).unwrap())).collect()
}

#[test]
fn roots_keep_alive_until_they_are_dropped() {
    for config in [SMALL, VERIFY] {
        let heap = heap(config);
        let m = heap.attach().unwrap();
        let mut roots = rooted_lists(&m, 300);
        for left in [300, 150, 20, 0] {
            roots.truncate(left);
            scrub();
            m.collect();
            let live = heap.stats().live_objects;
            assert!((left * 100..left * 100 + 3000).contains(&live), "{live} objects with {left} roots");
            roots.iter().for_each(|root| assert_list(Some(root.get(&m)), 100));
        }
    }
}

#[test]
fn two_roots_of_one_object_are_independent() {
    let heap = heap(SMALL);
    let m = heap.attach().unwrap();
    let object = m.alloc(3u64);
    let (a, b) = (m.root(object), m.try_root(object).unwrap());
    assert!(a.get(&m) == b.get(&m));
    drop(a);
    m.collect();
    assert_eq!(*b.get(&m), 3);
}

/// A thread that is not attached clones, moves on, and drops, while others collect: a collection finds one root at least.
#[test]
fn roots_are_cloned_where_nobody_is_attached() {
    for config in [SMALL, VERIFY] {
        let heap = heap(config);
        let m = heap.attach().unwrap();
        let mut root = m.root(list(&m, 100).unwrap());
        scrub();
        let hop = std::thread::spawn(move || {
            for _ in 0..10_000 {
                root = root.clone();
            }
            root
        });
        for _ in 0..20 {
            m.collect_young();
            list(&m, 10_000);
            m.collect();
        }
        let root = m.blocking(|| hop.join()).unwrap();
        m.collect();
        assert_list(Some(root.get(&m)), 100);
        let copy = root.clone();
        drop(root);
        scrub();
        m.collect();
        assert_list(Some(copy.get(&m)), 100);
    }
}

#[test]
fn a_root_keeps_the_heap_alive() {
    let root = {
        let heap = heap(SMALL);
        let m = heap.attach().unwrap();
        m.root(m.alloc(41u64))
    };
    drop(root);
    let (heap, root) = {
        let heap = heap(SMALL);
        let m = heap.attach().unwrap();
        let root = m.root(m.alloc(42u64));
        (heap.clone(), root)
    };
    let m = heap.attach().unwrap();
    m.collect();
    assert_eq!(*root.get(&m), 42);
    // The attachment keeps it alive as well.
    drop(heap);
    m.collect();
    assert_eq!(*root.get(&m), 42);
    assert_eq!(m.heap().stats().collections, 2);
}

#[test]
fn a_mutator_of_another_heap_is_refused() {
    let (one, other) = (heap(SMALL), heap(SMALL));
    let (m1, m2) = (one.attach().unwrap(), other.attach().unwrap());
    let root = m1.root(m1.alloc(1u64));
    let message = panic_message(|| _ = root.get(&m2));
    assert_eq!(message, "a root is used with a mutator of another heap");
    assert_eq!(*root.get(&m1), 1);
}

#[test]
fn roots_of_shared_objects_cross_threads() {
    let heap = heap(SMALL);
    let m = heap.attach().unwrap();
    let root = m.root(list(&m, 1000).unwrap());
    let shared = m.root(m.alloc(AtomicU64::new(0)));
    let shared = &shared;
    let moved = m.blocking(|| {
        std::thread::scope(|s| {
            let threads: Vec<_> = (0..4)
                .map(|_| {
                    let heap = heap.clone();
                    s.spawn(move || {
                        let m = heap.attach().unwrap();
                        for _ in 0..1000 {
                            shared.get(&m).fetch_add(1, Ordering::Relaxed);
                        }
                        m.collect();
                    })
                })
                .collect();
            let heap = heap.clone();
            let moved = s.spawn(move || {
                let m = heap.attach().unwrap();
                let list: Gc<Node> = root.get(&m);
                assert_list(Some(list), 1000);
                m.root(list.next.get().unwrap())
            });
            threads.into_iter().for_each(|t| t.join().unwrap());
            moved.join().unwrap()
        })
    });
    m.collect();
    assert_list(Some(moved.get(&m)), 999);
    assert_eq!(shared.get(&m).load(Ordering::Relaxed), 4000);
    // Dropped on a thread that is not attached at all.
    m.blocking(|| std::thread::spawn(move || drop(moved)).join().unwrap());
}
