//! A client's part in collections: its calls in order, on threads of the program alone; roots of its own in each kind of pause; a
//! lock of its own, which others hold while they use roots or open libraries.

use super::{BESIDE, are_whole};
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use heapwood_gc::settings::options::Concurrent;
use heapwood_gc::{ClientRoots, CollectionPhases, Config};
use heapwood_gc_testing::*;
use heapwood_os::threads::stack::thread_id;
use std::sync::Mutex;

const ROOTS: usize = 4000;

/// A client with a few roots. What it was told lies in an array, since it may allocate nothing.
struct Client {
    calls: [AtomicUsize; 1 << 14],
    count: AtomicUsize,
    words: Vec<AtomicUsize>,
    word: AtomicUsize,
    lock: AtomicBool,
    tries: Box<dyn Fn() + Sync + Send>,
}

const BEFORE: usize = 1;
const LOCK: usize = 2;
const NAMES: usize = 3;
const UNLOCK: usize = 4;
const AFTER: usize = 5;

impl Client {
    /// One for the rest of the process.
    fn new(tries: impl Fn() + Sync + Send + 'static) -> &'static Self {
        Box::leak(Box::new(Client {
            calls: [const { AtomicUsize::new(0) }; 1 << 14],
            count: AtomicUsize::new(0),
            words: (0..ROOTS).map(|_| AtomicUsize::new(0)).collect(),
            word: AtomicUsize::new(0),
            lock: AtomicBool::new(false),
            tries: Box::new(tries),
        }))
    }

    fn told(&self, what: usize) {
        let n = self.count.fetch_add(1, Ordering::Relaxed);
        self.calls[n % self.calls.len()].store(what << 32 | thread_id() as usize, Ordering::Relaxed);
        (self.tries)();
    }

    /// Takes what it was told, and by which threads.
    fn take(&self) -> Vec<(usize, u32)> {
        let n = self.count.swap(0, Ordering::Relaxed);
        assert!(n < self.calls.len());
        self.calls[..n].iter().map(|c| c.load(Ordering::Relaxed)).map(|c| (c >> 32, c as u32)).collect()
    }

    fn take_lock(&self) {
        while self.lock.swap(true, Ordering::Acquire) {
            std::thread::yield_now();
        }
    }

    fn free_lock(&self) {
        assert!(self.lock.swap(false, Ordering::Release));
    }
}

// SAFETY: it allocates nothing, and its lock is held by nobody who collects.
unsafe impl CollectionPhases for Client {
    fn before(&self) {
        self.told(BEFORE);
    }

    fn lock(&self) {
        self.take_lock();
        self.told(LOCK);
    }

    fn roots(&self, roots: &mut ClientRoots<'_>) {
        assert!(self.lock.load(Ordering::Relaxed), "the lock is held");
        self.told(NAMES);
        let start = self.words.as_ptr() as usize;
        // SAFETY: they stay as long as the process.
        unsafe { roots.words(start..start + ROOTS * WORD) };
        roots.word(self.word.load(Ordering::Relaxed));
    }

    fn unlock(&self) {
        self.told(UNLOCK);
        self.free_lock();
    }

