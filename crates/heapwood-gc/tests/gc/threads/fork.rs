//! A process that forks in whatever its heaps are doing: each child, which has the thread that forked and no other, allocates,
//! collects, checks its heaps, starts threads that do the same, forks again, and ends. What it had kept is there; in the parent
//! nothing has changed. `HEAPWOOD_LONG=1` forks ten thousand children. Each test forks from a process of its own: the heaps and
//! the threads of other tests are none of its children's.

use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use heapwood_gc::settings::options::Stop;
use heapwood_gc::{ClientRoots, CollectionPhases, Config, Heap, Mutator, Tracer};
use heapwood_gc_testing::*;
use heapwood_heap::ArenaKind;
use heapwood_layout::{TraceContext, TypeDescriptor};

/// A list that is kept by root slots, so that any thread and any child can check it.
struct Kept<'h> {
    slots: Slots<'h>,
    nodes: usize,
}

impl<'h> Kept<'h> {
    fn new(heap: &'h Heap, nodes: usize) -> Self {
        let mutator = attach(heap);
        let (node, mut slots) = (node_type(heap), Slots::new(heap, 1));
        slots.extend_list(0, &mutator, node, nodes, 0);
        Kept { slots, nodes }
    }

    fn check(&self) {
        check_list(self.slots.get(0), self.nodes, 0);
    }
}

/// How many children each test forks.
fn children() -> usize {
    match (is_long(), is_thorough()) {
        (true, _) => 2500,
        (false, true) => 40,
        (false, false) => 12,
    }
}

/// Forks a child that runs `f` and ends; whether all went well there.
fn goes_well_forked(f: impl FnOnce()) -> bool {
    let ended = forked(|| {
        f();
        7
    });
    if ended != 7 << 8 {
        eprintln!("the child ended with {ended:#x}");
    }
    ended == 7 << 8
}

/// Uses a heap as a program does: lists that live and die, large objects, collections.
fn use_heap(heap: &Heap, mutator: &Mutator, kept: &Kept<'_>) {
    let (node, data) = (node_type(heap), pointer_free(heap, 100));
    let large = masked(heap, 9000, &[0]);
    let mut frame = Framed::<2>::new(mutator);
    for round in 0..4 {
        frame.set(0, 0);
        frame.extend_list(0, node, 300, round << 20);
        frame.set(1, new(mutator, large));
        new(mutator, data);
        mutator.collect().unwrap();
        check_list(frame.get(0), 300, round << 20);
    }
    kept.check();
}

/// What every child does. The thread is attached by `mutator` if it was before.
fn use_after_fork(heap: &Heap, mutator: Option<&Mutator>, kept: &Kept<'_>) {
    kept.check();
    assert_eq!(heap.mutators(), mutator.iter().count(), "those of other threads are gone");
    match mutator {
        Some(mutator) => use_heap(heap, mutator, kept),
        None => use_heap(heap, &attach(heap), kept),
    }
    assert_eq!(heap.mutators(), mutator.iter().count());
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..2).map(|_| scope.spawn(|| use_heap(heap, &attach(heap), kept))).collect();
        let wait = || threads.into_iter().for_each(|thread| thread.join().unwrap());
        match mutator {
            Some(mutator) => mutator.blocking(wait).unwrap(),
            None => wait(),
        }
    });
    heap.collect().unwrap();
    assert_eq!(threads_called("heapwood-backgr").len(), 1, "the heap's own thread is started again");
    if let Some(threads) = heap.config().mark_threads {
        assert_eq!(threads_called("heapwood-marker").len(), threads - 1, "those that mark are");
    }
    assert!(heap.inspect().stats().barrier_violations == 0);
    assert_swept_and_valid(heap);
}

/// Threads that allocate, collect, block, attach and detach until they are to end.
fn busy(heap: &Heap, seed: usize, done: &AtomicBool) {
    let types = [masked(heap, 3, &[0]), masked(heap, 20, &[0, 9])];
    let (large, data) = (masked(heap, 5000 + seed * 4000, &[0]), pointer_free(heap, 64 + seed * 200));
    let mut round = seed;
    while !done.load(Ordering::Relaxed) {
        let mutator = attach(heap);
        let mut frame = Framed::<1>::new(&mutator);
        for _ in 0..200 {
            round += 1;
            let object = new(&mutator, types[round % 2]);
            put(object, 0, frame.get(0));
            frame.set(0, if round.is_multiple_of(97) { 0 } else { object });
            new(&mutator, data);
            match round % 64 {
                0 => _ = new(&mutator, large),
                1 => mutator.blocking(std::thread::yield_now).unwrap(),
                2 if seed == 1 => mutator.collect().unwrap(),
                _ => mutator.safepoint(),
            }
        }
    }
}

