//! `Scanned` as the allocator of a program: every accident of natural Rust comes out right, on attached threads, with each way to stop, in
//! stress and in verify mode; and it is an allocator.

mod accidents;

use heapwood::{Config, Gc, GcCell, Heap, Mutator, Scanned, Stop, Trace};
use heapwood_gc_testing::{Child, forked};
use std::alloc::{GlobalAlloc, Layout, alloc, alloc_zeroed, dealloc, realloc};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::hint::black_box;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};

#[global_allocator]
static ALLOCATOR: Scanned = Scanned::new();

const CONFIG: Config = Config::DEFAULT.huge_pages(false).address_space(2 << 30).min_heap(1 << 20);

/// Every way to collect that matters here.
fn configs() -> [Config; 4] {
    [CONFIG, CONFIG.verify(true), CONFIG.stop(Stop::Signals), CONFIG.verify(true).stop(Stop::Signals)]
}

#[derive(Trace)]
struct Obj(u64, GcCell<Option<Gc<Obj>>>);

#[inline(never)]
fn obj(m: &Mutator, value: u64) -> Gc<Obj> {
    m.alloc(Obj(value, GcCell::new(None)))
}

fn heap(config: Config) -> Heap {
    // SAFETY: the three rules that are left.
    unsafe { Heap::new(config) }.unwrap()
}

/// Overwrites stale words on the stack, and the memory of what is dead.
#[inline(never)]
fn scrub(m: &Mutator) {
    black_box(&mut [0u8; 256 << 10]);
    m.collect();
    for i in 0..5000 {
        black_box(obj(m, u64::MAX - i));
    }
    m.collect_young();
}

/// Says that other threads may end, also where a test fails.
struct Done<'a>(&'a AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// What `hold` keeps in blocks has its values after collections.
fn right<R>(hold: fn(&Mutator) -> R, values: fn(&R) -> Vec<u64>) {
    for config in configs() {
        let heap = heap(config);
        let m = heap.attach().unwrap();
        let held = Box::new(hold(&m));
        for _ in 0..3 {
            scrub(&m);
            let values = values(&held);
            assert!(
                !values.is_empty() && values.iter().enumerate().all(|(i, &v)| v == i as u64),
                "{values:?}"
            );
        }
    }
}

#[test]
fn collections_of_the_standard_library_keep_their_objects() {
    right(|m| (0..1000).map(|i| obj(m, i)).collect::<Vec<_>>(), |held| held.iter().map(|o| o.0).collect());
    right(
        |m| (0..1000).map(|i| Box::new(obj(m, i))).collect::<Vec<_>>(),
        |held| held.iter().map(|o| o.0).collect(),
    );
    right(
        |m| (0..1000).map(|i| (i, obj(m, i))).collect::<BTreeMap<_, _>>(),
        |held| held.values().map(|o| o.0).collect(),
    );
    right(
        |m| (0..1000).map(|i| obj(m, i)).collect::<VecDeque<_>>(),
        |held| held.iter().map(|o| o.0).collect(),
    );
    right(|m| Rc::new(RefCell::new(obj(m, 0))), |held| vec![held.borrow().0]);
    right(
        |m| (0..1000).map(|i| (i as u8, Some(obj(m, i)))).collect::<Vec<_>>(),
        |held| held.iter().map(|o| o.1.unwrap().0).collect(),
    );
    right(
        |m| (0..1000).map(|i| (i, obj(m, i))).collect::<HashMap<_, _>>(),
        |held| (0..1000).map(|i| held[&i].0).collect(),
    );
}

