//! The order of dying objects that lead to each other by way of ephemerons: one leads to its value if its key is kept, whoever keeps
//! that, and also if only finalisers do; whatever is registered first.

use super::*;
use crate::weak::ephemeron;
use heapwood_gc::FinalizeOrder;
use heapwood_gc::settings::options::Generational;

const ALL: [Config; 8] = [
    FULL,
    PRECISE.mark_threads(3),
    YOUNG,
    FULL.verify(true),
    YOUNG.verify(true),
    PRECISE.mark_stack(1),
    YOUNG.mark_stack(1),
    FULL.concurrent(Concurrent::Always),
];

/// Objects 0, 1, ..: how they are registered, which leads to which, and ephemerons: who leads to them, key, and value.
struct Graph<'a> {
    orders: &'a [Option<FinalizeOrder>],
    edges: &'a [(usize, usize)],
    ephemerons: &'a [(usize, usize, usize)],
    /// Objects that a root keeps.
    live: &'a [usize],
}

const ORDERED: Option<FinalizeOrder> = Some(FinalizeOrder::Ordered);
const AT_ONCE: Option<FinalizeOrder> = Some(FinalizeOrder::AtOnce);

impl Graph<'_> {
    /// What each collection queues, by number, and whether that is in a circle. Objects are registered in the order of `numbers`.
    fn collections(&self, config: Config, numbers: &[usize]) -> Vec<Vec<(usize, bool)>> {
        let concurrent = config.concurrent == Concurrent::Always;
        let heap = heap(config.concurrent(Concurrent::Off));
        let mutator = attach(&heap);
        let (n, node) = (self.orders.len(), node_type(&heap));
        let (mut roots, mut used) = (Slots::new(&heap, n + 1), vec![0; n]);
        for &i in numbers {
            roots.set(i, new(&mutator, node));
            if let Some(order) = self.orders[i] {
                mutator.finalize(NonNull::new(roots.get(i) as *mut u8).unwrap(), OWN, order, i).unwrap();
            }
        }
        let mut lead = |roots: &Slots<'_>, from: usize, to: usize| {
            link(&mutator, roots.get(from), used[from], to);
            used[from] += 1;
        };
        for &(from, to) in self.edges {
            lead(&roots, from, roots.get(to));
        }
        for &(from, key, value) in self.ephemerons {
            roots.set(n, ephemeron(&mutator, roots.get(key), roots.get(value)));
            lead(&roots, from, roots.get(n));
        }
        (0..=n).filter(|i| !self.live.contains(i)).for_each(|i| roots.set(i, 0));
        let is_young = config.generational == Generational::Always;
        let mut all = Vec::new();
        while heap.finalizers().0 > self.live.len() {
            match (is_young && all.is_empty(), concurrent) {
                (true, _) => mutator.collect_young().unwrap(),
                (_, false) => mutator.collect().unwrap(),
                (_, true) => {
                    // A marking in steps, whose beginning and end both queue.
                    if mutator.incremental_marking().begin() == Ok(true) {
                        while mutator.incremental_marking().step(1).unwrap() {}
                        mutator.incremental_marking().finish().unwrap();
                    }
                }
            }
            let next = || mutator.next_finalized(OWN).unwrap();
            let mut found: Vec<_> =
                core::iter::from_fn(next).map(|taken| (taken.tag, taken.in_circle)).collect();
            assert!(!found.is_empty(), "nothing is ready, {:?} are registered", heap.finalizers());
            found.sort_unstable();
            all.push(found);
        }
        assert_swept_and_valid(&heap);
        all
    }

    /// Expects this of all heaps, in whatever order the objects are registered.
    fn expect(&self, expected: &[&[(usize, bool)]]) {
        for config in ALL {
            let mut numbers: Vec<_> = (0..self.orders.len()).collect();
            for_each_order(&mut numbers, 0, &mut |numbers| {
                let found = self.collections(config, numbers);
                assert_eq!(found, expected, "registered as {numbers:?} in {config:?}");
            });
        }
    }
}

/// Calls `f` with each order of the numbers from `from` on.
fn for_each_order(numbers: &mut [usize], from: usize, f: &mut impl FnMut(&[usize])) {
    if from == numbers.len() {
        return f(numbers);
    }
    for i in from..numbers.len() {
        numbers.swap(from, i);
        for_each_order(numbers, from + 1, f);
        numbers.swap(from, i);
    }
}

/// A key leads to the ephemeron, which leads to an object, and that to another. As long as marks alone decided, the last was ready
/// with the first: the mark of what is followed is taken back, so the ephemeron waited, and its value was never followed.
#[test]
fn what_leads_to_an_ephemeron_of_its_own_comes_before_the_value() {
    let graph = Graph { orders: &[ORDERED; 3], edges: &[(1, 2)], ephemerons: &[(0, 0, 1)], live: &[] };
    graph.expect(&[&[(0, false)], &[(1, false)], &[(2, false)]]);
}

/// Neither of the two that come first leads to the third alone: one has the ephemeron, one the key.
#[test]
fn a_value_waits_for_its_ephemeron_whoever_keeps_the_key() {
    for keeps in [ORDERED, AT_ONCE] {
        let orders = &[ORDERED, keeps, ORDERED, None, ORDERED];
        // 0 has the ephemeron of 3, to which 1 leads, and 2, which leads to 4.
        let graph = Graph { orders, edges: &[(1, 3), (2, 4)], ephemerons: &[(0, 3, 2)], live: &[] };
        graph.expect(&[&[(0, false), (1, false)], &[(2, false)], &[(4, false)]]);
    }
    let graph = Graph { orders: &[ORDERED; 4], edges: &[(1, 2)], ephemerons: &[(0, 3, 1)], live: &[3] };
    graph.expect(&[&[(0, false)], &[(1, false)], &[(2, false)]]);
}

/// What nothing keeps does not come back, and then neither waits: also where a circle would close.
#[test]
fn an_ephemeron_of_a_lost_key_leads_nowhere() {
    let orders = &[ORDERED, None, ORDERED];
    Graph { orders, edges: &[], ephemerons: &[(0, 1, 2)], live: &[] }.expect(&[&[(0, false), (2, false)]]);
    Graph { orders, edges: &[(2, 0)], ephemerons: &[(0, 1, 2)], live: &[] }
        .expect(&[&[(2, false)], &[(0, false)]]);
}

#[test]
fn chains_of_ephemerons_are_chains_of_objects() {
    // 0 leads to the ephemerons of 1 and 0, which are the keys of 2 and 1.
    let ephemerons = &[(0, 1, 2), (0, 0, 1)];
    Graph { orders: &[ORDERED, None, ORDERED, ORDERED], edges: &[(2, 3)], ephemerons, live: &[] }.expect(&[
        &[(0, false)],
        &[(2, false)],
        &[(3, false)],
    ]);
    // A circle: what it leads to waits for it.
    Graph { orders: &[ORDERED; 4], edges: &[(2, 0), (2, 3)], ephemerons: &[(0, 0, 1), (1, 0, 2)], live: &[] }
        .expect(&[&[(0, true), (1, true), (2, true)], &[(3, false)]]);
}
