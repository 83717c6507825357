//! Data of shared libraries as roots: what only they refer to lives as long as the library is open, whoever opens and closes
//! libraries meanwhile. The libraries are built by cc as the tests run. Most tests are processes of their own: where all libraries
//! are roots, so is what other tests keep in statics.

use heapwood_gc::{Config, Heap, HeapError, Mutator, Refusal};
use heapwood_gc_testing::library::{self, File, WORDS};
use heapwood_gc_testing::*;
use heapwood_os_testing::faulty::Faulty;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// An object that nothing refers to.
fn unreferenced(heap: &Heap, mutator: &Mutator) -> usize {
    new(mutator, node_type(heap))
}

/// Ways in which a collection walks the roots.
const WAYS: [Config; 4] = [PRECISE, PRECISE.verify(true), FULL.mark_threads(3), YOUNG.mark_threads(2)];

#[test]
fn what_a_librarys_data_refer_to_lives_until_it_is_closed() {
    in_child(|| {
        let Some(file) = File::new() else { return };
        for config in WAYS {
            let heap = heap(config);
            let m = attach(&heap);
            let library = file.open();
            let token = heap.roots().add_library(library.address()).unwrap();
            // The first and the last word, some between, one that is not zero at first, and none.
            let objects = [0, 1, 511, 512, WORDS / 2, WORDS - 1].map(|i| {
                let object = unreferenced(&heap, &m);
                library.keep(i, object);
                object
            });
            let [shown, other] = [(); 2].map(|()| unreferenced(&heap, &m));
            // A word that points into an object will do.
            library.show(shown + 8);
            for _ in 0..3 {
                m.collect_young().unwrap();
                m.collect().unwrap();
                assert!(objects.iter().chain([&shown]).all(|&object| is_alive(&heap, object)), "{config:?}");
            }
            assert!(!is_alive(&heap, other), "it is not that nothing is freed");
            library.keep(511, 0);
            m.collect().unwrap();
            assert!(!is_alive(&heap, objects[2]) && is_alive(&heap, objects[3]));
            drop(library);
            m.collect().unwrap();
            assert!(!objects.iter().chain([&shown]).any(|&object| is_alive(&heap, object)), "{config:?}");
            assert!(!heap.roots().remove(token), "it was removed as the library had gone");
        }
    });
}

#[test]
fn an_address_in_no_library_is_refused_with_a_sentence() {
    let heap = heap(PRECISE);
    let here = 0;
    for address in [0, 8, &raw const here as usize, usize::MAX] {
        let refused = heap.roots().add_library(address).unwrap_err();
        assert_eq!(refused, Refusal::NoLibrary { address });
        let said = refused.to_string();
        assert!(said.starts_with(&format!("{address:#x} is in no library that is loaded")), "{said}");
    }
    // A function of the program's is in the program.
    assert!(heap.roots().add_library(is_alive as *const () as usize).is_ok());
}

/// Opens and closes its library until it is told to end.
fn come_and_go(file: &File, end: &AtomicBool, turn: impl Fn(&library::Library)) {
    while !end.load(Ordering::Relaxed) {
        turn(&file.open());
    }
}

#[test]
fn libraries_come_and_go_while_collections_run() {
    in_child(|| {
        let (Some(stays), Some(unattached), Some(attached)) = (File::new(), File::new(), File::new()) else {
            return;
        };
        for config in [PRECISE.library_roots(true), PRECISE, PRECISE.verify(true).library_roots(true)] {
            let heap = &*heap(config);
            let end = &AtomicBool::new(false);
            let stays = stays.open();
            let m = attach(heap);
            heap.roots().add_library(stays.address()).unwrap();
            let lives = unreferenced(heap, &m);
            stays.keep(1, lives);
            let named = !config.library_roots;
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    come_and_go(&unattached, end, |library| {
                        // Nothing of its keeps anything alive for sure, since no collection waits for it.
                        library.keep(3, lives);
                        if named {
                            let token = heap.roots().add_library(library.address()).unwrap();
                            heap.roots().remove(token);
                        }
                    });
                });
                scope.spawn(|| {
                    let m = attach(heap);
                    let node = node_type(heap);
                    let turns = AtomicUsize::new(0);
                    come_and_go(&attached, end, |library| {
                        if named {
                            heap.roots().add_library(library.address()).unwrap();
                        }
                        let turn = turns.fetch_add(1, Ordering::Relaxed);
                        let object = new(&m, node);
                        put(object, 2, turn);
                        library.keep(turn % WORDS, object);
                        match turn % 3 {
                            0 => m.safepoint(),
                            1 => m.blocking(std::thread::yield_now).unwrap(),
                            _ => m.collect().unwrap(),
                        }
                        assert_eq!(get(object, 2), turn);
                        // Were it free, some of these would lie there.
                        (0..4).for_each(|_| put(new(&m, node), 2, usize::MAX));
                        assert_eq!(get(object, 2), turn);
                    });
                });
                for _ in 0..100 {
                    m.collect_young().unwrap();
                    m.collect().unwrap();
                    assert!(is_alive(heap, lives));
                }
                end.store(true, Ordering::Relaxed);
                // They may wait for this thread.
                while heap.mutators() > 1 {
                    m.safepoint();
                    std::thread::yield_now();
                }
            });
        }
    });
}

