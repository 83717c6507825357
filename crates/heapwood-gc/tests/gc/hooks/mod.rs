//! Hooks: they are told of each pause, on threads of the program alone, and are refused the heap; and the epoch.

use core::ffi::c_void;
use core::sync::atomic::{AtomicUsize, Ordering};
use heapwood_gc::settings::options::{Concurrent, Generational};
use heapwood_gc::{AllocError, CollectionHook, CollectionKind, CollectionMoment, Config, Heap, Misuse};
use heapwood_gc_testing::*;
use heapwood_heap::ShapeId;
use heapwood_os::threads::stack::thread_id;
use std::sync::Mutex;

mod phases;

use CollectionKind::{Full, MarkingEnd, MarkingStart, Young};
use CollectionMoment::{End, Start};

/// What a hook was told, with the number of full collections, on which thread, and what it does beside that.
struct Told<'h> {
    heap: &'h Heap,
    events: Mutex<Vec<(CollectionMoment, CollectionKind, u64, u32)>>,
    does: Box<dyn Fn(CollectionMoment) + 'h>,
}

unsafe extern "C" fn tell(told: *mut c_void, moment: CollectionMoment, kind: CollectionKind) {
    // SAFETY: the tests remove a hook before what it is told by goes.
    let told = unsafe { &*told.cast::<Told<'_>>() };
    let event = (moment, kind, told.heap.full_collections(), thread_id());
    told.events.lock().unwrap().push(event);
    (told.does)(moment);
}

impl<'h> Told<'h> {
    fn new(heap: &'h Heap, does: impl Fn(CollectionMoment) + 'h) -> Self {
        Told { heap, events: Mutex::new(Vec::new()), does: Box::new(does) }
    }

    fn hook(&self) -> CollectionHook {
        CollectionHook { function: tell, argument: (&raw const *self).cast_mut().cast() }
    }

    /// Sets the hook during `f`.
    fn during<R>(&self, f: impl FnOnce() -> R) -> R {
        // SAFETY: it is removed before this returns, and keeps the rules.
        assert!(unsafe { self.heap.on_collection(Some(self.hook())) }.unwrap().is_none());
        let result = f();
        // SAFETY: as above.
        let mine = unsafe { self.heap.on_collection(None) }.unwrap().unwrap();
        assert_eq!(mine.argument, self.hook().argument);
        result
    }

    /// Forgets what it was told, and returns the moments and kinds.
    fn take(&self) -> Vec<(CollectionMoment, CollectionKind)> {
        self.events.lock().unwrap().drain(..).map(|(moment, kind, ..)| (moment, kind)).collect()
    }
}

/// Each pause has its start, and its end next, by which it is counted.
fn are_whole(told: &Told<'_>) {
    let events = told.events.lock().unwrap();
    assert!(events.len().is_multiple_of(2));
    for pause in events.chunks(2) {
        let [(start, kind, before, thread), (end, same, after, here)] = pause else { unreachable!() };
        assert_eq!((*start, *end, kind, thread), (Start, End, same, here));
        assert_eq!(after - before, u64::from(kind.is_full()));
    }
}

#[test]
fn a_hook_is_told_of_each_pause_when_it_is_planned_and_before_the_threads_go_on() {
    let heap = heap(YOUNG.concurrent(Concurrent::Off));
    let mutator = attach(&heap);
    let told = Told::new(&heap, |_| ());
    mutator.collect().unwrap();
    told.during(|| {
        mutator.collect().unwrap();
        new(&mutator, node_type(&heap));
        mutator.collect_young().unwrap();
        are_whole(&told);
        assert_eq!(told.take(), [(Start, Full), (End, Full), (Start, Young), (End, Young)]);
        // A promotion is a young collection.
        heap.set_young_time(Some(core::time::Duration::ZERO));
        new(&mutator, node_type(&heap));
        mutator.collect_young().unwrap();
        assert_eq!(told.take(), [(Start, Young), (End, Young)]);
        assert_eq!(mutator.incremental_marking().begin(), Ok(true));
        mutator.collect_young().unwrap();
        assert_eq!(mutator.incremental_marking().finish(), Ok(true));
        are_whole(&told);
        let wanted = [MarkingStart, Young, MarkingEnd];
        assert_eq!(told.take(), wanted.map(|kind| [(Start, kind), (End, kind)]).concat());
        assert_eq!(heap.full_collections(), 3);
    });
    mutator.collect().unwrap();
    assert_eq!((told.take(), heap.full_collections()), (vec![], 4));
}

#[test]
fn a_hook_that_was_set_during_a_marking_is_told_of_its_end() {
    let heap = heap(PRECISE.concurrent(Concurrent::Off));
    let mutator = attach(&heap);
    let told = Told::new(&heap, |_| ());
    assert_eq!(mutator.incremental_marking().begin(), Ok(true));
    told.during(|| assert_eq!(mutator.incremental_marking().finish(), Ok(true)));
    assert_eq!(told.take(), [(Start, MarkingEnd), (End, MarkingEnd)]);
}

/// What a hook tries is refused with a sentence, inline allocation as well, and nothing of it is left.
#[test]
fn a_hook_is_refused_the_heap() {
    for config in [PRECISE, PRECISE.verify(true), YOUNG, BY_SIGNALS, PRECISE.stress(true)] {
        let (heap, other) = (heap(config), self::heap(PRECISE));
        let (mutator, elsewhere) = (attach(&heap), attach(&other));
        let (node, there) = (node_type(&heap), node_type(&other));
        // A run is left in the buffer: the inline path would find a cell.
        new(&mutator, node);
        let refused = AllocError::Misuse(Misuse::Hook);
        let tries = AtomicUsize::new(0);
        let told = Told::new(&heap, |_| {
            tries.fetch_add(1, Ordering::Relaxed);
            let cell = node.cell_size().unwrap();
            assert!(mutator.buffer(node.shape()).peek(cell).is_none(), "inline allocation finds nothing");
            assert_eq!(mutator.reserve(node.shape(), cell).err(), Some(refused));
            assert_eq!(mutator.allocate(node).err(), Some(refused));
            assert_eq!(
                mutator.allocate_large(ShapeId::no_pointers(None), 1 << 20, false).err(),
                Some(refused)
            );
            assert_eq!(elsewhere.allocate(there).err(), Some(refused));
            assert_eq!(mutator.collect(), Err(Misuse::Hook));
            assert_eq!(heap.collect(), Err(Misuse::Hook));
            assert_eq!(mutator.start_collection().err(), Some(Misuse::Hook));
            assert_eq!(mutator.blocking(|| ()), Err(Misuse::Hook));
            // SAFETY: nothing is set.
            assert_eq!(unsafe { heap.on_collection(None) }.err(), Some(Misuse::Hook));
            mutator.safepoint_slow();
            assert!(heap.inspect().stats().threads == 1 && heap.full_collections() < 1 << 40);
        });
        told.during(|| {
            for _ in 0..3 {
                mutator.collect().unwrap();
                new(&mutator, node);
                mutator.collect_young().unwrap();
            }
        });
        assert_eq!(tries.load(Ordering::Relaxed), told.take().len());
        assert!(refused.to_string().contains("inside a hook of a collection"), "{refused}");
        // The buffers are as they were.
        let mut roots = Slots::new(&heap, 1);
        roots.extend_list(0, &mutator, node, 1000, 7);
        mutator.collect().unwrap();
        check_list(roots.get(0), 1000, 7);
        new(&elsewhere, there);
        assert_valid(&heap);
        assert_valid(&other);
    }
}

#[test]
fn the_last_hook_that_was_set_is_called() {
    let heap = heap(FULL.concurrent(Concurrent::Off));
    let mutator = attach(&heap);
    let told = [0, 1].map(|_| Told::new(&heap, |_| ()));
    told[0].during(|| {
        mutator.collect().unwrap();
        // SAFETY: they are removed below, and keep the rules.
        let before = unsafe { heap.on_collection(Some(told[1].hook())) }.unwrap().unwrap();
        assert_eq!(before.argument, told[0].hook().argument);
        mutator.collect().unwrap();
        // From a thread that is not attached.
        let (heap, hook) = (&heap, told[0].hook());
        std::thread::scope(|scope| {
            // SAFETY: as above.
            scope.spawn(move || unsafe { heap.on_collection(Some(hook)) }.unwrap().unwrap());
            mutator.blocking(std::thread::yield_now).unwrap();
        });
    });
    assert_eq!(told.each_ref().map(|told| told.take().len()), [2, 2]);
    // In a blocking region it is refused, and nothing changes.
    // SAFETY: it is not set.
    let refused = mutator.blocking(|| unsafe { heap.on_collection(Some(told[0].hook())) }.err()).unwrap();
    assert_eq!(refused, Some(Misuse::InNative));
    mutator.collect().unwrap();
    assert_eq!(told[0].take(), []);
}

const BESIDE: Config = PRECISE.concurrent(Concurrent::On).max_pause(0).min_heap(4 << 20);

/// The threads of the program that have called themselves.
fn only_by(told: &Told<'_>, threads: &[u32]) {
    for (_, kind, _, thread) in told.events.lock().unwrap().iter() {
        assert!(threads.contains(thread), "{kind:?} on a thread of the heap's own");
    }
}

/// Full markings beside the program begin and end where it allocates.
#[test]
fn markings_beside_the_program_begin_and_end_on_its_threads() {
    for generational in [Generational::Auto, Generational::Off] {
        let heap = heap(BESIDE.generational(generational));
        let mutator = attach(&heap);
        let told = Told::new(&heap, |_| ());
        let node = node_type(&heap);
        let mut roots = Slots::new(&heap, 1);
        told.during(|| {
            let ends = || told.events.lock().unwrap().iter().filter(|e| e.1 == MarkingEnd).count();
            // Lists outlive young collections, and die old.
            for round in 0.. {
                assert!(round < 20_000, "no marking ends: {:?}", heap.inspect().stats());
                roots.set(0, 0);
                roots.extend_list(0, &mutator, node, 20_000, round);
                check_list(roots.get(0), 20_000, round);
                if ends() >= 6 {
                    break;
                }
                mutator.blocking(std::thread::yield_now).unwrap();
            }
        });
        are_whole(&told);
        only_by(&told, &[thread_id()]);
        let kinds: Vec<_> = told.take().into_iter().map(|(_, kind)| kind).collect();
        assert!(kinds.contains(&MarkingStart), "{kinds:?}");
        assert_valid(&heap);
    }
}

/// The marker waits for a pause that no thread makes, and the hook goes, or the heap.
#[test]
fn a_marker_that_waits_for_a_pause_goes_on_without_the_hook_and_ends_with_the_heap() {
    for removes in [true, false] {
        let heap = heap(BESIDE.min_heap(1 << 30));
        let told = Told::new(&heap, |_| ());
        let mutator = attach(&heap);
        // SAFETY: it is removed below, or never called again.
        unsafe { heap.on_collection(Some(told.hook())) }.unwrap();
        let ticket = mutator.start_collection().unwrap();
        if removes {
            // Time enough for it to wait. It has asked by then, or asks later and finds no hook.
            mutator.blocking(|| std::thread::sleep(core::time::Duration::from_millis(20))).unwrap();
            // SAFETY: nothing is set.
            unsafe { heap.on_collection(None) }.unwrap();
            mutator.wait_for(ticket).unwrap();
            assert_eq!(told.take(), []);
            continue;
        }
        mutator.blocking(|| std::thread::sleep(core::time::Duration::from_millis(20))).unwrap();
        drop(mutator);
        assert_eq!(heap.full_collections(), 0, "nobody makes its pauses");
    }
}

#[test]
fn a_heap_with_a_hook_is_not_collected_when_it_is_idle() {
    let heap = heap(FULL.concurrent(Concurrent::Off));
    assert!(heap.collect_as_if_idle());
    let told = Told::new(&heap, |_| ());
    told.during(|| assert!(!heap.collect_as_if_idle()));
    assert_eq!(told.take(), []);
    assert!(heap.collect_as_if_idle());
}

/// A child calls the hook that it inherits, on its own thread, also for a marking that was asked for.
#[test]
fn a_child_calls_the_hook_that_it_inherits() {
    for config in [FULL.concurrent(Concurrent::Off), BESIDE.min_heap(1 << 30)] {
        Child::new()
            .run(|| {
                let heap = heap(config);
                let mutator = attach(&heap);
                let told = Told::new(&heap, |_| ());
                let mut roots = Slots::new(&heap, 1);
                roots.extend_list(0, &mutator, node_type(&heap), 1000, 7);
                told.during(|| {
                    let ticket = mutator.start_collection().unwrap();
                    let collects = || {
                        mutator.wait_for(ticket).unwrap();
                        mutator.collect().unwrap();
                        check_list(roots.get(0), 1000, 7);
                        are_whole(&told);
                        only_by(&told, &[thread_id()]);
                        assert!(told.take().len() >= 4);
                        7
                    };
                    assert_eq!(forked(collects), 7 << 8);
                    mutator.wait_for(ticket).unwrap();
                });
                assert!(told.take().len() >= 2);
            })
            .well();
    }
}
