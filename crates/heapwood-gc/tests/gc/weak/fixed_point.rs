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
