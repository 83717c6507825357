//! Statistics tell where the time of a collection goes: the parts of a pause, what comes before it, and what locks cost others.

mod common;

use common::*;
use core::sync::atomic::{AtomicBool, Ordering};

#[test]
fn the_parts_of_a_pause_are_told() {
    let heap = heap(PRECISE);
    let polling = AtomicBool::new(true);
    std::thread::scope(|scope| {
        let mutator = attach(&heap);
        scope.spawn(|| {
            let other = attach(&heap);
            while polling.load(Ordering::Relaxed) {
                other.safepoint();
            }
        });
        let node = node_type(&heap);
        let mut roots = Slots::new(&heap, 1);
        for _ in 0..3 {
            extend_list(&mutator, node, 20_000, 7, |head| {
                head.into_iter().for_each(|h| roots.set(0, h));
                roots.get(0)
            });
            mutator.collect().unwrap();
        }
        polling.store(false, Ordering::Relaxed);
    });
    let stats = heap.stats();
    assert!(stats.mark_total_ns > 0 && stats.stop_total_ns > 0, "{stats:?}");
    assert!(stats.stop_total_ns + stats.mark_total_ns <= stats.pause_total_ns, "{stats:?}");
    for (p99, max, total) in [
        (stats.stop_p99_ns, stats.stop_max_ns, stats.stop_total_ns),
        (stats.mark_p99_ns, stats.mark_max_ns, stats.mark_total_ns),
        (stats.sweep_p99_ns, stats.sweep_max_ns, stats.sweep_total_ns),
    ] {
        assert!(p99 <= max && max <= total && max * stats.collections >= total, "{stats:?}");
    }
    // The list of threads was held as long as they were stopped.
    assert!(stats.hold_threads_max_ns >= stats.mark_max_ns, "{stats:?}");
    for hold in
        [stats.hold_spans_max_ns, stats.hold_pages_max_ns, stats.hold_types_max_ns, stats.hold_roots_max_ns]
    {
        assert!(hold > 0, "{stats:?}");
    }
}
