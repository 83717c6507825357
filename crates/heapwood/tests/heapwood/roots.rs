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
    assert!(Gc::ptr_eq(a.get(&m), b.get(&m)));
    drop(a);
    m.collect();
    assert_eq!(*b.get(&m), 3);
}

#[test]
fn a_clone_is_a_root_of_its_own() {
    let heap = heap(VERIFY);
    let m = heap.attach().unwrap();
    let roots = rooted_lists(&m, 300);
    let mut clones = roots.clone();
    clones[0] = roots[0].try_clone().unwrap();
    drop(roots);
    for left in [300, 20, 0] {
        clones.truncate(left);
        scrub();
        m.collect();
        m.collect_young();
        let live = heap.stats().live_objects;
        assert!((left * 100..left * 100 + 3000).contains(&live), "{live} objects with {left} clones");
        clones.iter().for_each(|root| assert_list(Some(root.get(&m)), 100));
    }
}

/// Threads that are not attached pass an object on, root to root, while another collects.
#[test]
fn clones_are_made_while_others_collect() {
    let heap = heap(SMALL);
    let m = heap.attach().unwrap();
    let (done, rounds) = (&AtomicU64::new(0), 30_000);
    let passed: Vec<Root<Node>> = std::thread::scope(|s| {
        let pass = |mut root: Root<Node>| {
            move || {
                for _ in 0..rounds {
                    root = root.clone();
                }
                done.fetch_add(1, Ordering::Relaxed);
                root
            }
        };
        let threads: Vec<_> = (0..2).map(|_| s.spawn(pass(m.root(list(&m, 100).unwrap())))).collect();
        while done.load(Ordering::Relaxed) < 2 {
            list(&m, 50);
            m.collect_young();
            m.collect();
        }
        m.blocking(|| threads.into_iter().map(|thread| thread.join().unwrap()).collect())
    });
    scrub();
    m.collect();
    passed.iter().for_each(|root| assert_list(Some(root.get(&m)), 100));
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

#[test]
fn many_roots_are_made_and_dropped() {
    let heap = heap(VERIFY);
    let m = heap.attach().unwrap();
    let mut roots: Vec<Root<u64>> = Vec::new();
    for i in 0..20_000u64 {
        let root = m.root(m.alloc(i));
        if i % 3 == 0 { roots.push(root) } else { drop(root) }
    }
    m.collect();
    roots.iter().enumerate().for_each(|(i, root)| assert_eq!(*root.get(&m), i as u64 * 3));
}
