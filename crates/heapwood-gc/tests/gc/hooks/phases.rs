//! A client's part in collections: its calls in order, on threads of the program alone; roots of its own in each kind of pause; a
//! lock of its own, which others hold while they use roots or open libraries.

use super::{BESIDE, are_whole};
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use heapwood_gc::settings::options::Concurrent;
use heapwood_gc::{AllocError, ClientRoots, CollectionPhases, Config, Heap, Misuse, Mutator};
use heapwood_gc_testing::*;
use heapwood_os::threads::stack::thread_id;
use std::ffi::{c_int, c_void};
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

/// All five calls are refused the heap, inline allocation as well; they may look objects up.
#[test]
fn a_client_is_refused_the_heap() {
    static TRIED: AtomicUsize = AtomicUsize::new(0);
    static HEAP: AtomicUsize = AtomicUsize::new(0);
    for config in [PRECISE, YOUNG, BY_SIGNALS] {
        let heap = heap(config.concurrent(Concurrent::Off));
        let mutator = attach(&heap);
        let node = node_type(&heap);
        let known = new(&mutator, node);
        HEAP.store(&raw const *heap as usize, Ordering::Relaxed);
        let client = Client::new(move || {
            // SAFETY: the test's heap outlives the client's calls.
            let heap = unsafe { &*(HEAP.load(Ordering::Relaxed) as *const Heap) };
            // SAFETY: it is this thread's.
            let mutator = unsafe { Mutator::here(heap).unwrap().as_ref() };
            TRIED.fetch_add(1, Ordering::Relaxed);
            assert!(mutator.buffer(node.shape()).peek(node.cell_size().unwrap()).is_none());
            assert_eq!(mutator.allocate(node).err(), Some(AllocError::Misuse(Misuse::Hook)));
            assert_eq!(heap.collect(), Err(Misuse::Hook));
            assert_eq!(heap.set_phases(None), Err(Misuse::Hook));
            assert!(heap.objects().find(known + 8).is_some());
        });
        let mut roots = Slots::new(&heap, 1);
        roots.set(0, known);
        // As an old object it is found by everybody.
        mutator.collect().unwrap();
        heap.set_phases(Some(client)).unwrap();
        TRIED.store(0, Ordering::Relaxed);
        for _ in 0..3 {
            mutator.collect().unwrap();
            new(&mutator, node);
        }
        heap.set_phases(None).unwrap();
        assert_eq!(TRIED.load(Ordering::Relaxed), client.take().len());
        roots.set(0, 0);
        roots.extend_list(0, &mutator, node, 1000, 7);
        mutator.collect().unwrap();
        check_list(roots.get(0), 1000, 7);
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

unsafe extern "C" {
    fn dl_iterate_phdr(
        call: unsafe extern "C" fn(*mut c_void, usize, *mut c_void) -> c_int,
        with: *mut c_void,
    ) -> c_int;
}

/// Waits for the client's lock with the loader's in hand, as a constructor of a library does.
unsafe extern "C" fn lock_inside(_: *mut c_void, _: usize, with: *mut c_void) -> c_int {
    // SAFETY: the test passes both.
    let (mutator, client) = unsafe { *with.cast::<(&Mutator, &Client)>() };
    mutator.safepoint();
    mutator.blocking(|| client.take_lock()).unwrap();
    client.free_lock();
    1
}

/// A collector that waits for the loader has given the client's lock back.
#[test]
#[ignore = "of the long suite: a thread has to be inside the loader"]
fn a_library_that_is_being_opened_may_wait_for_the_clients_lock() {
    in_child(|| {
        let heap = &*heap(PRECISE.library_roots(true));
        let client = Client::new(|| ());
        heap.set_phases(Some(client)).unwrap();
        let (end, steps) = (&AtomicBool::new(false), &AtomicUsize::new(0));
        let m = attach(heap);
        watched(steps, || {
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    let m = attach(heap);
                    let mut with: (&Mutator, &Client) = (&m, client);
                    while !end.load(Ordering::Relaxed) {
                        // SAFETY: the callback takes this pair, and unwinds not.
                        unsafe { dl_iterate_phdr(lock_inside, (&raw mut with).cast()) };
                        m.safepoint();
                    }
                });
                while heap.mutators() < 2 {
                    m.safepoint();
                    std::thread::yield_now();
                }
                // Until the collector has had to let it go on a few times.
                let locks =
                    || client.calls.iter().filter(|c| c.load(Ordering::Relaxed) >> 32 == LOCK).count();
                let mut collections = 0;
                while locks() < collections + 3 {
                    collections += 1;
                    assert!(collections < 2000, "no thread was inside the loader");
                    m.collect().unwrap();
                    steps.fetch_add(1, Ordering::Relaxed);
                }
                end.store(true, Ordering::Relaxed);
            });
        });
        let calls = client.take();
        assert!(are_in_order(&calls, &[thread_id()]) > 0);
        heap.set_phases(None).unwrap();
    });
}
