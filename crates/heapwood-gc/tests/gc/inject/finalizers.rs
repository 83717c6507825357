//! Finalisers that come too early or too late are caught by the random programs of `finalizers`.

use crate::finalizers::{PLAYED, graphs, play};
use heapwood_gc::Heap;
use heapwood_gc::inject::Fault;
use heapwood_gc::settings::options::Concurrent;
use heapwood_gc_testing::planted::first_caught_on;
use heapwood_gc_testing::*;

macro_rules! planted {
    ($($name:ident = $fault:ident, $every:literal, $seeds:literal, $play:expr;)*) => { $(
        #[test]
        fn $name() {
            assert!(first_caught_on(&PLAYED, $seeds, (Fault::$fault, $every), $play).is_some());
        }
    )* };
}

fn data(heap: &Heap, seed: u64) {
    play(heap, seed, 3000);
}

fn objects(heap: &Heap, seed: u64) {
    graphs::play(heap, seed, 2000);
}

planted! {
    early_data_is_caught = FinalizedByMark, 1, 5, data;
    late_data_is_caught = FinalizerMissed, 50, 5, data;
    // The random graphs of objects that come back.
    an_object_that_comes_twice_is_caught = FinalizedTwice, 1, 4, objects;
    an_object_that_comes_before_what_leads_to_it_is_caught = FinalizerUnordered, 1, 4, objects;
    an_object_that_comes_early_is_caught = FinalizedByMark, 1, 4, objects;
    an_object_that_comes_late_is_caught = FinalizerMissed, 20, 4, objects;
    an_object_that_is_not_revived_is_caught = RevivedUnmarked, 5, 4, objects;
    a_queue_that_keeps_nothing_is_caught = QueueNoRoot, 2, 4, objects;
    data_of_what_comes_back_is_caught = RevivedDataQueued, 1, 4, objects;
}

#[test]
fn verify_mode_tells_of_early_finalisers() {
    let child = Child::new().run(|| {
        let heap = heap(YOUNG.concurrent(Concurrent::Off).verify(true));
        heap.faults().inject(Fault::FinalizedByMark, 1);
        graphs::play(&heap, 1, 3000);
    });
    assert!(!child.status.success() && child.err.contains("was taken for dead"), "{child}");
}
