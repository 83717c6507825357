//! Sessions: what is allocated inside a call may be held anywhere until it ends; collections come between calls, and keep what the
//! root leads to.
#![forbid(unsafe_code)]

#[cfg(target_arch = "x86_64")]
use crate::common::on_stack;
use crate::common::{SMALL, STRESS, VERIFY, heap, panic_message};
use heapwood::session::{Gc, Mutation, Rootable, Session, Weak, WeakMap, WeakSet};
use heapwood::{AllocError, Concurrent, Config, GcCell, GcStr, Generational, Slice, Trace};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};

const MIB: usize = 1 << 20;

#[derive(Trace)]
struct Tree<'gc> {
    key: u64,
    children: [GcCell<Option<Gc<'gc, Tree<'gc>>>>; 2],
}

#[derive(Trace, Rootable)]
struct Table<'gc> {
    trees: Gc<'gc, Slice<GcCell<Option<Gc<'gc, Tree<'gc>>>>>>,
}

const PLACES: usize = 64;

fn table<'gc>(m: &Mutation<'gc>) -> Table<'gc> {
    Table { trees: m.alloc_slice(PLACES, |_| GcCell::new(None)) }
}

fn session(config: Config) -> Session<Table<'static>> {
    Session::<Table>::new(config, table).unwrap()
}

fn tree<'gc>(m: &Mutation<'gc>, depth: u32, key: u64) -> Gc<'gc, Tree<'gc>> {
    let child = |side| GcCell::new((depth > 0).then(|| tree(m, depth - 1, 2 * key + side)));
    m.alloc(Tree { key, children: [child(0), child(1)] })
}

/// The nodes of a tree that `tree` has made.
fn check(tree: &Tree<'_>, key: u64) -> usize {
    assert_eq!(tree.key, key);
    1 + [0, 1]
        .into_iter()
        .filter_map(|side| tree.children[side].get().map(|child| check(&child, 2 * key + side as u64)))
        .sum::<usize>()
}

/// Replaces trees in random places of a table, and checks all others now and then.
fn churn(config: Config, calls: u64) -> Session<Table<'static>> {
    let mut session = session(config);
    let mut seed = 1u64;
    let mut below = |n: usize| {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 33) as usize % n
    };
    let mut depths: [Option<(u32, u64)>; PLACES] = [None; PLACES];
    for call in 0..calls {
        session.mutate(|m, root| {
            for _ in 0..8 {
                let (place, depth) = (below(PLACES), below(6) as u32);
                depths[place] = Some((depth, call));
                root.trees[place].set(m, Some(tree(m, depth, call)));
                // A pointer moves from one place to another, as a marker goes by.
                let (from, to) = (below(PLACES), below(PLACES));
                depths[to] = depths[from];
                root.trees[to].set(m, root.trees[from].get());
            }
        });
        if call % 16 == 0 {
            session.mutate(|_, root| {
                for (place, made) in root.trees.iter().zip(depths) {
                    let (nodes, expected) = (place.get().map(|tree| check(&tree, tree.key)), made);
                    assert_eq!(nodes, expected.map(|(depth, _)| (2 << depth) - 1));
                }
            });
        }
    }
    session
}

#[test]
fn what_the_root_leads_to_stays() {
    let beside = SMALL.concurrent(Concurrent::On).max_pause(0);
    for (config, calls) in [
        (SMALL, 2000),
        (SMALL.generational(Generational::Off), 2000),
        (SMALL.generational(Generational::Always), 2000),
        (beside, 4000),
        (beside.generational(Generational::Off), 4000),
        (beside.verify(true), 2000),
        (VERIFY.generational(Generational::Always), 500),
        (STRESS, 200),
    ] {
        let session = churn(config, calls);
        let stats = session.stats();
        assert!(stats.collections > 0, "{config:?}");
        assert_eq!(stats.barrier_violations, 0, "{config:?}");
    }
}

