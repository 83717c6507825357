//! `Watched` as the allocator of a program: what holds lost pointers is named in verify mode, each accident of natural Rust by itself, and a
//! right program hears nothing.

mod accidents;

use heapwood::{Config, Gc, GcCell, Heap, Mutator, NoPointers, Trace, Watched};
use heapwood_gc_testing::{Child, Ended};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::hint::black_box;
use std::rc::Rc;

#[global_allocator]
static ALLOCATOR: Watched = Watched::new();

const CONFIG: Config =
    Config::DEFAULT.huge_pages(false).address_space(2 << 30).min_heap(1 << 20).verify(true);

#[derive(Trace)]
struct Obj(u64, GcCell<Option<Gc<Obj>>>);

fn obj(m: &Mutator, value: u64) -> Gc<Obj> {
    m.alloc(Obj(value, GcCell::new(None)))
}

fn heap(config: Config) -> Heap {
    // SAFETY: none: these programs break the contract, to be told so.
    unsafe { Heap::new(config) }.unwrap()
}

/// Overwrites stale words on the stack.
#[inline(never)]
fn scrub() {
    black_box(&mut [0u8; 256 << 10]);
}

/// Has `hold` keep objects outside the heap, on a stack that is gone when the heap is collected.
#[track_caller]
fn collected_with<R>(name: &str, hold: fn(&Mutator) -> R) -> Ended {
    Child::new().called(name).run(|| {
        let heap = heap(CONFIG);
        let m = heap.attach().unwrap();
        #[inline(never)]
        fn call<R>(m: &Mutator, hold: fn(&Mutator) -> R) -> R {
            hold(m)
        }
        let held = Box::new(call(&m, hold));
        scrub();
        m.collect();
        drop(black_box(held));
    })
}

#[track_caller]
fn named<R>(name: &str, hold: fn(&Mutator) -> R) -> Ended {
    collected_with(name, hold)
        .corrupt("holds the last pointers to objects that are gone")
        .says("to objects that nothing else keeps")
}

#[test]
fn a_vector_is_named_with_its_size_and_thread() {
    named("Vec", |m| (0..1000).map(|i| obj(m, i)).collect::<Vec<_>>())
        .says("a block of 8000 bytes at ")
        .says("(a_vector_is_nam) holds 1000 pointers")
        .says(" to objects that nothing else keeps, the first, at byte 0, to the watched::Obj at 0x")
        .says("(16 bytes, made by thread ");
}

#[test]
fn collections_of_the_standard_library_are_named() {
    named("Vec of Boxes", |m| (0..100).map(|i| Box::new(obj(m, i))).collect::<Vec<_>>())
        .says("a block of 8 bytes");
    named("BTreeMap", |m| (0..100).map(|i| (i, obj(m, i))).collect::<BTreeMap<_, _>>());
    named("HashMap", |m| (0..100).map(|i| (i, obj(m, i))).collect::<HashMap<_, _>>());
    named("VecDeque", |m| (0..100).map(|i| obj(m, i)).collect::<VecDeque<_>>());
    named("Rc", |m| Rc::new(RefCell::new(obj(m, 1))));
    #[repr(align(16384))]
    #[expect(dead_code, reason = "what is lost is not read")]
    struct Apart(Gc<Obj>);
    named("aligned above a page", |m| Box::new(Apart(obj(m, 1)))).says("a block of 16384 bytes");
    named("options in pairs", |m| (0..100).map(|i| (i as u8, Some(obj(m, i)))).collect::<Vec<_>>());
}

#[test]
fn closures_references_and_futures_are_named() {
    named("closure", |m| -> Box<dyn Fn() -> u64> {
        let object = obj(m, 1);
        Box::new(move || object.0)
    });
    named("references", |m| (0..100).map(|i| &raw const obj(m, i).0).collect::<Vec<*const u64>>());
    named("inside of a slice", |m| {
        let slice = m.alloc_slice(100, |i| i as u64);
        vec![&raw const slice[70]]
    });
    named("future", |m| {
        let object = obj(m, 1);
        Box::pin(async move {
            std::future::pending::<()>().await;
            object.0
        })
    });
    named("channel", |m| {
        let (sender, receiver) = std::sync::mpsc::channel();
        (0..40).for_each(|i| sender.send(obj(m, i)).unwrap());
        (sender, receiver)
    });
}

