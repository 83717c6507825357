//! Reports of verify mode: where they go, how many there were, and that the first can end the process.

use heapwood_gc::Config;
use heapwood_gc_testing::*;
use heapwood_os::diagnose::message::on_report;
use std::os::unix::process::ExitStatusExt;
use std::sync::atomic::{AtomicUsize, Ordering};

const VERIFY: Config = PRECISE.verify(true);

static TAKEN: AtomicUsize = AtomicUsize::new(0);

fn take(report: &str) {
    assert!(report.starts_with("heapwood: verify: word 0 of the object at 0x") && !report.ends_with('\n'));
    TAKEN.fetch_add(1, Ordering::SeqCst);
}

/// Stores N times around the barrier, and collects after each.
fn store_around_the_barrier(config: Config, times: usize) {
    let heap = heap(config);
    let mutator = attach(&heap);
    let (node, mut roots) = (node_type(&heap), Slots::new(&heap, 2));
    (0..2).for_each(|i| roots.set(i, new(&mutator, node)));
    mutator.collect().unwrap();
    for i in 0..times {
        put(roots.get(0), 0, if i % 2 == 0 { roots.get(1) } else { 0 });
        mutator.collect().unwrap();
    }
    println!("came to its end");
}

#[test]
fn a_function_takes_each_and_they_are_counted_at_the_end() {
    for (times, end) in [(1, "\nheapwood: verify: 1 report\n"), (3, "\nheapwood: verify: 3 reports\n")] {
        let ended = Child::new().called(times).run(|| {
            on_report(Some(take));
            store_around_the_barrier(VERIFY, times);
            assert_eq!(TAKEN.load(Ordering::SeqCst), times);
            on_report(None);
            store_around_the_barrier(VERIFY, 1);
            assert_eq!(TAKEN.load(Ordering::SeqCst), times, "nobody takes them any more");
        });
        let ended = ended.well().says(end);
        assert!(ended.err.ends_with(": 1 report\n"), "{ended}");
    }
    let ended = Child::new().run(|| store_around_the_barrier(VERIFY, 0)).well();
    assert!(!ended.err.contains("report"), "{ended}");
}

#[test]
fn the_first_can_end_the_process() {
    let ended = Child::new().run(|| store_around_the_barrier(VERIFY.verify_stop(true), 3));
    assert_eq!(ended.status.signal(), Some(libc::SIGABRT), "{ended}");
    assert_eq!(ended.err.matches("without the write barrier").count(), 1, "{ended}");
    assert!(!ended.out.contains("came to its end"), "{ended}");
}

/// It is called in the middle of a collection, which cannot be unwound.
#[test]
fn a_panic_in_the_function_ends_the_process() {
    let ended = Child::new().run(|| {
        on_report(Some(|_| panic!("no more")));
        store_around_the_barrier(VERIFY, 1);
    });
    assert_eq!(ended.status.signal(), Some(libc::SIGABRT), "{ended}");
    assert!(ended.err.contains("no more") && !ended.out.contains("came to its end"), "{ended}");
}
