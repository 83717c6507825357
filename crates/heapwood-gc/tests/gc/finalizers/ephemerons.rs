//! What is queued during a marking, and leads to a value by way of an ephemeron. (The order of dying objects that lead to each other so
//! is in the oracle.)

use super::*;
use crate::weak::ephemeron;
use heapwood_gc::FinalizeOrder;
use heapwood_gc::settings::options::Generational;

/// When an object was made that the program queues during a marking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Made {
    /// Before it, and dropped before it.
    Old,
    /// Meanwhile, and it is young at the end.
    Young,
    /// Meanwhile, and a young collection comes before the end.
    Promoted,
}

/// What the program queues during a marking leads to an ephemeron and to its key, and nothing else to the value, whose finaliser is
/// registered after that: it is not queued before the value is dead. (What was registered before is queued, too. Who registers an object
/// later has reached it: it is in the snapshot, a read has shaded it, or it was made since. So it has its mark when finalisers are looked
/// at, though ephemerons of what was found on the queue are settled later.)
#[test]
fn a_value_kept_by_what_is_queued_during_a_marking_is_not_queued_early() {
    const QUEUED: usize = 1;
    const VALUE: usize = 2;
    let made = [Made::Old, Made::Young, Made::Promoted];
    let cases = made.into_iter().flat_map(|made| {
        [Some(FinalizeOrder::Ordered), Some(FinalizeOrder::AtOnce), None].map(|order| (made, order))
    });
    let cases = cases.flat_map(|(made, order)| [false, true].map(|by_key| (made, order, by_key)));
    for config in [PRECISE, YOUNG, PRECISE.verify(true), YOUNG.verify(true), YOUNG.mark_stack(1)] {
        for (made, order, by_key) in cases.clone() {
            let heap = heap(config.concurrent(Concurrent::Off).background_release(false));
            let mutator = attach(&heap);
            let node = node_type(&heap);
            // What is queued, its key, the value; what leads to the value weakly: a reference, or an ephemeron of what is queued.
            let mut roots = Slots::new(&heap, 5);
            let at = |object: usize| NonNull::new(object as *mut u8).unwrap();
            let build = |roots: &mut Slots<'_>| {
                (0..3).for_each(|i| roots.set(i, new(&mutator, node)));
                put(roots.get(2), 2, 77);
                roots.set(3, ephemeron(&mutator, roots.get(1), roots.get(2)));
                // The ephemeron first, and the key by way of another object.
                link(&mutator, roots.get(0), 0, roots.get(3));
                let between = new(&mutator, node);
                link(&mutator, between, 0, roots.get(1));
                link(&mutator, roots.get(0), 1, between);
                roots.set(3, ephemeron(&mutator, roots.get(2), 0));
                roots.set(4, ephemeron(&mutator, roots.get(0), roots.get(2)));
                mutator.finalize(at(roots.get(0)), OWN, FinalizeOrder::AtOnce, QUEUED).unwrap();
            };
            if made == Made::Old {
                build(&mut roots);
                mutator.collect().unwrap();
                (0..3).for_each(|i| roots.set(i, 0));
            }
            assert_eq!(mutator.incremental_marking().begin(), Ok(true));
            if made != Made::Old {
                build(&mut roots);
                (0..3).for_each(|i| roots.set(i, 0));
            }
            assert_eq!(heap.finalize_all(), Ok(1));
            let value = match by_key {
                false => mutator.ephemeron_key(at(roots.get(3))).unwrap().unwrap(),
                true => mutator.ephemeron_value(at(roots.get(4))).unwrap().unwrap(),
            };
            match order {
                Some(order) => _ = mutator.finalize(value, OWN, order, VALUE).unwrap(),
                None => _ = finalize(&mutator, value.as_ptr() as usize, VALUE),
            }
            if made == Made::Promoted && config.generational == Generational::Always {
                mutator.collect_young().unwrap();
            }
            while mutator.incremental_marking().step(50).unwrap() {}
            assert_eq!(mutator.incremental_marking().finish(), Ok(true));
            assert_eq!(heap.finalizers(), (1, 1), "{made:?}, {order:?}, {by_key} in {config:?}");
            (0..5_000).for_each(|_| _ = new(&mutator, node));
            let taken = mutator.next_finalized(OWN).unwrap().unwrap();
            assert_eq!(taken.tag, QUEUED);
            roots.set(0, taken.object.unwrap().as_ptr() as usize);
            let found = mutator.ephemeron_value(at(get(roots.get(0), 0))).unwrap();
            assert_eq!((found, get(value.as_ptr() as usize, 2)), (Some(value), 77));
            // It comes when nothing leads there any more.
            roots.set(0, 0);
            mutator.collect().unwrap();
            assert_eq!(heap.finalizers(), (0, 1));
            assert_swept_and_valid(&heap);
        }
    }
}
