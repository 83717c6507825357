//! Blocking regions with a beginning and an end, polls that the program asks for, and mutators that change threads.

use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use heapwood_gc::{Config, Heap, HeapError, MisuseError, Mutator, ObjectType, StackGiven};
use heapwood_gc_testing::*;
use std::hint::black_box;
use std::sync::Mutex;

const WAYS: [Config; 4] = [
    FULL.conservative_stacks(true),
    YOUNG.conservative_stacks(true).verify(true),
    BY_SIGNALS,
    BY_SIGNALS.verify(true),
];

/// Lists of callers, which lie in their variables alone, live through a region of a function that they call.
#[inline(never)]
fn go_down(m: &Mutator, node: ObjectType, floors: usize, wait: &dyn Fn()) {
    let mut head = black_box(0);
    extend_list(m, node, 30, floors, |new| {
        new.inspect(|&new| head = new);
        head
    });
    let list = black_box(head);
    match floors {
        0 => in_region(m, wait),
        _ => go_down(m, node, floors - 1, wait),
    }
    (0..50).for_each(|_| put(new(m, node), 2, usize::MAX));
    check_list(black_box(list), 30, floors);
}

#[inline(never)]
fn in_region(m: &Mutator, wait: &dyn Fn()) {
    assert_eq!(m.end_blocking(), Err(MisuseError::NoRegion));
    m.begin_blocking().unwrap();
    assert_eq!(m.check(), Err(MisuseError::InNative));
    assert_eq!(m.begin_blocking(), Err(MisuseError::InNative));
    wait();
    // A region in the region only calls.
    assert_eq!(m.blocking(|| 7), Ok(7));
    m.end_blocking().unwrap();
    assert_eq!(m.check(), Ok(()));
}

#[test]
fn a_region_has_a_beginning_and_an_end() {
    for config in WAYS {
        let heap = heap(config);
        let (collections, end) = (AtomicUsize::new(0), AtomicBool::new(false));
        std::thread::scope(|s| {
            s.spawn(|| {
                let m = attach(&heap);
                while !end.load(Ordering::Relaxed) {
                    m.collect().unwrap();
                    collections.fetch_add(1, Ordering::Relaxed);
                }
            });
            let m = attach(&heap);
            let node = node_type(&heap);
            for _ in 0..20 {
                let wait = || {
                    let seen = collections.load(Ordering::Relaxed);
                    wipe_stack();
                    while collections.load(Ordering::Relaxed) < seen + 2 {
                        std::thread::yield_now();
                    }
                };
                go_down(&m, node, 5, &wait);
            }
            end.store(true, Ordering::Relaxed);
            m.blocking(|| ()).unwrap();
            drop(m);
        });
        assert_valid(&heap);
    }
}

#[test]
fn regions_of_two_heaps_end_in_reverse_order() {
    let (first, second) = (heap(FULL), heap(FULL));
    let a = attach(&first);
    a.begin_blocking().unwrap();
    let b = attach(&second);
    assert_eq!(b.check(), Ok(()));
    b.begin_blocking().unwrap();
    assert_eq!(a.end_blocking(), Err(MisuseError::LaterRegion));
    assert_eq!(b.end_blocking(), Ok(()));
    // One heap is used while the other is left.
    b.collect().unwrap();
    assert_eq!(a.end_blocking(), Ok(()));
    assert_eq!((a.check(), b.check()), (Ok(()), Ok(())));
    a.blocking(|| assert_eq!(a.end_blocking(), Err(MisuseError::NoRegion))).unwrap();
}

#[test]
fn a_poll_that_the_program_asks_for_comes_once() {
    let heap = heap(FULL);
    let m = attach(&heap);
    // SAFETY: a mutator begins with its poll flag.
    let poll = || unsafe { core::ptr::from_ref::<Mutator>(&m).cast::<u32>().read_volatile() };
    assert_eq!(poll(), 0);
    m.request_poll();
    m.request_poll();
    assert_ne!(poll(), 0);
    m.safepoint();
    assert_eq!(poll(), 0);
    // Collections do not lose it, nor wait for it.
    m.request_poll();
    m.collect().unwrap();
    assert_ne!(poll(), 0);
    let done = AtomicBool::new(false);
    std::thread::scope(|s| {
        let (heap, done) = (&*heap, &done);
        s.spawn(move || {
            let other = attach(heap);
            (0..50).for_each(|_| other.collect().unwrap());
            done.store(true, Ordering::Relaxed);
        });
        while !done.load(Ordering::Relaxed) {
            m.request_poll();
            m.safepoint();
        }
    });
    m.safepoint();
    assert_eq!(poll(), 0);
}