/// Forks while threads use the heap.
fn crowd(config: Config, threads: usize, forks: usize) {
    let heap = heap(config);
    let (kept, done) = (Kept::new(&heap, 3000), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let (heap, kept, done) = (&*heap, &kept, &done);
        for seed in 0..threads {
            scope.spawn(move || busy(heap, seed, done));
        }
        // An unattached thread that collects, and one that gives memory back.
        scope.spawn(move || {
            while !done.load(Ordering::Relaxed) {
                heap.collect().unwrap();
                heap.memory().release_free();
            }
        });
        // The first child that fails is the last: others may hang, each until it is ended.
        let went_well = (0..forks).all(|round| {
            let went_well = match round % 3 {
                0 => goes_well_forked(|| use_after_fork(heap, None, kept)),
                1 => {
                    let mutator = attach(heap);
                    new(&mutator, node_type(heap));
                    let went_well = goes_well_forked(|| use_after_fork(heap, Some(&mutator), kept));
                    mutator.collect().unwrap();
                    went_well
                }
                _ => {
                    let mutator = attach(heap);
                    // In a region its mutator cannot be used, and its thread is attached: the child uses another thread.
                    let in_thread = || {
                        kept.check();
                        assert_eq!(heap.mutators(), 1, "those of other threads are gone");
                        use_heap(heap, &attach(heap), kept);
                    };
                    let fork_in_region = || {
                        goes_well_forked(|| {
                            std::thread::scope(|scope| scope.spawn(in_thread).join().unwrap())
                        })
                    };
                    let went_well = mutator.blocking(fork_in_region).unwrap();
                    drop(mutator);
                    went_well && goes_well_forked(|| use_after_fork(heap, None, kept))
                }
            };
            kept.check();
            went_well
        });
        done.store(true, Ordering::Relaxed);
        assert!(went_well);
    });
    heap.collect().unwrap();
    assert_swept_and_valid(&heap);
    kept.check();
}

const SMALL: Config = FULL.conservative_stacks(true).min_heap(1 << 20);

/// Where threads poll, with young collections and without, where signals stop them, in verify mode, and where several threads mark.
#[test]
fn a_process_may_fork_beside_threads() {
    let signals = SMALL.stop(Stop::Signals);
    let crowds = [
        (SMALL, 8, children()),
        (PRECISE.conservative_stacks(true), 8, children()),
        (signals, 8, children()),
        (SMALL.verify(true), 3, children() / 4),
        (signals.verify(true), 3, children() / 4),
        (SMALL.mark_threads(3), 4, children() / 2),
    ];
    for (config, threads, forks) in crowds {
        Child::new()
            .called((config.stop, config.verify, threads))
            .run(|| crowd(config, threads, forks))
            .well();
    }
}

/// Whether a trace function waits for the process to fork; where it does; and whether it has forked.
static WAITS: AtomicBool = AtomicBool::new(false);
static HAS_MARKED: AtomicBool = AtomicBool::new(false);
static HAS_FORKED: AtomicBool = AtomicBool::new(false);

/// Collects on another thread, forks while that waits, and lets it go on.
fn fork_while_a_collection_waits(collects: impl FnOnce() + Send, in_child: impl FnOnce()) {
    WAITS.store(true, Ordering::SeqCst);
    std::thread::scope(|scope| {
        let collects = scope.spawn(collects);
        wait_for(&HAS_MARKED);
        let went_well = goes_well_forked(|| {
            WAITS.store(false, Ordering::SeqCst);
            in_child();
        });
        HAS_FORKED.store(true, Ordering::SeqCst);
        collects.join().unwrap();
        assert!(went_well);
    });
    [&WAITS, &HAS_MARKED, &HAS_FORKED].iter().for_each(|flag| flag.store(false, Ordering::SeqCst));
}

/// In a collection: waits until the process has forked, if one is to wait.
fn wait_for_fork() {
    if WAITS.load(Ordering::SeqCst) {
        HAS_MARKED.store(true, Ordering::SeqCst);
        wait_for(&HAS_FORKED);
    }
}

/// What the first word of an object refers to is reported once the process has forked.
unsafe extern "C" fn trace_after_fork(object: *mut u8, _: usize, context: *mut TraceContext) {
    wait_for_fork();
    // SAFETY: the word is null or leads to an object; the context is the one that was given.
    unsafe { Tracer::from_context(context).visit((object as *const usize).read()) };
}

/// In the child the object has a mark, and what it refers to has none and never will, unless the marks are forgotten.
#[test]
fn a_process_may_fork_while_a_collection_has_marked_some() {
    in_child(|| {
        for config in [SMALL, SMALL.stop(Stop::Signals), SMALL.mark_threads(2)] {
            let heap = heap(config.min_heap(1 << 30));
            let (kept, mutator) = (Kept::new(&heap, 3000), attach(&heap));
            let opaque =
                heap.types().register(&TypeDescriptor::traced(2 * WORD, trace_after_fork).unwrap()).unwrap();
            let (mut slots, head) = (Slots::new(&heap, 1), kept.slots.get(0));
            slots.set(0, new(&mutator, opaque));
            put(slots.get(0), 0, head);
            // The list hangs on that object alone.
            let Kept { slots: mut heads, nodes } = kept;
            heads.set(0, 0);
            drop(mutator);

            let in_child = || {
                let before = heap.inspect().stats().collections;
                heap.collect().unwrap();
                assert_eq!(
                    heap.inspect().stats().collections,
                    before + 1,
                    "the one that was under way is not counted"
                );
                // What was lost would be used again.
                let mutator = attach(&heap);
                extend_list(&mutator, node_type(&heap), 2 * nodes, 7, |head| {
                    heads.set(0, head.unwrap_or(heads.get(0)));
                    heads.get(0)
                });
                check_list(get(slots.get(0), 0), nodes, 0);
                assert_swept_and_valid(&heap);
            };
            fork_while_a_collection_waits(|| heap.collect().unwrap(), in_child);
            check_list(get(slots.get(0), 0), nodes, 0);
        }
    });
}