unsafe extern "C" {
    fn dl_iterate_phdr(
        call: unsafe extern "C" fn(*mut c_void, usize, *mut c_void) -> c_int,
        with: *mut c_void,
    ) -> c_int;
}

/// Stops for a collection while the loader's lock is held.
unsafe extern "C" fn poll_inside(_: *mut c_void, _: usize, mutator: *mut c_void) -> c_int {
    // SAFETY: the test passes its mutator, which is attached.
    unsafe { &*mutator.cast::<Mutator>() }.safepoint();
    1
}

/// A collector waits for a thread that has the loader's lock before it asks it to stop; and lets go threads that wait for that lock.
#[test]
fn a_thread_may_be_stopped_inside_the_loader() {
    in_child(|| {
        let heap = &*heap(PRECISE.library_roots(true));
        let end = &AtomicBool::new(false);
        let m = attach(heap);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let m = attach(heap);
                while !end.load(Ordering::Relaxed) {
                    for _ in 0..3 {
                        // SAFETY: the callback takes a mutator, and unwinds not.
                        unsafe { dl_iterate_phdr(poll_inside, (&raw const *m).cast_mut().cast()) };
                    }
                    (0..1000).for_each(|_| m.safepoint());
                }
            });
            while heap.mutators() < 2 {
                m.safepoint();
                std::thread::yield_now();
            }
            (0..30).for_each(|_| m.collect().unwrap());
            end.store(true, Ordering::Relaxed);
        });
    });
}

/// Collects, in a callback of the loader's.
unsafe extern "C" fn collect_inside(_: *mut c_void, _: usize, mutator: *mut c_void) -> c_int {
    // SAFETY: the address of the thread's mutator was given.
    unsafe { &*mutator.cast::<Mutator>() }.collect().unwrap();
    1
}

/// A thread that collects with the loader's lock takes it once more. Beside it another one opens libraries, which need that lock.
#[test]
fn a_thread_may_collect_inside_the_loader_where_signals_stop_the_others() {
    in_child(|| {
        let Some(file) = &File::new() else { return };
        for config in [BY_SIGNALS, BY_SIGNALS.mark_threads(3), BY_SIGNALS.verify(true)] {
            let heap = &*heap(config.library_roots(true));
            let end = &AtomicBool::new(false);
            let m = attach(heap);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    let m = attach(heap);
                    while !end.load(Ordering::Relaxed) {
                        let library = file.open();
                        let object = unreferenced(heap, &m);
                        library.keep(0, object);
                        (0..100).for_each(|_| _ = unreferenced(heap, &m));
                        assert!(is_alive(heap, object));
                    }
                });
                while heap.mutators() < 2 {
                    std::thread::yield_now();
                }
                for _ in 0..10 {
                    // SAFETY: the callback takes a mutator, and unwinds not.
                    unsafe { dl_iterate_phdr(collect_inside, (&raw const *m).cast_mut().cast()) };
                    m.collect().unwrap();
                }
                end.store(true, Ordering::Relaxed);
            });
        }
    });
}

#[test]
fn a_forked_child_looks_at_the_libraries_that_it_opens() {
    in_child(|| {
        let Some(file) = File::new() else { return };
        let heap = heap(PRECISE.library_roots(true).background_release(false).mark_threads(1));
        let m = attach(&heap);
        m.collect().unwrap();
        let status = forked(|| {
            let library = file.open();
            let [kept, other] = [(); 2].map(|()| unreferenced(&heap, &m));
            library.keep(5, kept);
            m.collect().unwrap();
            let held = is_alive(&heap, kept) && !is_alive(&heap, other);
            drop(library);
            m.collect().unwrap();
            let freed = !is_alive(&heap, kept);
            c_int::from(held) + 2 * c_int::from(freed)
        });
        m.collect().unwrap();
        assert_eq!(status & 0xff, 0, "it ended by itself");
        assert_eq!(status >> 8, 3, "held is 1, and freed in the end 2");
    });
}