#[test]
fn a_generic_packed_struct_is_named() {
    #[repr(C, packed)]
    struct Packed<T>(u8, T);
    named("packed", |m| (0..1000).map(|i| Packed(1, obj(m, i))).collect::<Vec<_>>())
        .says("holds 1000 pointers");
}

thread_local! {
    static HELD: [Cell<Option<Gc<Obj>>>; 50] = const { [const { Cell::new(None) }; 50] };
    static MANY: RefCell<Vec<Gc<Obj>>> = const { RefCell::new(Vec::new()) };
}

#[test]
fn thread_local_data_are_named() {
    named("a vector", |m| MANY.with_borrow_mut(|many| many.extend((0..100).map(|i| obj(m, i)))))
        .says("a block of ");
    // The harness's thread has its variables on its stack, so they are scanned; the first thread's are not. It runs what comes before main.
    let child = Child::new().called("first").run(|| unreachable!("it has ended before"));
    child
        .corrupt("holds the last pointers")
        .says("the thread-local data of thread ")
        .says(" pointers to objects that nothing else keeps");
}

/// Runs the body of a test on the first thread, which a test harness does not use for tests.
#[used]
#[unsafe(link_section = ".init_array")]
static ON_FIRST_THREAD: extern "C" fn() = {
    extern "C" fn run() {
        let is = |name: &str| std::env::var("HEAPWOOD_TEST_CHILD").is_ok_and(|call| call.ends_with(name));
        if is("\"first\"") {
            println!("in a process of its own");
            let heap = heap(CONFIG);
            let m = heap.attach().unwrap();
            #[inline(never)]
            fn hold(m: &Mutator) {
                // A word of the stack may keep one of them; and nobody else reads them.
                HELD.with(|held| black_box(held).iter().for_each(|held| held.set(Some(obj(m, 1)))));
            }
            hold(&m);
            scrub();
            m.collect();
        }
    }
    run
};

struct Anywhere<T>(T);
// SAFETY: none: the program lies, to be told so.
unsafe impl<T> Sync for Anywhere<T> {}
static IN_DATA: Anywhere<Cell<Option<Gc<Obj>>>> = Anywhere(Cell::new(None));

#[test]
fn static_data_are_named_unless_they_are_roots() {
    named("static", |m| IN_DATA.0.set(Some(obj(m, 1))))
        .says("the static variable at ")
        .says("holds a pointer");
    Child::new()
        .called("roots")
        .run(|| {
            let heap = heap(CONFIG.library_roots(true));
            let m = heap.attach().unwrap();
            let set = |m: &Mutator| IN_DATA.0.set(Some(obj(m, 77)));
            set(&m);
            scrub();
            m.collect();
            assert_eq!(IN_DATA.0.get().unwrap().0, 77);
        })
        .well();
}

/// Sorting moves elements through a buffer of the allocator while the comparison collects.
#[test]
fn a_sort_whose_comparison_collects_is_named() {
    Child::new()
        .called("sort")
        .run(|| {
            let heap = heap(CONFIG);
            let m = heap.attach().unwrap();
            let mut many: Vec<Gc<Obj>> = (0..2000).map(|i| obj(&m, i * 7919 % 2000)).collect();
            scrub();
            let mut turns = 0;
            many.sort_by(|a, b| {
                turns += 1;
                if turns == 5000 {
                    m.collect();
                }
                a.0.cmp(&b.0)
            });
        })
        .corrupt("holds the last pointers")
        .says("a block of 16000 bytes");
}

/// A closure that waits for a thread which is not attached.
#[test]
fn what_waits_in_a_channel_of_another_thread_is_named() {
    Child::new()
        .called("sent")
        .run(|| {
            let heap = heap(CONFIG);
            let m = heap.attach().unwrap();
            let (sender, receiver) = std::sync::mpsc::channel::<Vec<usize>>();
            std::thread::scope(|scope| {
                // As a pool keeps its work: a thread that is busy, and a channel of references.
                scope.spawn(move || {
                    std::thread::sleep(std::time::Duration::from_millis(300));
                    receiver.iter().for_each(drop);
                });
                #[inline(never)]
                fn send(m: &Mutator, sender: &std::sync::mpsc::Sender<Vec<usize>>) {
                    sender.send((0..64).map(|i| Gc::as_ptr(obj(m, i)) as usize).collect()).unwrap();
                }
                send(&m, &sender);
                scrub();
                m.collect();
            });
        })
        .corrupt("holds the last pointers")
        .says("a block of 512 bytes");
}