/// A mutator that threads pass on under a lock.
struct Vm {
    mutator: NonNull<Mutator>,
    list: usize,
    steps: usize,
}

// SAFETY: who has the lock around it has its mutator.
unsafe impl Send for Vm {}

fn take<'h>(heap: &'h Heap, mutator: NonNull<Mutator>) -> Result<heapwood_gc::Attached<'h>, HeapError> {
    // SAFETY: the mutator is the heap's, and stays attached.
    unsafe { Mutator::take(heap, mutator, StackGiven::Own) }
}

#[test]
fn a_mutator_goes_from_thread_to_thread() {
    for config in WAYS {
        let heap = heap(config);
        let node = node_type(&heap);
        let mut roots = Slots::new(&heap, 1);
        let slot = Mutex::new(&mut roots);
        let vm = {
            let m = attach(&heap).into_raw();
            // SAFETY: it is this thread's, and nobody uses it until it is taken.
            unsafe { m.as_ref().give() }.unwrap();
            Mutex::new(Vm { mutator: m, list: 0, steps: 0 })
        };
        std::thread::scope(|s| {
            for _ in 0..4 {
                s.spawn(|| {
                    for round in 0..60 {
                        let mut vm = vm.lock().unwrap();
                        let m = take(&heap, vm.mutator).unwrap().into_raw();
                        // SAFETY: taken just now.
                        let m = unsafe { m.as_ref() };
                        assert!(matches!(take(&heap, vm.mutator), Err(HeapError::AttachedAlready)));
                        let mut roots = slot.lock().unwrap();
                        let steps = vm.steps;
                        roots.extend_list(0, m, node, 20, steps);
                        vm.steps += 20;
                        vm.list = roots.get(0);
                        drop(roots);
                        match round % 4 {
                            0 => m.collect().unwrap(),
                            1 => m.collect_young().unwrap(),
                            _ => {}
                        }
                        check_list(vm.list, vm.steps, 0);
                        // SAFETY: as above.
                        unsafe { m.give() }.unwrap();
                        assert_eq!(m.check(), Err(MisuseError::Given));
                        drop(vm);
                        // Nobody waits for it meanwhile.
                        if round % 16 == 0 {
                            heap.collect().unwrap();
                        }
                    }
                });
            }
        });
        let vm = vm.into_inner().unwrap();
        assert_eq!((vm.steps, heap.mutators()), (4 * 60 * 20, 1));
        check_list(vm.list, vm.steps, 0);
        let m = take(&heap, vm.mutator).unwrap();
        assert!(matches!(take(&heap, vm.mutator), Err(HeapError::AttachedAlready)));
        std::thread::scope(|s| {
            let mutator = vm.mutator.as_ptr() as usize;
            let heap = &*heap;
            s.spawn(move || {
                let refused = take(heap, NonNull::new(mutator as *mut Mutator).unwrap()).map(|_| ());
                assert!(matches!(refused, Err(HeapError::NotGiven)), "{refused:?}");
            });
            m.blocking(std::thread::yield_now).unwrap();
        });
        drop(m);
        assert_eq!(heap.mutators(), 0);
        assert_valid(&heap);
    }
}

#[test]
fn a_child_has_the_mutators_that_nobody_had() {
    let heap = heap(FULL);
    let node = node_type(&heap);
    let mut roots = Slots::new(&heap, 1);
    let m = attach(&heap);
    roots.extend_list(0, &m, node, 100, 0);
    let m = m.into_raw();
    // SAFETY: nobody uses it until it is taken.
    unsafe { m.as_ref().give() }.unwrap();
    let ended = forked(|| {
        let m = take(&heap, m).unwrap();
        roots.extend_list(0, &m, node, 100, 100);
        m.collect().unwrap();
        check_list(roots.get(0), 200, 0);
        0
    });
    assert_eq!(ended, 0);
    drop(take(&heap, m).unwrap());
}