/// Collections come, so memory does not grow; none comes inside a call.
#[test]
fn what_the_root_does_not_lead_to_goes() {
    let mut session = session(SMALL);
    for _ in 0..64 {
        let before = session.stats().collections;
        session.mutate(|m, root| {
            (0..1024).for_each(|_| _ = m.alloc([0u64; 128]));
            root.trees[0].set(m, Some(tree(m, 3, 1)));
        });
        // The two that a call may end with: what was due, and a pause of a marking.
        assert!(session.stats().collections <= before + 2);
    }
    assert!(session.stats().collections > 8 && session.stats().in_use_bytes < 16 * MIB);
    session.collect();
    assert_eq!(session.mutate(|_, root| check(&root.trees[0].get().unwrap(), 1)), 15);
    session.mutate(|m, root| root.trees[0].set(m, None));
    session.collect();
    assert_eq!(session.stats().live_objects, 2, "the root and its slice");
}

/// Everything that hides pointers from a collector that scans stacks.
#[test]
fn inside_a_call_pointers_may_be_anywhere() {
    for config in [SMALL, STRESS, VERIFY] {
        let mut session = session(config);
        for round in 0..4 {
            session.mutate(|m, _| {
                let fresh = |key| m.alloc(Tree { key, children: [0; 2].map(|_| GcCell::new(None)) });
                let vec: Vec<Gc<Tree>> = (0..2000).map(fresh).collect();
                let boxes: Vec<Box<Gc<Tree>>> = (0..2000).map(|key| Box::new(fresh(key))).collect();
                let map: HashMap<u64, Gc<Tree>> = (0..2000).map(|key| (key, fresh(key))).collect();
                let sorted: BTreeMap<u64, &Tree> = vec.iter().map(|&tree| (tree.key, m.get(tree))).collect();
                let mut queue: VecDeque<_> = (0..2000).map(|key| Rc::new(fresh(key))).collect();
                let closures: Vec<Box<dyn Fn() -> u64 + '_>> =
                    vec.iter().map(|&tree| Box::new(move || tree.key) as Box<dyn Fn() -> u64>).collect();
                // A sort that allocates while elements lie in its buffer.
                let mut shuffled: Vec<Gc<Tree>> = vec.iter().rev().copied().collect();
                shuffled.sort_by_key(|tree| fresh(tree.key).key);
                (0..2000).for_each(|_| _ = m.alloc([1u64; 64]));
                for key in 0..2000u64 {
                    let at = key as usize;
                    let keys =
                        [vec[at].key, boxes[at].key, map[&key].key, sorted[&key].key, shuffled[at].key];
                    assert_eq!(keys, [key; 5], "round {round}");
                    assert_eq!((queue.pop_front().unwrap().key, closures[at]()), (key, key));
                }
            });
        }
        assert!(session.stats().collections > 0);
    }
}

/// Under stress a collection is due after each allocation, so an interpreter that returns when one is due is stressed, too.
#[test]
fn under_stress_each_allocation_makes_a_collection_due() {
    let mut session = session(STRESS);
    for _ in 0..10 {
        let before = session.stats().collections;
        session.mutate(|m, _| {
            assert!(!m.is_collection_due());
            _ = m.alloc(7u64);
            assert!(m.is_collection_due());
        });
        assert_eq!(session.stats().collections, before + 1);
    }
}

#[test]
fn other_threads_may_borrow_what_is_sync() {
    let mut session = session(STRESS);
    let sum: u64 = session.mutate(|m, _| {
        let numbers: Vec<&[u64]> = (0..8).map(|i| &**m.get(m.alloc_slice(1000, |_| i))).collect();
        std::thread::scope(|scope| {
            let threads: Vec<_> =
                numbers.iter().map(|numbers| scope.spawn(|| numbers.iter().sum::<u64>())).collect();
            (0..1000).for_each(|_| _ = m.alloc([0u64; 100]));
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        })
    });
    assert_eq!(sum, 28_000);
}

