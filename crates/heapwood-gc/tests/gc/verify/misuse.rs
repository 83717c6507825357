//! What a heap refuses to do, and says why: everything that an embedder gets wrong once. Nothing of it may abort, hang, or
//! touch the heap.

use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use heapwood_gc::{AllocError, Attached, Config, Heap, HeapError, Misuse, Mutator, ObjectType, slice_scan};
use heapwood_gc_testing::*;
use heapwood_layout::{TraceContext, TypeDescriptor};
use std::sync::mpsc::channel;

fn refused(mutator: &Mutator, ty: ObjectType) -> Misuse {
    match mutator.allocate(ty) {
        Err(AllocError::Misuse(why)) => why,
        other => panic!("{other:?}"),
    }
}

/// A large object's type: its allocation never has an inline path.
fn large(heap: &Heap) -> ObjectType {
    pointer_free(heap, 100_000)
}

#[test]
fn allocation_and_collection_are_refused_in_a_blocking_region() {
    let heap = heap(PRECISE);
    let mutator = attach(&heap);
    mutator
        .blocking(|| {
            assert_eq!(refused(&mutator, large(&heap)), Misuse::InNative);
            assert_eq!(refused(&mutator, node_type(&heap)), Misuse::InNative, "no run yet");
            assert_eq!(mutator.collect(), Err(Misuse::InNative));
            assert_eq!(mutator.blocking(|| 7), Ok(7), "regions nest");
        })
        .unwrap();
    assert_eq!(heap.inspect().stats().collections, 0);
    assert!(mutator.allocate(large(&heap)).is_ok());
    mutator.collect().unwrap();
}

/// Outside verify mode a run that is not used up can be allocated from; in it the first cell is refused.
#[test]
fn verify_mode_leaves_no_run_to_a_blocked_thread() {
    let heap = heap(PRECISE.verify(true));
    let mutator = attach(&heap);
    let node = node_type(&heap);
    new(&mutator, node);
    assert!(mutator.buffer(node.shape()).room() > 0);
    mutator.blocking(|| assert_eq!(refused(&mutator, node), Misuse::InNative)).unwrap();
    new(&mutator, node);
}

static INSIDE: [AtomicPtr<Mutator>; 2] = [const { AtomicPtr::new(core::ptr::null_mut()) }; 2];
static TRACED: AtomicUsize = AtomicUsize::new(0);

/// A trace function that uses its heap, and another one, in which its thread is stopped meanwhile.
unsafe extern "C" fn meddle(_: *mut u8, _: usize, _: *mut TraceContext) {
    for inside in &INSIDE {
        // SAFETY: the test stores its mutators, which are attached.
        let mutator = unsafe { inside.load(Ordering::SeqCst).as_ref() }.unwrap();
        assert_eq!((mutator.check(), mutator.collect()), (Err(Misuse::Tracing), Err(Misuse::Tracing)));
        assert_eq!(mutator.start_collection(), Err(Misuse::Tracing));
        assert_eq!(mutator.blocking(|| ()), Err(Misuse::Tracing));
        assert_eq!(refused(mutator, large(mutator.heap())), Misuse::Tracing);
        mutator.safepoint_slow();
    }
    TRACED.fetch_add(1, Ordering::SeqCst);
}

#[test]
fn all_is_refused_in_a_trace_function() {
    let heaps = [heap(PRECISE), heap(PRECISE)];
    let mutators = [attach(&heaps[0]), attach(&heaps[1])];
    let ty = heaps[0].types().register(&TypeDescriptor::traced(32, meddle).unwrap()).unwrap();
    let mut roots = Slots::new(&heaps[0], 1);
    roots.set(0, new(&mutators[0], ty));
    INSIDE
        .iter()
        .zip(&mutators)
        .for_each(|(inside, m)| inside.store((&raw const **m).cast_mut(), Ordering::SeqCst));
    mutators[0].collect().unwrap();
    assert_eq!((TRACED.load(Ordering::SeqCst), heaps[0].inspect().stats().live_objects), (1, 1));
    mutators[1].collect().unwrap();
}

#[test]
fn a_mutator_is_refused_after_its_thread_was_detached() {
    for verify in [false, true] {
        let heap = heap(PRECISE.verify(verify));
        let raw = attach(&heap).into_raw();
        // SAFETY: given just above, to this thread.
        drop(unsafe { Attached::from_raw(raw) });
        // SAFETY: the heap keeps a few mutators mapped, which is what makes this answer possible.
        let old = unsafe { raw.as_ref() };
        assert_eq!(old.check(), Err(Misuse::Detached));
        assert_eq!(old.collect(), Err(Misuse::Detached));
        assert_eq!(refused(old, node_type(&heap)), Misuse::Detached);
        old.safepoint_slow();
        assert_eq!(old.blocking(|| unreachable!("not called")), Err::<(), _>(Misuse::Detached));
        // In verify mode the next one has an address of its own.
        let next = attach(&heap);
        assert_eq!(core::ptr::eq(&*next, raw.as_ptr()), !verify);
        assert_eq!(old.check().is_err(), verify);
    }
}

