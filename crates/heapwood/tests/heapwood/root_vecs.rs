//! `RootVec`: what it holds lives wherever it lies, on any thread, and dies with it.

use crate::common::*;
use crate::made::*;
use heapwood::{Gc, Heap, Mutator, RootVec};
use std::sync::Mutex;

struct Machine {
    stack: RootVec<Value>,
    names: Vec<RootVec<Gc<u64>>>,
}

#[inline(never)]
fn build(m: &Mutator) -> Box<Machine> {
    let machine = Box::new(Machine { stack: m.root_vec(), names: (0..3).map(|_| m.root_vec()).collect() });
    machine.stack.extend(m, (0..500).map(|n| Value::make(m, n)));
    for (i, names) in machine.names.iter().enumerate() {
        (0..100).for_each(|n| names.push(m, m.alloc(n * 3 + i as u64)));
    }
    machine
}

#[test]
fn a_root_vec_in_a_box_keeps_its_elements() {
    for config in HEAPS {
        let heap = heap(config);
        let m = heap.attach().unwrap();
        let machine = build(&m);
        scrub();
        m.collect();
        m.collect_young();
        m.alloc_slice(10_000, |i| i);
        m.collect();
        assert!(machine.stack.iter(&m).map(Value::number).eq(0..500));
        machine.stack.set(&m, 7, Value::make(&m, 1007));
        machine.stack.truncate(&m, 100);
        m.collect();
        assert_eq!(machine.stack.pop(&m).map(Value::number), Some(99));
        assert_eq!((machine.stack.at(&m, 7).number(), machine.stack.len(&m)), (1007, 99));
        assert!(machine.stack.get(&m, 99).is_none() && machine.stack.last(&m).is_some());
        for (i, names) in machine.names.iter().enumerate() {
            assert!(names.iter(&m).map(|n| *n).eq((0..100).map(|n| n * 3 + i as u64)));
            names.clear(&m);
            assert!(names.is_empty(&m));
        }
        drop(machine);
        scrub();
        m.collect();
        assert!(heap.stats().live_objects < 100, "{:?}", heap.stats());
        assert_eq!(heap.stats().barrier_violations, 0);
    }
}

static KEPT: Mutex<Option<(Heap, RootVec<Gc<u64>>)>> = Mutex::new(None);

#[test]
fn a_root_vec_in_a_static_goes_from_thread_to_thread() {
    let first = heap(VERIFY);
    let m = first.attach().unwrap();
    *KEPT.lock().unwrap() = Some((first.clone(), m.root_vec()));
    let add = || {
        let heap = KEPT.lock().unwrap().as_ref().unwrap().0.clone();
        let m = heap.attach().unwrap();
        for n in 0..1000 {
            let number = m.alloc(n);
            let kept = m.blocking(|| KEPT.lock().unwrap());
            kept.as_ref().unwrap().1.push(&m, number);
        }
    };
    m.blocking(|| {
        std::thread::scope(|s| {
            (0..4).for_each(|_| _ = s.spawn(add));
        })
    });
    m.collect();
    let kept = KEPT.lock().unwrap().take().unwrap().1;
    assert_eq!(kept.iter(&m).map(|n| *n).sum::<u64>(), 4 * 999 * 500);
    assert_eq!(first.stats().barrier_violations, 0);
    let other = heap(SMALL);
    let theirs = other.attach().unwrap();
    let told = panic_message(|| kept.push(&theirs, theirs.alloc(1)));
    assert!(told.contains("mutator of another heap"), "{told}");
}