    fn after(&self) {
        self.told(AFTER);
    }
}

/// Each collection has its calls in order, on one of these threads.
fn are_in_order(calls: &[(usize, u32)], threads: &[u32]) -> usize {
    let collections: Vec<_> = calls.split_inclusive(|call| call.0 == AFTER).collect();
    for of_one in &collections {
        let mut moments: Vec<_> = of_one.iter().map(|call| call.0).collect();
        assert!(of_one.iter().all(|call| call.1 == of_one[0].1 && threads.contains(&call.1)), "{of_one:?}");
        moments.dedup();
        assert_eq!((moments[0], moments[1], moments.last()), (BEFORE, LOCK, Some(&AFTER)), "{moments:?}");
        // A promotion marks nothing.
        let ends = |moments: &[usize]| {
            moments.ends_with(&[LOCK, NAMES, UNLOCK, AFTER]) || moments.ends_with(&[LOCK, UNLOCK, AFTER])
        };
        assert!(ends(&moments), "{moments:?}");
    }
    collections.len()
}

const WAYS: [Config; 6] = [
    FULL,
    FULL.mark_threads(3),
    YOUNG.concurrent(Concurrent::Off),
    YOUNG.concurrent(Concurrent::Off).verify(true),
    BY_SIGNALS,
    BY_SIGNALS.verify(true),
];

/// The first and the last word of a client's range, and a word inside an object, keep what they lead to, old or young.
#[test]
fn what_a_client_names_lives_in_pauses_of_each_kind() {
    for config in WAYS {
        let heap = heap(config);
        let mutator = attach(&heap);
        let node = node_type(&heap);
        let client = Client::new(|| ());
        heap.set_phases(Some(client)).unwrap();
        let list = |seed| {
            let mut roots = Slots::new(&heap, 1);
            roots.extend_list(0, &mutator, node, 300, seed);
            roots.get(0)
        };
        let [first, last, inside] = [1, 2, 3].map(list).map(|head| head ^ !0);
        client.words[0].store(!first, Ordering::Relaxed);
        client.words[ROOTS - 1].store(!last, Ordering::Relaxed);
        client.word.store(!inside + 16, Ordering::Relaxed);
        let check = || (1..).zip([first, last, inside]).for_each(|(seed, head)| check_list(!head, 300, seed));
        for _ in 0..3 {
            mutator.collect_young().unwrap();
            (0..2000).for_each(|_| put(new(&mutator, node), 2, usize::MAX));
            check();
            mutator.collect().unwrap();
            (0..2000).for_each(|_| put(new(&mutator, node), 2, usize::MAX));
            check();
        }
        if mutator.incremental_marking().begin().unwrap() {
            assert!(mutator.incremental_marking().finish().unwrap());
            check();
            assert!(mutator.incremental_marking().begin().unwrap());
            mutator.collect_young().unwrap();
            mutator.incremental_marking().finish().unwrap();
            mutator.collect().unwrap();
            check();
        }
        assert!(are_in_order(&client.take(), &[thread_id()]) > 3);
        assert!(lives(&heap, !first) && lives(&heap, !inside));
        // Nothing is kept by roots that are named no more.
        client.word.store(0, Ordering::Relaxed);
        heap.set_phases(None).unwrap();
        mutator.collect().unwrap();
        client.words.iter().for_each(|word| word.store(0, Ordering::Relaxed));
        assert_eq!(client.take(), []);
        assert!(!lives(&heap, !inside) || config.conservative_stacks, "{config:?}");
        assert_valid(&heap);
    }
}

/// An idle heap is not collected, and markings beside the program begin and end on its threads.
#[test]
fn no_thread_of_the_heaps_own_calls_a_client() {
    let heap = heap(FULL.concurrent(Concurrent::Off));
    let client = Client::new(|| ());
    heap.set_phases(Some(client)).unwrap();
    assert!(!heap.collect_as_if_idle());
    assert_eq!(client.take(), []);
    heap.set_phases(None).unwrap();
    assert!(heap.collect_as_if_idle());

    let heap = self::heap(BESIDE.min_heap(1 << 30));
    let mutator = attach(&heap);
    let told = super::Told::new(&heap, |_| ());
    heap.set_phases(Some(client)).unwrap();
    let held = new(&mutator, node_type(&heap));
    client.words[7].store(held, Ordering::Relaxed);
    for _ in 0..3 {
        mutator.wait_for(mutator.start_collection().unwrap()).unwrap();
        assert!(is_alive(&heap, held));
    }
    // It has begun and ended three markings.
    assert!(are_in_order(&client.take(), &[thread_id()]) >= 6);
    // A hook and a client do not take each other's place.
    told.during(|| mutator.wait_for(mutator.start_collection().unwrap()).unwrap());
    are_whole(&told);
    super::only_by(&told, &[thread_id()]);
    mutator.wait_for(mutator.start_collection().unwrap()).unwrap();
    are_in_order(&client.take(), &[thread_id()]);
    heap.set_phases(None).unwrap();
    mutator.wait_for(mutator.start_collection().unwrap()).unwrap();
    assert_eq!(client.take(), []);
}

/// Threads hold the client's lock while they change its roots and the heap's, attach others, and look up objects.
#[test]
fn threads_use_a_clients_lock_while_others_collect() {
    for config in [FULL.concurrent(Concurrent::Off), BY_SIGNALS, BESIDE] {
        let heap = heap(config);
        let client = Client::new(|| ());
        heap.set_phases(Some(client)).unwrap();
        let steps = AtomicUsize::new(0);
        let threads = Mutex::new(vec![]);
        watched(&steps, || {
            std::thread::scope(|scope| {
                for thread in 0..3 {
                    let (heap, steps, threads) = (&heap, &steps, &threads);
                    scope.spawn(move || {
                        threads.lock().unwrap().push(thread_id());
                        let mutator = attach(heap);
                        let node = node_type(heap);
                        for turn in 0..400 {
                            let at = thread * 1000 + turn % 1000;
                            let held = new(&mutator, node);
                            put(held, 2, turn);
                            let mut framed = Framed::<1>::new(&mutator);
                            framed.set(0, held);
                            mutator.blocking(|| client.take_lock()).unwrap();
                            client.words[at].store(held, Ordering::Relaxed);
                            mutator.safepoint();
                            assert!(mutator.find(held).is_some());
                            let slots = Slots::new(heap, 1);
                            drop(slots);
                            client.free_lock();
                            drop(framed);
                            if turn % 3 == 0 {
                                mutator.collect().unwrap();
                            }
                            (0..20).for_each(|_| put(new(&mutator, node), 2, usize::MAX));
                            assert_eq!(get(client.words[at].load(Ordering::Relaxed), 2), turn);
                            steps.fetch_add(1, Ordering::Relaxed);
                            client.count.store(0, Ordering::Relaxed);
                        }
                    });
                }
            });
        });
        heap.set_phases(None).unwrap();
        assert_valid(&heap);
    }
}