#[test]
fn a_root_is_replaced() {
    let mut session = session(SMALL);
    session.mutate(|m, root| root.trees[3].set(m, Some(tree(m, 4, 9))));
    session.replace_root(|m, root| {
        let kept = root.trees[3].get();
        Table { trees: m.alloc_slice(1, |_| GcCell::new(kept)) }
    });
    session.collect();
    assert_eq!(
        session.mutate(|_, root| (root.trees.len(), check(&root.trees[0].get().unwrap(), 9))),
        (1, 31)
    );
}

/// A panic leaves the session as it is; what was due comes later.
#[test]
fn a_panic_inside_a_call_is_no_harm() {
    let mut session = session(SMALL);
    session.mutate(|m, root| root.trees[0].set(m, Some(tree(m, 4, 1))));
    let message = panic_message(|| {
        session.mutate(|m, root| {
            root.trees[1].set(m, Some(tree(m, 2, 2)));
            (0..8 * 1024).for_each(|_| _ = m.alloc([0u64; 128]));
            panic!("in the middle");
        });
    });
    assert_eq!(message, "in the middle");
    let nodes = |place: usize, key| {
        move |_: &Mutation<'_>, root: &Table<'_>| check(&root.trees[place].get().unwrap(), key)
    };
    for _ in 0..4 {
        assert_eq!((session.mutate(nodes(0, 1)), session.mutate(nodes(1, 2))), (31, 7));
        session.mutate(|m, _| (0..1024).for_each(|_| _ = m.alloc([0u64; 128])));
    }
    assert!(session.stats().collections > 0 && session.stats().in_use_bytes < 16 * MIB);
}

/// A limit is an error inside the call, and there is room again after it.
#[test]
fn a_limit_is_refused_inside_a_call() {
    let mut session = session(SMALL.limit(8 * MIB));
    for _ in 0..3 {
        let refused = session.mutate(|m, _| (0..).find_map(|_| m.try_alloc([0u64; 1024]).err()).unwrap());
        assert!(matches!(refused, AllocError::Limit { .. }), "{refused}");
    }
    assert_eq!(session.mutate(|m, _| m.alloc(5u64).checked_add(1)), Some(6));
}

/// An interpreter returns when a collection is due, and the heap stays small.
#[test]
fn a_long_computation_returns_when_a_collection_is_due() {
    let mut session = session(SMALL);
    let (mut steps, mut calls) = (0, 0);
    while steps < 100_000 {
        calls += 1;
        session.mutate(|m, _| {
            while steps < 100_000 && !m.is_collection_due() {
                m.alloc([0u64; 64]);
                steps += 1;
            }
        });
    }
    assert!(calls > 10, "{calls}");
    assert!(session.stats().in_use_bytes < 16 * MIB);
}

/// Another heap of the thread collects in the middle of a call, and large objects are zeroed: then a thread counts as stopped.
#[test]
fn nothing_is_collected_while_the_thread_waits_inside_a_call() {
    let beside = SMALL.concurrent(Concurrent::On).max_pause(0);
    for config in [SMALL, beside, beside.generational(Generational::Off)] {
        let (mut outer, mut inner) = (session(config), session(STRESS));
        for round in 0..100 {
            outer.mutate(|m, root| {
                root.trees[0].set(m, Some(tree(m, 10, 1)));
                let held: Vec<Gc<Tree>> = (0..1000).map(|key| tree(m, 0, key)).collect();
                let slices: Vec<Gc<Slice<Gc<Tree>>>> =
                    (0..4).map(|i| m.alloc_slice(10_000, |_| held[i])).collect();
                inner.mutate(|m, root| root.trees[0].set(m, Some(tree(m, 3, round))));
                inner.collect();
                assert!(held.iter().enumerate().all(|(key, tree)| tree.key == key as u64));
                for (i, slice) in slices.iter().enumerate() {
                    assert!(slice.iter().all(|&tree| Gc::ptr_eq(tree, held[i])));
                }
            });
            assert_eq!(outer.mutate(|_, root| check(&root.trees[0].get().unwrap(), 1)), 2047);
        }
        assert!(inner.stats().collections >= 100 && outer.stats().collections > 0);
    }
}