#[test]
fn closures_references_channels_and_futures_keep_their_objects() {
    right(
        |m| -> Box<dyn Fn() -> u64> {
            let object = obj(m, 0);
            Box::new(move || object.0)
        },
        |held| vec![held()],
    );
    right(
        |m| (0..1000).map(|i| &raw const obj(m, i).0).collect::<Vec<*const u64>>(),
        |held| {
            // SAFETY: a reference counts as a `Gc`, and lies in a block.
            held.iter().map(|&at| unsafe { *at }).collect()
        },
    );
    right(
        |m| {
            let (sender, receiver) = std::sync::mpsc::channel();
            (0..500).for_each(|i| sender.send(obj(m, i)).unwrap());
            (sender, receiver)
        },
        |(sender, receiver)| {
            let all: Vec<_> = receiver.try_iter().collect();
            all.iter().for_each(|&object| sender.send(object).unwrap());
            all.iter().map(|object| object.0).collect()
        },
    );
    right(
        |m| {
            let (object, seen) = (obj(m, 0), Rc::new(Cell::new(1)));
            let theirs = seen.clone();
            let future: std::pin::Pin<Box<dyn Future<Output = ()>>> = Box::pin(async move {
                loop {
                    theirs.set(object.0);
                    let mut first = true;
                    std::future::poll_fn(|_| match std::mem::replace(&mut first, false) {
                        true => std::task::Poll::Pending,
                        false => std::task::Poll::Ready(()),
                    })
                    .await;
                }
            });
            (RefCell::new(future), seen)
        },
        |(future, seen)| {
            let mut context = std::task::Context::from_waker(std::task::Waker::noop());
            assert!(future.borrow_mut().as_mut().poll(&mut context).is_pending());
            vec![seen.get()]
        },
    );
}

thread_local! {
    static MANY: RefCell<Vec<Gc<Obj>>> = const { RefCell::new(Vec::new()) };
    static ONE: Cell<Option<Gc<Obj>>> = const { Cell::new(None) };
}

#[test]
fn thread_local_data_keep_their_objects() {
    right(
        |m| {
            MANY.with_borrow_mut(|many| *many = (0..1000).map(|i| obj(m, i)).collect());
            ONE.set(Some(obj(m, 0)));
        },
        |()| {
            assert_eq!(ONE.get().unwrap().0, 0);
            MANY.with_borrow(|many| many.iter().map(|o| o.0).collect())
        },
    );
}

#[test]
fn a_sort_whose_comparison_allocates_is_right() {
    for config in configs() {
        let heap = heap(config);
        let m = heap.attach().unwrap();
        let mut many: Vec<Gc<Obj>> = (0..2000).map(|i| obj(&m, i * 7919 % 2000)).collect();
        let mut turns = 0u32;
        many.sort_by(|a, b| {
            turns += 1;
            if turns.is_multiple_of(997) {
                scrub(&m);
            }
            a.0.cmp(&b.0)
        });
        assert!(many.iter().enumerate().all(|(i, object)| object.0 == i as u64));
    }
}

#[test]
fn every_allocation_may_be_a_collection() {
    for config in [CONFIG.stress(true), CONFIG.stress(true).verify(true)] {
        let heap = heap(config);
        let m = heap.attach().unwrap();
        let mut table: BTreeMap<u64, Vec<Gc<Obj>>> = BTreeMap::new();
        for i in 0..300 {
            table.entry(i % 7).or_default().push(obj(&m, i));
        }
        for (&key, objects) in &table {
            assert!(objects.iter().enumerate().all(|(i, object)| object.0 == i as u64 * 7 + key));
        }
    }
}

/// What an attachment has left in blocks is there for the next, of this thread or another.
#[test]
fn objects_in_blocks_outlive_the_attachment() {
    for config in configs() {
        let heap = heap(config);
        #[inline(never)]
        fn fill(heap: &Heap) -> Vec<Gc<Obj>> {
            let m = heap.attach().unwrap();
            (0..1000).map(|i| obj(&m, i)).collect()
        }
        let held = fill(&heap);
        std::thread::scope(|scope| {
            scope.spawn(|| scrub(&heap.attach().unwrap()));
        });
        let m = heap.attach().unwrap();
        scrub(&m);
        assert!(held.iter().enumerate().all(|(i, object)| object.0 == i as u64));
    }
}

/// `&T` goes by a channel to a thread that is attached, while both collect. A session's pointer need not be so careful: it goes anywhere
/// in its call.
#[test]
fn references_go_to_attached_threads_by_channels() {
    for config in configs() {
        let heap = heap(config);
        let (sender, mut receiver) = std::sync::mpsc::channel::<Vec<&u64>>();
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| {
                let m = heap.attach().unwrap();
                let mut all: Vec<&u64> = Vec::new();
                loop {
                    let receiver = &mut receiver;
                    // A region hands out what may leave it; the references in the block are used outside.
                    let Ok(next) = m.blocking(move || receiver.recv()) else { break };
                    all.extend(next);
                    scrub(&m);
                }
                all.iter().enumerate().for_each(|(i, number)| assert_eq!(i as u64, **number));
                all.len()
            });
            let m = heap.attach().unwrap();
            for round in 0..8u64 {
                // SAFETY: a reference counts as a `Gc`: the block keeps the object. (A borrow of a longer life than the variable.)
                let long = |i| unsafe { &*Gc::as_ptr(m.alloc(round * 64 + i)) };
                sender.send((0..64).map(long).collect()).unwrap();
                scrub(&m);
            }
            drop(sender);
            assert_eq!(m.blocking(|| reader.join()).unwrap(), 8 * 64);
        });
    }
}

