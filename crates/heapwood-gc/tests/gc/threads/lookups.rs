//! Threads look up what others have just made, freed or not made yet: an object that a thread knows is always found, whose
//! ever it is, and a cell without an object never, while its owner goes on.

use heapwood_gc::{Config, Mutator, ObjectType};
use heapwood_gc_testing::*;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The base of what `addr` points into, by a mutator and by the heap.
fn base(mutator: &Mutator, addr: usize) -> Option<usize> {
    mutator.find(addr).map(|object| object.base.get())
}

/// A thread makes objects of several sizes, and another looks each up as soon as it has its address, the bytes behind the
/// newest, too: they have no object yet.
fn finds_what_another_makes(config: Config, collects: bool, objects: usize) {
    let heap = heap(config.min_heap(8 << 20));
    let (newest, seen) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let (done, given_up) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let maker = attach(&heap);
            let types = [
                ObjectType::conservative(16),
                ObjectType::no_pointers(48),
                ObjectType::conservative(1000),
                ObjectType::no_pointers(40_000),
            ];
            let mut root = Slots::new(&heap, 1);
            for index in 0..objects {
                let ty = types[if index % 500 == 499 { 3 } else { index % 3 }];
                let object = maker.allocate(ty).unwrap().as_ptr() as usize;
                root.set(0, object);
                newest.store(object, Ordering::Release);
                // The other looks at each, and no collection takes it meanwhile: it is a root.
                while seen.load(Ordering::Acquire) != object && !given_up.load(Ordering::Relaxed) {
                    maker.safepoint();
                    std::thread::yield_now();
                }
                if collects && index % 1000 == 999 {
                    maker.collect().unwrap();
                }
            }
            done.store(true, Ordering::Release);
        });
        let finder = attach(&heap);
        let _gives_up = Over(|| given_up.store(true, Ordering::Relaxed));
        let mut last = 0;
        while !done.load(Ordering::Acquire) {
            let object = newest.load(Ordering::Acquire);
            if object != last {
                last = object;
                let info = finder.find_info(object + 7).expect("an object that this thread knows");
                assert_eq!(info.base.get(), object);
                assert_eq!(heap.objects().find_info(object), Some(info));
                assert_eq!(info.pointer_free, info.bytes == 48 || info.bytes == 40_000);
                assert_eq!(
                    info.shape,
                    Some(match info.pointer_free {
                        true => ObjectType::no_pointers(info.bytes).shape(),
                        false => ObjectType::conservative(info.bytes).shape(),
                    })
                );
                seen.store(object, Ordering::Release);
            } else {
                std::thread::yield_now();
            }
            finder.safepoint();
        }
    });
    assert_swept_and_valid(&heap);
}

fn objects() -> usize {
    if is_thorough() { 20_000 } else { 4_000 }
}

#[test]
fn a_thread_finds_the_newest_object_of_another() {
    finds_what_another_makes(FULL, false, objects());
    finds_what_another_makes(FULL, true, objects());
    finds_what_another_makes(YOUNG, true, objects());
    finds_what_another_makes(FULL.stress(true), false, 1000);
}

#[test]
fn a_thread_finds_the_newest_object_of_another_where_signals_stop_them() {
    finds_what_another_makes(BY_SIGNALS, true, objects());
}

/// A thread tells before each allocation that it begins; another asks for the cell that comes next. It may find an object only
/// if the thread has told.
#[test]
fn a_cell_without_an_object_is_never_found() {
    for config in [FULL, YOUNG, BY_SIGNALS] {
        let heap = heap(config);
        let (next, begun, done) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let maker = attach(&heap);
                let ty = ObjectType::conservative(32);
                for _ in 0..100_000 {
                    let cell = maker.reserve(ty.shape(), 32).unwrap();
                    next.store(cell.as_ptr() as usize, Ordering::SeqCst);
                    for _ in 0..8 {
                        core::hint::spin_loop();
                    }
                    begun.store(cell.as_ptr() as usize, Ordering::SeqCst);
                    // SAFETY: it was reserved just now, and is zero.
                    unsafe { maker.buffer(ty.shape()).commit(cell, 32) };
                }
                done.store(true, Ordering::SeqCst);
            });
            let finder = attach(&heap);
            let mut looked = 0;
            while !done.load(Ordering::SeqCst) {
                let cell = next.load(Ordering::SeqCst);
                if cell != 0 {
                    let found = base(&finder, cell).is_some();
                    // The maker may have gone on meanwhile, even to a cell of this one's address after a collection.
                    let is_told = begun.load(Ordering::SeqCst) == cell || next.load(Ordering::SeqCst) != cell;
                    assert!(!found || is_told, "{cell:#x} has no object yet");
                    looked += 1;
                }
                finder.safepoint();
            }
            assert!(!is_thorough() || looked > 0);
        });
    }
}