/// Calls without an allocation, on a thread that is attached to a heap without a session, let that heap collect.
#[test]
fn a_loop_of_calls_holds_up_no_other_heap() {
    let heap = heap(SMALL);
    let m = heap.attach().unwrap();
    let (is_running, is_collected) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut session = session(SMALL);
            let _attached = heap.attach().unwrap();
            while !is_collected.load(Ordering::SeqCst) {
                session.mutate(|_, root| assert_eq!(root.trees.len(), PLACES));
                is_running.store(true, Ordering::SeqCst);
            }
        });
        m.blocking(|| {
            while !is_running.load(Ordering::SeqCst) {
                std::thread::yield_now();
            }
        });
        m.collect();
        is_collected.store(true, Ordering::SeqCst);
    });
}

/// A coroutine's stack, of which nobody has told the heap: stacks are not scanned.
#[cfg(target_arch = "x86_64")]
#[test]
fn a_session_is_used_on_any_stack() {
    let mut stack = vec![0u128; 64 << 10];
    for config in [STRESS, VERIFY, SMALL.concurrent(Concurrent::On).max_pause(0)] {
        let mut session = session(config);
        for key in 0..100 {
            on_stack(&mut stack, &mut || {
                session.mutate(|m, root| root.trees[0].set(m, Some(tree(m, 9, key))));
                session.collect();
            });
            assert_eq!(session.mutate(|_, root| check(&root.trees[0].get().unwrap(), key)), 1023);
        }
    }
}

#[derive(Trace, Rootable)]
struct Names<'gc> {
    set: WeakSet<'gc, GcStr>,
    notes: WeakMap<'gc, GcStr, u64>,
    kept: GcCell<Option<Gc<'gc, GcStr>>>,
    seen: GcCell<Option<Weak<'gc, GcStr>>>,
}

/// What is weak is cleared between calls, and what it returns inside one stays until its end.
#[test]
fn weak_references_and_tables_live_in_sessions() {
    let beside = SMALL.concurrent(Concurrent::On).max_pause(0);
    for config in [SMALL, beside, VERIFY, STRESS] {
        let mut session = Session::<Names>::new(config, |m| Names {
            set: m.weak_set(),
            notes: m.weak_map(),
            kept: GcCell::new(None),
            seen: GcCell::new(None),
        })
        .unwrap();
        for round in 0..50 {
            session.mutate(|m, names| {
                let text = names.set.intern(m, m.alloc_str("kept"));
                names.kept.set(m, Some(text));
                names.notes.insert(m, text, m.alloc(round));
                names.seen.set(m, Some(m.weak(m.alloc_str("lost"))));
                for key in 0..100 {
                    let text = names.set.intern(m, m.alloc_str(&key.to_string()));
                    assert!(Gc::ptr_eq(names.set.intern(m, m.alloc_str(&key.to_string())), text));
                    names.notes.insert(m, text, m.alloc(key));
                }
                // Nothing else leads to it, but the call.
                assert_eq!(&**names.seen.get().unwrap().get(m).unwrap(), "lost");
                (0..1000).for_each(|_| _ = m.alloc([0u64; 8]));
                assert_eq!(names.set.len(m), 101);
            });
            session.collect();
            session.collect();
            session.mutate(|m, names| {
                assert!(names.seen.get().unwrap().get(m).is_none());
                assert_eq!((names.set.len(m), names.notes.len(m)), (1, 1));
                let text = names.kept.get().unwrap();
                assert_eq!(names.notes.get(m, text).map(|note| *note), Some(round));
            });
        }
    }
}
