//! A program is told that a queue has something: threads that wait are woken, an eventfd can be read, a function is called where a
//! thread allocates, and never inside itself.

use super::*;
use core::ffi::c_void;
use core::time::Duration;
use heapwood_gc::{FinalizeOrder, FinalizerCall};

const LONG: Option<Duration> = Some(Duration::from_secs(60));
const SHORT: Option<Duration> = Some(Duration::from_millis(1));

fn die(mutator: &Mutator, queue: FinalizerQueue, tag: usize) {
    let object = NonNull::new(new(mutator, node_type(mutator.heap())) as *mut u8).unwrap();
    mutator.finalize(object, queue, FinalizeOrder::Ordered, tag).unwrap();
}

#[test]
fn threads_wait_until_something_is_queued() {
    for config in [
        FULL.concurrent(Concurrent::Off),
        BY_SIGNALS.conservative_stacks(true),
        PRECISE.concurrent(Concurrent::On).max_pause(0),
    ] {
        let heap = heap(config);
        let queue = heap.new_finalizer_queue().unwrap();
        assert_eq!(
            (heap.wait_finalized(queue, SHORT), heap.wait_finalized(OWN, SHORT)),
            (Ok(false), Ok(false))
        );
        const EACH: usize = 200;
        let got = AtomicUsize::new(0);
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for attached in [false, true] {
                let (heap, got, done) = (&heap, &got, &done);
                scope.spawn(move || {
                    let mutator = attached.then(|| attach(heap));
                    while !done.load(Ordering::Relaxed) {
                        // None misses anything: with 60 s for each the test would not end.
                        assert_eq!(heap.wait_finalized(queue, LONG), Ok(true));
                        while let Some(mutator) = &mutator
                            && let Some(entry) = mutator.next_finalized(queue).unwrap()
                        {
                            assert!(entry.object.is_some());
                            got.fetch_add(1, Ordering::Relaxed);
                        }
                        std::thread::yield_now();
                    }
                });
            }
            let mutator = attach(&heap);
            let all = 4 * EACH;
            for tag in 0..all {
                die(&mutator, queue, tag);
                if tag % EACH == 0 {
                    mutator.collect().unwrap();
                }
            }
            // What stale words keep is queued at the end.
            mutator.collect().unwrap();
            while got.load(Ordering::Relaxed) < all {
                heap.finalize_all().unwrap();
                mutator.blocking(std::thread::yield_now).unwrap();
            }
            done.store(true, Ordering::Relaxed);
            // The last that they see.
            for tag in 0..1000 {
                die(&mutator, queue, tag);
                heap.finalize_all().unwrap();
                mutator.blocking(std::thread::yield_now).unwrap();
            }
        });
        let mutator = attach(&heap);
        while mutator.next_finalized(queue).unwrap().is_some() {}
        heap.end_finalizer_queue(queue).unwrap();
        let none = Err(Refusal::NoQueue { queue: queue.to_bits() });
        assert_eq!(heap.wait_finalized(queue, SHORT), none);
    }
}

#[test]
fn who_waits_for_a_queue_that_ends_is_told() {
    let heap = heap(FULL);
    let queue = heap.new_finalizer_queue().unwrap();
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| heap.wait_finalized(queue, LONG));
        std::thread::sleep(Duration::from_millis(5));
        heap.end_finalizer_queue(queue).unwrap();
        assert!(matches!(waits.join().unwrap(), Err(Refusal::NoQueue { .. })));
    });
}

fn read(fd: i32) -> Option<u64> {
    let mut count = 0u64;
    // SAFETY: eight bytes of the local are written.
    let n = unsafe { libc::read(fd, (&raw mut count).cast(), 8) };
    (n == 8).then_some(count)
}

#[test]
fn an_eventfd_tells_of_each_collection_that_queues_something() {
    // The number of a file that is closed may be another's at once.
    in_child(eventfd_tells);
}