#[test]
fn a_mutator_is_refused_on_another_thread() {
    let heap = heap(PRECISE);
    let mutator = attach(&heap);
    let address = &raw const *mutator as usize;
    let ty = large(&heap);
    std::thread::spawn(move || {
        // SAFETY: the mutator is attached as long as this thread runs; to use it here is the mistake under test.
        let theirs = unsafe { &*(address as *const Mutator) };
        assert_eq!(theirs.check(), Err(Misuse::OtherThread));
        assert_eq!(theirs.collect(), Err(Misuse::OtherThread));
        assert_eq!(refused(theirs, ty), Misuse::OtherThread);
        let scan = slice_scan(&TypeDescriptor::no_pointers(8).unwrap(), 0).unwrap();
        assert_eq!(theirs.types().type_for(64, scan).err(), Some(AllocError::Misuse(Misuse::OtherThread)));
        theirs.safepoint_slow();
        assert_eq!(theirs.blocking(|| unreachable!("not called")), Err::<(), _>(Misuse::OtherThread));
    })
    .join()
    .unwrap();
    mutator.collect().unwrap();
}

#[test]
fn a_thread_is_attached_once() {
    let (one, other) = (heap(PRECISE), heap(PRECISE));
    let (first, second) = (attach(&one), attach(&other));
    assert_eq!(Mutator::attach(&one, None).err(), Some(HeapError::AttachedAlready));
    assert_eq!(Mutator::attach(&other, None).err(), Some(HeapError::AttachedAlready));
    drop(first);
    let again = attach(&one);
    assert_eq!((one.mutators(), other.mutators()), (1, 1));
    drop((second, again));
    assert_eq!((one.mutators(), other.mutators()), (0, 0));
}

/// A thread that ends attached to two heaps, one of which it was detached from and attached to again.
#[test]
fn a_thread_that_ends_attached_is_detached() {
    let (one, other) = (heap(PRECISE), heap(PRECISE));
    for round in 0..20 {
        std::thread::scope(|scope| {
            let (one, other) = (&one, &other);
            let ended = scope.spawn(move || {
                let mutator = attach(one).into_raw();
                let others = forget(other);
                let mut ones = mutator;
                if round % 2 == 0 {
                    // SAFETY: given just above, to this thread.
                    drop(unsafe { Attached::from_raw(mutator) });
                    ones = forget(one);
                }
                for (heap, mutator) in [(one, ones), (other, others)] {
                    // SAFETY: attached just above, until this thread ends.
                    new(unsafe { mutator.as_ref() }, node_type(heap));
                }
            });
            ended.join().unwrap();
        });
        assert_eq!((one.mutators(), other.mutators()), (0, 0));
        // Nobody waits for it.
        attach(&one).collect().unwrap();
        attach(&other).collect().unwrap();
    }
}

/// The calling thread's mutator, which it attaches and forgets.
fn forget(heap: &Heap) -> NonNull<Mutator> {
    let mutator = attach(heap).into_raw();
    assert_eq!(Mutator::attach(heap, None).err(), Some(HeapError::AttachedAlready));
    mutator
}

/// A thread that forgot its attachment, and whose heap is dropped before it ends: what it may still use stays.
#[test]
fn a_heap_outlives_the_thread_that_forgot_to_detach() {
    let thread = std::thread::spawn(|| {
        let heap = heap(PRECISE);
        new(&attach(&heap), node_type(&heap));
        core::mem::forget(attach(&heap));
        drop(heap);
    });
    thread.join().unwrap();
}

/// A stop that waits for a thread that neither polls nor allocates says so, and ends when it polls.
#[test]
#[ignore = "of the long suite: it lasts two seconds"]
fn a_stop_that_waits_names_the_thread() {
    for (mode, config) in [("verify: ", PRECISE.verify(true)), ("", PRECISE.report_wait(1_000_000_000))] {
        let child = Child::new().called(mode).run(|| wait_for_a_thread(config));
        let says = format!("heapwood: {mode}a collection waits for thread ");
        child.well().says(&says).says("for 1 s it has neither polled");
    }
}

fn wait_for_a_thread(config: Config) {
    let heap = heap(config);
    let (ready, started) = channel();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (heap, done) = (&heap, &done);
        scope.spawn(move || {
            let mutator = attach(heap);
            ready.send(()).unwrap();
            // Two seconds without a poll.
            std::thread::sleep(std::time::Duration::from_millis(2_000));
            mutator.safepoint();
            while !done.load(Ordering::SeqCst) {
                mutator.safepoint();
            }
        });
        started.recv().unwrap();
        attach(heap).collect().unwrap();
        done.store(true, Ordering::SeqCst);
    });
}

#[test]
fn a_type_of_another_heap_is_refused_where_the_cells_differ() {
    let (a, b) = (heap(PRECISE), heap(PRECISE));
    let (small, large) = (masked(&a, 5, &[4]), masked(&b, 90, &[0, 70]));
    assert_eq!(small.shape().index(), large.shape().index(), "each is the first of its heap");
    let m = attach(&b);
    // The first makes a run from which the others would be cut.
    let _ = m.allocate(large).unwrap();
    for _ in 0..2 {
        let foreign = std::panic::catch_unwind(core::panic::AssertUnwindSafe(|| m.allocate(small)));
        let said = *foreign.unwrap_err().downcast::<&str>().expect("a sentence");
        assert!(said.contains("another heap's"), "{said}");
    }
    assert!(m.allocate(large).is_ok());
}

#[test]
fn a_guard_that_outlives_its_threads_mutators_does_nothing() {
    let heap = heap(PRECISE);
    let first = Mutator::attach(&heap, None).unwrap().into_raw();
    // SAFETY: what the thread's end would have done before a thread-local guard is dropped; the second comes too late.
    let (ended, late) = unsafe { (Attached::from_raw(first), Attached::from_raw(first)) };
    drop(ended);
    drop(late);
    assert_eq!(heap.mutators(), 0);
    drop(attach(&heap));
}