/// A thread that is not attached gets a reference in its closure, and is busy while its starter collects.
#[test]
fn what_the_closure_of_another_thread_captures_is_named() {
    Child::new()
        .called("captured")
        .run(|| {
            let heap = heap(CONFIG);
            let m = heap.attach().unwrap();
            let collected = std::sync::Barrier::new(2);
            std::thread::scope(|scope| {
                #[inline(never)]
                fn start<'s>(
                    m: &Mutator,
                    scope: &'s std::thread::Scope<'s, '_>,
                    collected: &'s std::sync::Barrier,
                ) {
                    // The address stands for a borrow of a longer life than its `Gc`.
                    let lent = Gc::as_ptr(obj(m, 7)).expose_provenance();
                    scope.spawn(move || {
                        collected.wait();
                        black_box(lent);
                    });
                }
                start(&m, scope, &collected);
                scrub();
                m.collect();
                collected.wait();
            });
        })
        .corrupt("holds the last pointers");
}

/// The attachment has ended, and a collection of another thread finds what the first has left in a block.
#[test]
fn what_is_kept_after_the_attachment_is_named() {
    Child::new()
        .called("detached")
        .run(|| {
            let heap = heap(CONFIG);
            #[inline(never)]
            fn fill(heap: &Heap) -> Vec<Gc<Obj>> {
                let m = heap.attach().unwrap();
                (0..100).map(|i| obj(&m, i)).collect()
            }
            let held = fill(&heap);
            scrub();
            std::thread::scope(|scope| {
                scope.spawn(|| heap.attach().unwrap().collect());
            });
            assert_eq!(held.len(), 100);
        })
        .corrupt("holds the last pointers")
        .says("a block of 800 bytes");
}

#[test]
fn an_address_of_a_freed_block_is_none() {
    Child::new()
        .called("freed")
        .run(|| {
            let heap = heap(CONFIG);
            let m = heap.attach().unwrap();
            #[inline(never)]
            fn fill(m: &Mutator) -> Vec<Gc<Obj>> {
                (0..1000).map(|i| obj(m, i)).collect()
            }
            for _ in 0..20 {
                let mut many = fill(&m);
                many.truncate(0);
                many.shrink_to_fit();
                // Memory that was the vector's, in other hands.
                let others: Vec<Vec<u64>> = (0..50).map(|_| Vec::with_capacity(1000)).collect();
                scrub();
                m.collect();
                drop(others);
            }
        })
        .well();
}

/// What keeps the contract of `Heap::new` hears nothing, with threads, and with every allocation a collection.
#[test]
fn a_right_program_hears_nothing() {
    #[derive(Trace, NoPointers)]
    struct Plain(u64);
    for (name, config, n) in [("verify", CONFIG, 3000), ("stress", CONFIG.stress(true), 40)] {
        let ended = Child::new().called(name).run(|| {
            let heap = heap(config);
            std::thread::scope(|scope| {
                for t in 0..3u64 {
                    let heap = &heap;
                    scope.spawn(move || {
                        let m = heap.attach().unwrap();
                        let table = m.alloc_slice(64, |_| GcCell::new(None::<Gc<Obj>>));
                        let mut roots = VecDeque::new();
                        for i in 0..n {
                            let object = obj(&m, i);
                            object.1.set(&m, table[i as usize % 64].get());
                            table[(i * 31 + t) as usize % 64].set(&m, (i % 5 != 0).then_some(object));
                            // Blocks, and objects in them by roots.
                            roots.push_back((
                                m.root(object),
                                vec![i; i as usize % 50],
                                m.alloc(Plain(i)).0.to_string(),
                            ));
                            if roots.len() > 20 {
                                roots.pop_front();
                            }
                            if i % 97 == 0 {
                                m.collect();
                            }
                        }
                        let least = n - roots.len() as u64;
                        for (i, (root, numbers, text)) in roots.iter().enumerate() {
                            let value = root.get(&m).0;
                            assert_eq!((value, value % 50), (least + i as u64, numbers.len() as u64));
                            assert_eq!(text.parse(), Ok(value));
                        }
                    });
                }
            });
        });
        let ended = ended.well();
        assert!(!ended.err.contains("heapwood:"), "{ended}");
    }
}