fn eventfd_tells() {
    let heap = heap(FULL.concurrent(Concurrent::Off));
    let queue = heap.new_finalizer_queue().unwrap();
    let [fd, own] = [queue, OWN].map(|queue| heap.finalizer_fd(queue).unwrap());
    assert!(fd != own && heap.finalizer_fd(queue) == Ok(fd));
    let mutator = attach(&heap);
    mutator.collect().unwrap();
    assert_eq!((read(fd), read(own)), (None, None));
    for round in 0..3 {
        (0..10).for_each(|tag| die(&mutator, queue, tag));
        mutator.collect().unwrap();
        assert_eq!((read(own), read(fd), read(fd)), (None, Some(1), None), "round {round}");
        mutator.collect().unwrap();
        assert_eq!(read(fd), None);
    }
    while mutator.next_finalized(queue).unwrap().is_some() {}
    heap.end_finalizer_queue(queue).unwrap();
    // SAFETY: the call only asks about a number.
    assert_eq!(unsafe { libc::fcntl(fd, libc::F_GETFD) }, -1, "it is closed with its queue");
    drop(mutator);
    drop(heap);
    // SAFETY: as above.
    assert_eq!(unsafe { libc::fcntl(own, libc::F_GETFD) }, -1, "and with its heap");
}

/// What the function that is called works with.
struct Called<'h> {
    heap: &'h Heap,
    thread: std::thread::ThreadId,
    depth: AtomicUsize,
    calls: AtomicUsize,
    taken: AtomicUsize,
}

unsafe extern "C-unwind" fn called(argument: *mut c_void) {
    // SAFETY: the test passes such a struct, which outlives the heap's use of it.
    let called = unsafe { &*argument.cast::<Called<'_>>() };
    assert_eq!(called.depth.fetch_add(1, Ordering::Relaxed), 0, "it runs inside itself");
    assert_eq!(std::thread::current().id(), called.thread);
    called.calls.fetch_add(1, Ordering::Relaxed);
    // SAFETY: the thread is attached.
    let mutator = unsafe { Mutator::here(called.heap).unwrap().as_ref() };
    while let Some(entry) = mutator.next_finalized(OWN).unwrap() {
        assert!(entry.object.is_some());
        called.taken.fetch_add(1, Ordering::Relaxed);
    }
    // It may allocate and collect, and what dies meanwhile is for the next call.
    die(mutator, OWN, 1);
    mutator.collect().unwrap();
    (0..2000).for_each(|_| _ = new(mutator, node_type(called.heap)));
    // SAFETY: it is refused.
    let refused = unsafe { called.heap.call_when_finalized(OWN, None) };
    assert_eq!(refused, Err(Refusal::QueueCalled));
    called.depth.fetch_sub(1, Ordering::Relaxed);
}

#[test]
fn a_function_is_called_where_the_thread_allocates() {
    for config in [FULL, YOUNG, BY_SIGNALS, FULL.verify(true)] {
        let heap = heap(config.concurrent(Concurrent::Off));
        let mutator = attach(&heap);
        let own = Called {
            heap: &heap,
            thread: std::thread::current().id(),
            depth: AtomicUsize::new(0),
            calls: AtomicUsize::new(0),
            taken: AtomicUsize::new(0),
        };
        let call =
            FinalizerCall { function: called, argument: (&raw const own).cast_mut().cast(), most_nested: 1 };
        // SAFETY: the function and its argument stay until it is removed.
        unsafe { heap.call_when_finalized(OWN, Some(call)) }.unwrap();
        let allocate = || (0..5000).for_each(|_| _ = new(&mutator, node_type(&heap)));
        allocate();
        assert_eq!(own.calls.load(Ordering::Relaxed), 0);
        for _ in 0..10 {
            (0..10).for_each(|tag| die(&mutator, OWN, tag));
            mutator.collect().unwrap();
            allocate();
        }
        let (calls, taken) = (own.calls.load(Ordering::Relaxed), own.taken.load(Ordering::Relaxed));
        // A stack that is scanned may keep some.
        assert!(calls >= 10 && (config.conservative_stacks || taken >= 90), "{calls} calls took {taken}");
        // SAFETY: none is set.
        unsafe { heap.call_when_finalized(OWN, None) }.unwrap();
        die(&mutator, OWN, 3);
        mutator.collect().unwrap();
        allocate();
        assert_eq!(own.calls.load(Ordering::Relaxed), calls);
    }
}