struct Anywhere<T>(T);
// SAFETY: the one test that uses it does so on one thread.
unsafe impl<T> Sync for Anywhere<T> {}
static IN_DATA: Anywhere<[Cell<Option<Gc<Obj>>>; 100]> = Anywhere([const { Cell::new(None) }; 100]);

#[test]
fn static_data_keep_their_objects_if_they_are_roots() {
    for config in configs() {
        let heap = heap(config.library_roots(true));
        let m = heap.attach().unwrap();
        #[inline(never)]
        fn set(m: &Mutator) {
            // A stale word may keep one of them.
            IN_DATA.0.iter().for_each(|place| place.set(Some(obj(m, 77))));
        }
        set(&m);
        scrub(&m);
        assert!(IN_DATA.0.iter().all(|place| place.take().unwrap().0 == 77));
    }
}

#[test]
fn what_is_freed_keeps_nothing() {
    let heap = heap(CONFIG);
    let m = heap.attach().unwrap();
    #[inline(never)]
    fn fill(m: &Mutator) -> Vec<Vec<Gc<Obj>>> {
        (0..100).map(|i| (0..100).map(|j| obj(m, i * 100 + j)).collect()).collect()
    }
    let held = fill(&m);
    m.collect();
    assert!(heap.stats().live_objects >= 10_000, "{:?}", heap.stats().live_objects);
    drop(held);
    scrub(&m);
    m.collect();
    assert!(heap.stats().live_objects < 1000, "{:?}", heap.stats().live_objects);
}

/// Vectors of objects on attached threads, which grow, shrink and change hands through the heap; beside them threads that are not attached,
/// or in blocking regions, which allocate and free.
#[test]
fn threads_keep_objects_in_blocks_while_others_allocate() {
    for config in configs() {
        let (heap, done) = (heap(config), AtomicBool::new(false));
        std::thread::scope(|scope| {
            for t in 0..2u64 {
                let done = &done;
                scope.spawn(move || {
                    let mut blocks = VecDeque::new();
                    for i in 0u64.. {
                        let bytes = if i % 50 == 0 { 50_000 } else { i as usize % 500 };
                        blocks.push_back((i + t, vec![i + t; bytes], format!("{i}")));
                        if blocks.len() > 100 {
                            let (value, words, text) = blocks.pop_front().unwrap();
                            assert!(words.iter().all(|&word| word == value));
                            assert_eq!(text.parse(), Ok(value - t));
                        }
                        if done.load(Ordering::Relaxed) {
                            break;
                        }
                    }
                });
            }
            let workers: Vec<_> = (0..2u64)
                .map(|t| {
                    let heap = &heap;
                    scope.spawn(move || {
                        let m = heap.attach().unwrap();
                        let mut vectors: Vec<Vec<Gc<Obj>>> = (0..20).map(|_| Vec::new()).collect();
                        for i in 0..4000u64 {
                            let at = (i * 7 % 20) as usize;
                            vectors[at].push(obj(&m, i * 2 + t));
                            if i % 5 == 0 {
                                // A vector that was filled in a blocking region is as any other.
                                let capacity = vectors[at].len() + 3;
                                let mut moved: Vec<Gc<Obj>> =
                                    Vec::with_capacity(m.blocking(|| vec![0u8; capacity].capacity()));
                                moved.extend(vectors[at].iter().copied());
                                vectors[at] = moved;
                            }
                            if i % 700 == 0 {
                                m.collect();
                            }
                        }
                        for (k, vector) in vectors.iter().enumerate() {
                            assert_eq!(vector.len(), 200);
                            for object in vector {
                                assert_eq!((object.0 % 2, (object.0 / 2) * 7 % 20), (t, k as u64));
                            }
                        }
                    })
                })
                .collect();
            let _done = Done(&done);
            workers.into_iter().for_each(|worker| worker.join().unwrap());
        });
    }
}

