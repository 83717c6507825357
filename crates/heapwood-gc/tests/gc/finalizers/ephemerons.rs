//! The order of dying objects that lead to each other by way of ephemerons: one leads to its value if its key is alive, or if an ordered
//! object leads to the key; whatever is registered first.

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
    /// What each collection queues, by number, until one queues nothing. Objects are registered in the order of `numbers`.
    fn collections(&self, config: Config, numbers: &[usize]) -> Vec<Vec<usize>> {
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
            let mut found: Vec<_> = core::iter::from_fn(next).map(|taken| taken.tag).collect();
            if found.is_empty() {
                break;
            }
            found.sort_unstable();
            all.push(found);
        }
        assert_swept_and_valid(&heap);
        all
    }

    /// Expects this of all heaps, in whatever order the objects are registered.
    fn expect(&self, expected: &[&[usize]]) {
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

/// Nothing else keeps the key, so the ephemeron is no edge; all the same its value is kept.
#[test]
fn the_value_of_an_object_s_own_ephemeron_comes_with_it() {
    let graph = Graph { orders: &[ORDERED; 3], edges: &[(1, 2)], ephemerons: &[(0, 0, 1)], live: &[] };
    graph.expect(&[&[0, 1], &[2]]);
}

#[test]
fn a_value_waits_for_its_ephemeron_if_what_is_ordered_keeps_the_key() {
    for keeps in [ORDERED, AT_ONCE] {
        let orders = &[ORDERED, keeps, ORDERED, None, ORDERED];
        // 0 has the ephemeron of 3, to which 1 leads, and 2, which leads to 4.
        let graph = Graph { orders, edges: &[(1, 3), (2, 4)], ephemerons: &[(0, 3, 2)], live: &[] };
        graph.expect(if keeps == ORDERED { &[&[0, 1], &[2], &[4]] } else { &[&[0, 1, 2], &[4]] });
    }
    let graph = Graph { orders: &[ORDERED; 4], edges: &[(1, 2)], ephemerons: &[(0, 3, 1)], live: &[3] };
    graph.expect(&[&[0], &[1], &[2]]);
}

/// What nothing keeps does not come back, and then neither waits: also where a circle would close.
#[test]
fn an_ephemeron_of_a_lost_key_leads_nowhere() {
    let orders = &[ORDERED, None, ORDERED];
    Graph { orders, edges: &[], ephemerons: &[(0, 1, 2)], live: &[] }.expect(&[&[0, 2]]);
    Graph { orders, edges: &[(2, 0)], ephemerons: &[(0, 1, 2)], live: &[] }.expect(&[&[2], &[0]]);
}

#[test]
fn chains_of_ephemerons_are_chains_of_objects() {
    // 0 leads to the ephemerons of 1 and 4, which are the keys of 2 and 1; 5 leads to 4.
    let orders = &[ORDERED, None, ORDERED, ORDERED, None, ORDERED];
    let ephemerons = &[(0, 1, 2), (0, 4, 1)];
    Graph { orders, edges: &[(2, 3), (5, 4)], ephemerons, live: &[] }.expect(&[&[0, 5], &[2], &[3]]);
    // A circle, and what it leads to.
    Graph { orders: &[ORDERED; 4], edges: &[(2, 0), (2, 3)], ephemerons: &[(0, 0, 1), (1, 0, 2)], live: &[] }
        .expect(&[]);
}

/// The key is found dead, waits in the index of the fixed point, and is then marked by way of an object that comes at once.
#[test]
fn an_ephemeron_keeps_its_value_if_its_key_comes_back_after_what_is_ordered() {
    for config in ALL {
        let concurrent = config.concurrent == Concurrent::Always;
        let heap = heap(config.concurrent(Concurrent::Off));
        let mutator = attach(&heap);
        let node = node_type(&heap);
        let at = |address: usize| NonNull::new(address as *mut u8).unwrap();
        let mut roots = Slots::new(&heap, 5);
        let [ordered, at_once, key, value] = core::array::from_fn(|i| {
            roots.set(i, new(&mutator, node));
            roots.get(i)
        });
        roots.set(4, ephemeron(&mutator, key, value));
        let cell = roots.get(4);
        link(&mutator, ordered, 0, cell);
        link(&mutator, at_once, 0, key);
        for (object, order) in [(ordered, FinalizeOrder::Ordered), (at_once, FinalizeOrder::AtOnce)] {
            mutator.finalize(at(object), OWN, order, object).unwrap();
        }
        (0..5).for_each(|i| roots.set(i, 0));
        match (config.generational == Generational::Always, concurrent) {
            (true, _) => mutator.collect_young().unwrap(),
            (_, false) => mutator.collect().unwrap(),
            (_, true) => {
                assert_eq!(mutator.incremental_marking().begin(), Ok(true));
                while mutator.incremental_marking().step(1).unwrap() {}
                mutator.incremental_marking().finish().unwrap();
            }
        }
        for i in 0..2 {
            roots.set(i, mutator.next_finalized(OWN).unwrap().unwrap().object.unwrap().as_ptr() as usize);
        }
        assert!(is_alive(&heap, key) && is_alive(&heap, value), "{config:?}");
        assert_eq!(mutator.ephemeron_value(at(cell)), Ok(Some(at(value))), "{config:?}");
        mutator.collect().unwrap();
        assert_eq!(mutator.ephemeron_value(at(cell)), Ok(Some(at(value))), "{config:?}");
        assert_swept_and_valid(&heap);
    }
}

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
    let cases = made.into_iter().flat_map(|made| [ORDERED, AT_ONCE, None].map(|order| (made, order)));
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