/// Threads that are not attached, or in blocking regions, make and free blocks while those are searched, with each way to stop.
#[test]
fn blocks_come_and_go_while_they_are_searched() {
    for stop in [heapwood::Stop::Polls, heapwood::Stop::Signals] {
        Child::new()
            .called(stop)
            .run(|| {
                let heap = heap(CONFIG.stop(stop));
                let done = std::sync::atomic::AtomicBool::new(false);
                std::thread::scope(|scope| {
                    for t in 0..3 {
                        let (heap, done) = (&heap, &done);
                        scope.spawn(move || {
                            let m = (t != 0).then(|| heap.attach().unwrap());
                            let mut blocks = VecDeque::new();
                            for i in 0usize.. {
                                // Large ones are unmapped as they are freed.
                                blocks.push_back(vec![i; if i % 50 == 0 { 40_000 } else { i % 300 }]);
                                if blocks.len() > 100 {
                                    blocks.pop_front();
                                }
                                m.as_ref().inspect(|m| m.safepoint());
                                if done.load(std::sync::atomic::Ordering::Relaxed) {
                                    break;
                                }
                            }
                        });
                    }
                    let m = heap.attach().unwrap();
                    for i in 0..40 {
                        // So that something dies.
                        for i in 0..10 {
                            black_box(obj(&m, i));
                        }
                        if i % 2 == 0 { m.collect() } else { m.collect_young() }
                    }
                    done.store(true, std::sync::atomic::Ordering::Relaxed);
                    m.blocking(|| ());
                });
            })
            .well();
    }
}

#[test]
fn freeing_twice_is_told() {
    Child::new()
        .called("twice")
        .run(|| {
            let block = Box::into_raw(Box::new([7u64; 100]));
            // SAFETY: none for the second: it is a mistake.
            unsafe {
                let copy = block;
                drop(Box::from_raw(block));
                black_box(&copy);
                drop(Box::from_raw(copy));
            }
        })
        .corrupt("(800 bytes) is freed, but is none, or was freed before");
}

#[test]
fn blocks_are_aligned_and_hold_what_was_put_there() {
    use std::alloc::{Layout, alloc, alloc_zeroed, dealloc, realloc};
    for shift in 0..=14 {
        let align = 1usize << shift;
        for bytes in [1, 7, 8, 100, 5000, 300_000] {
            let layout = Layout::from_size_align(bytes, align).unwrap();
            // SAFETY: each block is used within its bounds, and freed once by its layout.
            unsafe {
                let (one, zeros) = (alloc(layout), alloc_zeroed(layout));
                assert!(one.addr().is_multiple_of(align) && zeros.addr().is_multiple_of(align));
                assert!((0..bytes).all(|i| *zeros.add(i) == 0));
                one.write_bytes(7, bytes);
                let more = realloc(one, layout, bytes * 2);
                assert!(more.addr().is_multiple_of(align) && (0..bytes).all(|i| *more.add(i) == 7));
                let less = realloc(more, Layout::from_size_align(bytes * 2, align).unwrap(), 1);
                assert_eq!(*less, 7);
                dealloc(less, Layout::from_size_align(1, align).unwrap());
                dealloc(zeros, layout);
            }
        }
    }
}

/// The part of a fiber's stack that is not in use has stale words.
#[test]
fn a_stack_in_a_block_is_left_alone() {
    let run = |name: &str, registered: bool| {
        Child::new().called(name).run(|| {
            let heap = heap(CONFIG);
            let m = heap.attach().unwrap();
            let mut memory = vec![0usize; 8192];
            // SAFETY: the memory outlives the stack.
            let stack = registered.then(|| unsafe {
                heap.add_stack(memory.as_mut_ptr_range().start.cast()..memory.as_mut_ptr_range().end.cast())
            });
            #[inline(never)]
            fn leave(m: &Mutator, memory: &mut [usize]) {
                memory[1000] = Gc::as_ptr(obj(m, 1)) as usize;
            }
            leave(&m, &mut memory);
            scrub();
            m.collect();
            drop(stack);
        })
    };
    run("a stack", true).well();
    run("a vector", false).corrupt("holds the last pointers");
}