#[test]
fn blocks_are_aligned_and_hold_what_was_put_there() {
    for shift in 0..=15 {
        let align = 1usize << shift;
        for bytes in [1, 7, 8, 48, 100, 5000, 30_000, 300_000] {
            let layout = Layout::from_size_align(bytes, align).unwrap();
            // SAFETY: each block is used within its bounds, and freed once by its layout.
            unsafe {
                for _ in 0..3 {
                    let (one, zeros) = (alloc(layout), alloc_zeroed(layout));
                    assert!(
                        one.addr().is_multiple_of(align) && zeros.addr().is_multiple_of(align),
                        "{bytes} {align}"
                    );
                    assert!((0..bytes).all(|i| *zeros.add(i) == 0));
                    zeros.write_bytes(9, bytes);
                    one.write_bytes(7, bytes);
                    let more = realloc(one, layout, bytes * 2);
                    assert!(more.addr().is_multiple_of(align) && (0..bytes).all(|i| *more.add(i) == 7));
                    more.write_bytes(8, bytes * 2);
                    let less =
                        realloc(more, Layout::from_size_align(bytes * 2, align).unwrap(), bytes.div_ceil(3));
                    assert!((0..bytes.div_ceil(3)).all(|i| *less.add(i) == 8));
                    dealloc(less, Layout::from_size_align(bytes.div_ceil(3), align).unwrap());
                    assert!((0..bytes).all(|i| *zeros.add(i) == 9));
                    dealloc(zeros, layout);
                }
            }
        }
    }
    let too_large = Layout::from_size_align(isize::MAX as usize - 100, 8).unwrap();
    // SAFETY: the layout is not empty.
    assert!(unsafe { ALLOCATOR.alloc(too_large) }.is_null());
}

/// Random sizes on several threads, which free what others have made.
#[test]
fn blocks_never_overlap_and_are_freed_by_other_threads() {
    let (senders, receivers): (Vec<_>, Vec<_>) =
        (0..3).map(|_| std::sync::mpsc::channel::<Vec<u64>>()).unzip();
    std::thread::scope(|scope| {
        for (t, receiver) in receivers.into_iter().enumerate() {
            let next = senders[(t + 1) % 3].clone();
            scope.spawn(move || {
                let mut state = t as u64 + 1;
                let mut kept: Vec<Vec<u64>> = Vec::new();
                for i in 0..20_000u64 {
                    state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                    let len = (state >> 40) as usize % if i % 100 == 0 { 6000 } else { 60 };
                    let block = vec![i << 8 | t as u64; len];
                    match state >> 61 {
                        0 => drop(next.send(block)),
                        1..4 => kept.push(block),
                        _ if !kept.is_empty() => {
                            let at = (state >> 33) as usize % kept.len();
                            let old = kept.swap_remove(at);
                            assert!(old.iter().all(|&word| word == old[0] && word & 255 == t as u64));
                        }
                        _ => {}
                    }
                    if let Ok(block) = receiver.try_recv() {
                        assert!(block.iter().all(|&word| word == block[0] && word & 255 != t as u64));
                    }
                }
            });
        }
    });
}

/// Another thread frees many, or the same frees more than the boxes of `scanned/depot.rs` hold. In a child: other tests would take them.
#[test]
fn what_is_freed_in_large_numbers_serves_again() {
    Child::new()
        .run(|| {
            for (align, many, by_other) in [(8, 50_000, true), (1, 2_300_000, false)] {
                let layout = Layout::from_size_align(16, align).unwrap();
                let make_one = |i| {
                    // SAFETY: the layout is not empty, and the block has two words at a granule.
                    unsafe {
                        let block = alloc(layout).cast::<[usize; 2]>();
                        assert!(align == 1 || *block == [0; 2], "a scanned block begins as zeros");
                        *block = [i; 2];
                        block.expose_provenance()
                    }
                };
                let make = || -> Vec<usize> { (0..many).map(make_one).collect() };
                let free = |blocks: &[usize]| {
                    for (i, &block) in blocks.iter().enumerate() {
                        let block = std::ptr::with_exposed_provenance_mut::<[usize; 2]>(block);
                        // SAFETY: it was made above, and is freed once.
                        unsafe {
                            assert_eq!(*block, [i; 2], "two blocks overlap");
                            dealloc(block.cast(), layout);
                        }
                    }
                };
                let mut before = make();
                match by_other {
                    true => std::thread::scope(|scope| scope.spawn(|| free(&before)).join().unwrap()),
                    false => free(&before),
                }
                let mut after = make();
                before.sort_unstable();
                after.sort_unstable();
                assert!(
                    before.is_sorted_by(|a, b| a < b) && after.is_sorted_by(|a, b| a < b),
                    "a block twice"
                );
                let again = after.iter().filter(|block| before.binary_search(block).is_ok()).count();
                assert!(again >= many / 100 * 97, "{again} of {many} came back");
            }
        })
        .well();
}