#[test]
fn a_kernel_that_refuses_is_an_error_and_no_loss() {
    in_child(|| {
        static KERNEL: Faulty = Faulty::new();
        static KEPT: AtomicUsize = AtomicUsize::new(0);
        let kept = std::hint::black_box(&KEPT);
        let heap = Heap::create(&KERNEL, PRECISE.background_release(false).mark_threads(1)).unwrap();
        let m = attach(&heap);
        let mut refused = 0;
        let token = loop {
            KERNEL.refuse(refused);
            match heap.roots().add_library(kept.as_ptr() as usize) {
                Ok(token) => break token,
                Err(Refusal::Kernel(e)) => {
                    assert!(e.to_string().starts_with("the kernel refused to"), "{e}")
                }
                Err(other) => panic!("{other}"),
            }
            refused += 1;
        };
        KERNEL.relent();
        // The buffer and the list are reserved and committed.
        assert!(refused >= 4, "{refused}");
        kept.store(unreferenced(&heap, &m), Ordering::Relaxed);
        m.collect().unwrap();
        assert!(is_alive(&heap, kept.load(Ordering::Relaxed)));
        assert!(heap.roots().remove(token));
        // Another test's heap may lie there next.
        kept.store(0, Ordering::Relaxed);
        assert!(matches!(refused_heap(&KERNEL), HeapError::Kernel(_)));
    });
}

/// Why no heap is made with all libraries where nothing is granted.
fn refused_heap(kernel: &'static Faulty) -> HeapError {
    kernel.refuse_from(0);
    let refused = Heap::create(kernel, PRECISE.library_roots(true)).err().unwrap();
    kernel.relent();
    refused
}

/// All libraries become roots and cease to be, with those that are named, and with ranges that are left out.
#[test]
fn libraries_are_switched_at_run_time() {
    in_child(|| {
        static KEPT: [AtomicUsize; 5] = [const { AtomicUsize::new(0) }; 5];
        let Some(file) = File::new() else { return };
        let kept = std::hint::black_box(&KEPT);
        for config in WAYS {
            for begins_on in [false, true] {
                let heap = heap(config.library_roots(begins_on));
                let m = attach(&heap);
                let library = file.open();
                let alive = |of_library: bool, of_program: [bool; 5]| {
                    let objects = [(); 6].map(|()| unreferenced(&heap, &m) ^ !0);
                    library.keep(77, !objects[5]);
                    (0..5).for_each(|i| kept[i].store(!objects[i], Ordering::Relaxed));
                    m.collect_young().unwrap();
                    m.collect().unwrap();
                    let found = objects.map(|object| is_alive(&heap, !object));
                    library.keep(77, 0);
                    kept.iter().for_each(|word| word.store(0, Ordering::Relaxed));
                    let [p0, p1, p2, p3, p4] = of_program;
                    assert_eq!(found, [p0, p1, p2, p3, p4, of_library], "{config:?}");
                };
                let (all, none) = ([true; 5], [false; 5]);
                alive(begins_on, [begins_on; 5]);
                heap.roots().set_all_libraries(true).unwrap();
                alive(true, all);
                heap.roots().set_all_libraries(false).unwrap();
                alive(false, none);
                // A library that is named stays.
                let token = heap.roots().add_library(library.address()).unwrap();
                alive(true, none);
                heap.roots().set_all_libraries(true).unwrap();
                heap.roots().forget_libraries();
                assert!(!heap.roots().remove(token));
                alive(true, all);
                // Two words of the middle, one after the other, and the first.
                let at = |i: usize| &raw const kept[i] as usize;
                heap.roots().exclude_library_data(at(2)..at(3)).unwrap();
                heap.roots().exclude_library_data(at(3)..at(4)).unwrap();
                heap.roots().exclude_library_data(at(0)..at(0) + 8).unwrap();
                alive(true, [false, true, false, false, true]);
                heap.roots().exclude_no_library_data();
                alive(true, all);
                heap.roots().set_all_libraries(false).unwrap();
                alive(false, none);
                drop(library);
                m.collect().unwrap();
            }
        }
    });
}
