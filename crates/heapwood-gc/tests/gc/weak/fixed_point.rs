//! The fixed point of long chains is right, and takes linear time, whatever order ephemerons are found in: with quadratic time
//! these tests would take minutes.

use super::{ephemeron, key_of, value_of};
use heapwood_gc::Config;
use heapwood_gc::settings::options::Concurrent;
use heapwood_gc_testing::*;

/// How the ephemerons of a chain lie in the array that leads to them.
#[derive(Clone, Copy, Debug)]
enum Order {
    Forward,
    Backward,
    Scattered,
}

/// Keys are nodes; the value of each ephemeron is the next one's key; the root leads to an array of the ephemerons, and to the
/// first key or to none.
fn chain(config: Config, n: usize, order: Order, is_kept: bool, collects: impl Fn(&heapwood_gc::Mutator)) {
    let heap = heap(config);
    let mutator = attach(&heap);
    let (node, array) = (node_type(&heap), masked(&heap, 128, &(0..128).collect::<Vec<_>>()));
    let mut roots = Slots::new(&heap, 3);
    // Arrays of arrays of ephemerons.
    let arrays = n.div_ceil(128);
    let mut tops = Slots::new(&heap, arrays);
    (0..arrays).for_each(|i| tops.set(i, new(&mutator, array)));
    roots.set(0, new(&mutator, node));
    roots.set(1, roots.get(0));
    for i in 0..n {
        // The last value is no key.
        roots.set(2, new(&mutator, node));
        let place = match order {
            Order::Forward => i,
            Order::Backward => n - 1 - i,
            Order::Scattered => i * 7919 % n,
        };
        let made = ephemeron(&mutator, roots.get(1), roots.get(2));
        link(&mutator, tops.get(place / 128), place % 128, made);
        roots.set(1, roots.get(2));
    }
    roots.set(1, 0);
    roots.set(2, 0);
    if !is_kept {
        roots.set(0, 0);
    }
    collects(&mutator);
    // Those that were cleared before are looked at no more.
    let alive =
        (0..n).filter(|&place| key_of(&mutator, get(tops.get(place / 128), place % 128)) != 0).count();
    assert_eq!(alive, if is_kept { n } else { 0 });
    if is_kept {
        // From the first key to the last value.
        let first = match order {
            Order::Forward | Order::Scattered => 0,
            Order::Backward => n - 1,
        };
        let first = get(tops.get(first / 128), first % 128);
        assert!(lives(&heap, value_of(&mutator, first)));
        assert!(heap.inspect().stats().live_objects >= 2 * n);
    }
}

fn length() -> usize {
    // A prime, so that the scattered order is one.
    if cfg!(debug_assertions) { 50_021 } else { 1_000_003 }
}

#[test]
fn chains_take_linear_time_in_each_order() {
    let config = FULL.concurrent(Concurrent::Off).min_heap(256 << 20);
    for order in [Order::Forward, Order::Backward, Order::Scattered] {
        for is_kept in [true, false] {
            chain(config, length(), order, is_kept, |mutator| mutator.collect().unwrap());
        }
    }
}

#[test]
fn chains_take_linear_time_in_young_collections_and_for_several_markers() {
    let young = YOUNG.concurrent(Concurrent::Off).min_heap(256 << 20);
    let several = FULL.concurrent(Concurrent::Off).min_heap(256 << 20).mark_threads(3);
    for order in [Order::Backward, Order::Scattered] {
        chain(young, 5003, order, true, |mutator| mutator.collect_young().unwrap());
        chain(several, 20_011, order, true, |mutator| mutator.collect().unwrap());
        chain(several, 20_011, order, false, |mutator| mutator.collect().unwrap());
    }
}

#[test]
fn chains_take_linear_time_in_a_marking_in_steps() {
    let config = PRECISE.concurrent(Concurrent::Off).min_heap(256 << 20);
    for is_kept in [true, false] {
        chain(config, 20_011, Order::Backward, is_kept, |mutator| {
            let marking = mutator.incremental_marking();
            mutator.collect_young().unwrap();
            assert_eq!(marking.begin(), Ok(true));
            while marking.step(1000).unwrap() {}
            assert_eq!(marking.finish(), Ok(true));
        });
    }
}

/// Circles of ephemerons: each one's value is the next one's key, and nothing else leads to any.
#[test]
fn circles_keep_nothing() {
    for config in [FULL, FULL.verify(true), PRECISE.mark_threads(2), FULL.mark_stack(1)] {
        let heap = heap(config.concurrent(Concurrent::Off));
        let mutator = attach(&heap);
        let node = node_type(&heap);
        const N: usize = 100;
        let (mut keys, mut ephemerons) = (Slots::new(&heap, N), Slots::new(&heap, N));
        (0..N).for_each(|i| keys.set(i, new(&mutator, node)));
        (0..N).for_each(|i| ephemerons.set(i, ephemeron(&mutator, keys.get(i), keys.get((i + 1) % N))));
        let last = keys.get(7);
        (0..N).filter(|&i| i != 7).for_each(|i| keys.set(i, 0));
        mutator.collect().unwrap();
        assert!((0..N).all(|i| key_of(&mutator, ephemerons.get(i)) != 0));
        // Its own key's value, too.
        ephemerons.set(0, ephemeron(&mutator, last, last));
        keys.set(7, 0);
        mutator.collect().unwrap();
        assert!((0..N).all(|i| key_of(&mutator, ephemerons.get(i)) == 0));
        assert!(!lives(&heap, last));
    }
}

/// The marker thread makes the fixed point beside the program: the pause that ends a marking looks at none of those that live.
#[test]
fn the_pause_that_ends_a_marking_pays_for_what_died() {
    let config = PRECISE.concurrent(Concurrent::Always).min_heap(256 << 20);
    for order in [Order::Forward, Order::Backward, Order::Scattered] {
        for is_kept in [true, false] {
            chain(config, 20_011, order, is_kept, |mutator| {
                // What is young is looked at by a pause, so nothing shall be.
                mutator.collect_young().unwrap();
                let ticket = mutator.start_collection().unwrap();
                mutator.wait_for(ticket).unwrap();
                let stats = mutator.heap().inspect().stats();
                assert_eq!((stats.concurrent_markings, stats.concurrent_degenerated), (1, 0));
                let words = stats.mark_end_max_words as usize;
                // Of a chain that dies a young collection may have found it.
                assert!(!is_kept || words < 2000, "{words} words, {order:?}");
            });
        }
    }
}

/// Young collections come between the slices of such a fixed point: what it has found when it is asked for the heap is not lost.
#[test]
fn a_fixed_point_goes_on_after_it_was_interrupted() {
    let config = YOUNG.concurrent(Concurrent::Always).min_heap(256 << 20);
    for order in [Order::Backward, Order::Scattered] {
        for is_kept in [true, false] {
            chain(config, 50_021, order, is_kept, |mutator| {
                mutator.collect_young().unwrap();
                let ticket = mutator.start_collection().unwrap();
                while !mutator.is_done(ticket).unwrap() {
                    mutator.collect_young().unwrap();
                    mutator.blocking(std::thread::yield_now).unwrap();
                }
            });
        }
    }
}