thread_local! {
    static ON_FIRST: Cell<Option<Gc<Obj>>> = const { Cell::new(None) };
}

/// The test harness runs no test on the first thread, whose variables lie on no stack.
#[test]
fn variables_of_the_first_thread_keep_their_objects() {
    Child::new().called("first").run(|| unreachable!("it has ended before")).well();
}

#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = {
    extern "C" fn run() {
        let is_child = std::env::var("HEAPWOOD_TEST_CHILD").is_ok_and(|call| call.ends_with("\"first\""));
        if is_child {
            println!("in a process of its own");
            let heap = heap(CONFIG.verify(true));
            let m = heap.attach().unwrap();
            #[inline(never)]
            fn hold(m: &Mutator) {
                ON_FIRST.set(Some(obj(m, 7)));
            }
            hold(&m);
            scrub(&m);
            assert_eq!(ON_FIRST.get().unwrap().0, 7);
            drop(m);
            let m = heap.attach().unwrap();
            ON_FIRST.set(None);
            scrub(&m);
            std::process::exit(0);
        }
    }
    run
};

/// A fork finds the blocks whole, while other threads allocate and collect; the child allocates, frees and collects.
#[test]
fn a_forked_child_goes_on() {
    for stop in [Stop::Polls, Stop::Signals] {
        Child::new()
            .called(stop)
            .run(|| {
                let (heap, done) = (heap(CONFIG.stop(stop)), AtomicBool::new(false));
                std::thread::scope(|scope| {
                    for t in 0..2 {
                        let (heap, done) = (&heap, &done);
                        scope.spawn(move || {
                            let m = (t == 0).then(|| heap.attach().unwrap());
                            let mut blocks = VecDeque::new();
                            while !done.load(Ordering::Relaxed) {
                                blocks.push_back(vec![1u64; blocks.len() * 7]);
                                if blocks.len() > 60 {
                                    blocks.drain(..40);
                                    m.as_ref().inspect(|m| m.collect());
                                }
                            }
                        });
                    }
                    let _done = Done(&done);
                    let m = heap.attach().unwrap();
                    let kept: Vec<_> = (0..1000).map(|i| obj(&m, i)).collect();
                    for _ in 0..20 {
                        let status = forked(|| {
                            let more: Vec<Box<Gc<Obj>>> = (0..1000).map(|i| Box::new(obj(&m, i))).collect();
                            scrub(&m);
                            let is_right = |(i, object): (usize, &Gc<Obj>)| object.0 == i as u64;
                            let rights = more.iter().map(|o| &**o).enumerate().all(is_right);
                            i32::from(!(rights && kept.iter().enumerate().all(is_right)))
                        });
                        assert_eq!(status, 0);
                    }
                });
            })
            .well();
    }
}

/// Blocks cost time in each collection, so with many there are fewer collections.
#[test]
fn collections_are_rare_beside_large_blocks() {
    Child::new()
        .called("rare")
        .run(|| {
            let collections = |held: usize| {
                let config = CONFIG.small_heap(1 << 20).generational(heapwood::Generational::Off);
                let heap = heap(config);
                let m = heap.attach().unwrap();
                let words = vec![1u64; held / 8];
                for i in 0..100_000 {
                    black_box(m.alloc([i as u64; 80]));
                }
                drop(black_box(words));
                heap.stats().collections
            };
            let (many, few) = (collections(1 << 10), collections(32 << 20));
            assert!(few * 4 < many && few >= 1, "{few} with 32 MiB of blocks, {many} without");
        })
        .well();
}
