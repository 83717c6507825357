//! Each statistic has a value.

use core::time::Duration;
use heapwood_gc::settings::options::{Concurrent, Generational};
use heapwood_gc_testing::*;
use heapwood_heap::ArenaKind;

#[test]
fn every_statistic_has_its_value_and_help() {
    let heap = heap(PRECISE.generational(Generational::Always).concurrent(Concurrent::On).max_pause(0));
    let mutator = attach(&heap);
    let node = node_type(&heap);
    let mut roots = Slots::new(&heap, 1);
    roots.extend_list(0, &mutator, node, 20_000, 7);
    // Garbage, whose pages are released.
    for _ in 0..200_000 {
        mutator.allocate(node).unwrap();
    }
    mutator.collect().unwrap();
    // The heap grows until a marking beside the program has begun and ended in short stops.
    let mut steps = 0..200_000;
    while heap.inspect().stats().mark_end_max_ns == 0 {
        let step = steps.next().expect("no marking beside the program ends");
        roots.extend_list(0, &mutator, node, 100, 7);
        if step % 5_000 == 4_999 {
            roots.set(0, 0);
        }
        mutator.blocking(std::thread::yield_now).unwrap();
    }
    // The list's pages are free at the end.
    roots.set(0, 0);
    mutator.collect().unwrap();
    heap.memory().finish_sweep();
    heap.set_young_time(Some(Duration::ZERO));
    mutator.allocate(node).unwrap();
    mutator.collect_young().unwrap();
    // Of three arenas one is closed, and one left to the collector, with the last, as the thread leaves.
    for k in 0..3 {
        let arena = Arena::open(&mutator, ArenaKind::Escaping);
        arena.data(&mutator, 1000, 8).unwrap();
        match k {
            0 => arena.close(&mutator),
            1 => arena.leave(&mutator),
            _ => {}
        }
    }
    mutator.external(1000).unwrap();
    // A weak reference whose object is dead is cleared.
    // SAFETY: no collection comes before the key is taken.
    roots.set(0, unsafe { mutator.ephemeron(mutator.allocate(node).unwrap(), 0) }.unwrap().as_ptr() as usize);
    mutator.collect().unwrap();
    // Of two finalisers one is queued.
    mutator.finalize_data(mutator.allocate(node).unwrap(), Default::default(), 1).unwrap();
    // Two objects wait for each other.
    let circle = [new(&mutator, node), new(&mutator, node)];
    for i in 0..2 {
        put(circle[i], 0, circle[1 - i]);
        let object = core::ptr::NonNull::new(circle[i] as *mut u8).unwrap();
        mutator.finalize(object, Default::default(), Default::default(), i).unwrap();
    }
    mutator.collect().unwrap();
    mutator.finalize_data(mutator.allocate(node).unwrap(), Default::default(), 2).unwrap();
    drop(mutator);
    heap.memory().release_free();
    heap.disable_collections().unwrap();
    let stats = heap.inspect().stats();
    let values: Vec<_> = heapwood_gc::STATISTICS.iter().zip(stats.values()).collect();
    let value = |name: &str| values.iter().find(|(s, _)| s.name == name).expect(name).1;
    assert_eq!((value("collections"), value("live_objects")), (stats.collections, stats.live_objects as u64));
    assert_eq!(value("page_lock_acquisitions"), stats.page_lock_acquisitions);
    for (statistic, value) in values {
        assert!(statistic.help.ends_with('.'), "{}", statistic.name);
        let may_be_zero = [
            "mark_overflows",
            "barrier_violations",
            "verified",
            "threads",
            "concurrent_degenerated",
            "mark_wait_max_ns",
            "mark_wait_ns",
            "mark_waits",
            "floating_objects",
            // The heap's own thread may have made another collection.
            "finalizers",
            // The heap's own thread may have given them back.
            "arena_free_bytes",
        ];
        let may_be_zero = may_be_zero.contains(&statistic.name) || statistic.name.starts_with("idle_");
        assert!(value > 0 || may_be_zero, "{} is 0: {stats:?}", statistic.name);
    }
}