/// A client whose collection waits, before the threads stop, until the process has forked.
struct Waits;

// SAFETY: it has neither roots nor a lock.
unsafe impl CollectionPhases for Waits {
    fn before(&self) {
        wait_for_fork();
    }

    fn roots(&self, _: &mut ClientRoots<'_>) {}
}

/// The collecting thread's allocation buffers are closed, one of them with a run of cells that were freed. The child opens and returns
/// them.
#[test]
fn a_process_may_fork_while_a_collection_calls_the_client() {
    in_child(|| {
        for config in [SMALL, SMALL.stop(Stop::Signals), SMALL.verify(true)] {
            let heap = heap(config.min_heap(1 << 30));
            heap.set_phases(Some(&Waits)).unwrap();
            let kept = Kept::new(&heap, 3000);
            let collects = || {
                let mutator = attach(&heap);
                let (node, data) = (node_type(&heap), pointer_free(&heap, 100));
                let objects: Vec<_> = (0..2000).map(|_| new(&mutator, node)).collect();
                for object in objects {
                    // SAFETY: nobody uses it any more.
                    unsafe { mutator.free(NonNull::new(object as *mut u8).unwrap()) }.unwrap();
                }
                for _ in 0..10 {
                    new(&mutator, node);
                    new(&mutator, data);
                }
                mutator.collect().unwrap();
            };
            fork_while_a_collection_waits(collects, || use_after_fork(&heap, None, &kept));
            kept.check();
        }
    });
}

/// The concurrent marking has marked a list, and a young collection waits for the thread that forks. In the child that collection
/// never was, and the marking goes on with its marks.
#[test]
fn a_process_may_fork_while_a_young_collection_waits_during_a_concurrent_marking() {
    in_child(|| {
        let heap = heap(PRECISE.min_heap(1 << 30));
        let (kept, mutator) = (Kept::new(&heap, 3000), attach(&heap));
        let marking = mutator.incremental_marking();
        assert!(marking.begin().unwrap());
        while marking.step(1 << 20).unwrap() {}
        // SAFETY: the first word of a mutator is its poll flag.
        let poll = unsafe { &*core::ptr::from_ref::<Mutator>(&mutator).cast::<AtomicU32>() };
        std::thread::scope(|scope| {
            scope.spawn(|| attach(&heap).collect_young().unwrap());
            while poll.load(Ordering::SeqCst) == 0 {
                std::thread::yield_now();
            }
            let went_well = goes_well_forked(|| {
                assert!(marking.finish().unwrap(), "the marking is active");
                // What was lost would be used again.
                let mut others = Slots::new(&heap, 1);
                others.extend_list(0, &mutator, node_type(&heap), 6000, 7);
                kept.check();
                assert_swept_and_valid(&heap);
            });
            mutator.safepoint();
            assert!(went_well);
            mutator.blocking(|| ()).unwrap();
        });
        assert!(marking.finish().unwrap());
        kept.check();
    });
}

#[test]
fn children_have_the_arenas_that_were_open() {
    in_child(|| {
        let heap = heap(FULL.verify(true));
        let (mutator, node) = (attach(&heap), node_type(&heap));
        let pair = Values::new(8, 2, [0b11, 0, 0, 0]);
        let arena = Arena::open(&mutator, ArenaKind::Escaping);
        // A list of nodes, which the arena keeps, grows, and is compared.
        let extend = |mut at: usize, from: usize| {
            for i in from..from + 500 {
                let object = new(&mutator, node);
                put(object, 2, i);
                at = arena.value(&mutator, pair, &[object, at]);
            }
            mutator.collect().unwrap();
            let mut next = at;
            for i in (0..from + 500).rev() {
                assert_eq!(get(get(next, 0), 2), i);
                next = get(next, 1);
            }
            at
        };
        let at = extend(0, 0);
        assert!(goes_well_forked(|| {
            extend(at, 500);
            arena.close(&mutator);
            Arena::open(&mutator, ArenaKind::Borrowed).value(&mutator, pair, &[0, 0]);
            mutator.collect().unwrap();
            assert_valid(&heap);
        }));
        extend(at, 500);
        arena.close(&mutator);
        assert_valid(&heap);
    });
}
