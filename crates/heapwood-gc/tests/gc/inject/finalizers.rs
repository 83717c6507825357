//! Finalisers of data that come too early or too late are caught by the random programs of `finalizers`; those of objects the oracle
//! catches.

use crate::finalizers::{PLAYED, play};
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

planted! {
    early_data_is_caught = FinalizedByMark, 1, 5, data;
    late_data_is_caught = FinalizerMissed, 50, 5, data;
}

#[test]
fn verify_mode_tells_of_early_finalisers() {
    let child = Child::new().run(|| {
        let heap = heap(YOUNG.concurrent(Concurrent::Off).verify(true));
        heap.faults().inject(Fault::FinalizedByMark, 1);
        play(&heap, 1, 3000);
    });
    assert!(!child.status.success() && child.err.contains("was taken for dead"), "{child}");
}
