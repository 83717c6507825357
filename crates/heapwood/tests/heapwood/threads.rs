//! Threads: attaching and detaching, blocking, callbacks, and stacks of their own.

use crate::common::*;
use heapwood::{Config, HeapError};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

#[test]
fn a_panic_ends_a_blocking_region() {
    let heap = heap(SMALL);
    let m = heap.attach().unwrap();
    let kept = list(&m, 100);
    assert_eq!(panic_message(|| m.blocking(|| panic!("interrupted"))), "interrupted");
    m.collect();
    assert_list(kept, 100);
    m.blocking(|| {
        let theirs = heap.clone();
        thread::spawn(move || theirs.attach().unwrap().collect()).join().unwrap();
    });
    assert_eq!(heap.stats().collections, 2);
}

#[test]
fn a_thread_is_attached_to_a_heap_once_at_a_time() {
    let (one, other) = (heap(SMALL), heap(SMALL));
    let m = one.attach().unwrap();
    let again = one.clone().attach().unwrap_err();
    assert_eq!(again, HeapError::AttachedAlready);
    assert!(again.to_string().contains("call with_mutator"), "{again}");
    // To another heap it can be, and to this one again later.
    let theirs = other.attach().unwrap();
    theirs.collect();
    m.collect();
    drop((m, theirs));
    one.attach().unwrap().collect();
    assert_eq!((one.stats().collections, other.stats().collections), (2, 1));
}

/// Calls `f` on a stack of its own.
#[cfg(target_arch = "x86_64")]
fn on_another_stack(f: &mut dyn FnMut()) {
    on_stack(&mut vec![0u128; 1 << 16], f);
}

#[test]
#[cfg(target_arch = "x86_64")]
fn a_collection_on_an_unknown_stack_is_an_error() {
    let heap = heap(Config::default());
    let m = heap.attach().unwrap();
    let words = |f: &dyn Fn()| {
        let mut words = String::new();
        on_another_stack(&mut || {
            let thrown = std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).unwrap_err();
            words = thrown.downcast_ref::<String>().cloned().unwrap_or_default();
        });
        words
    };
    assert!(words(&|| m.collect()).contains("the thread runs on another stack"));
    assert!(words(&|| m.blocking(|| ())).contains("the thread runs on another stack"));
    // Polls and allocations that need no collection go on there, and on the thread's own stack all does.
    on_another_stack(&mut || {
        m.safepoint();
        assert_eq!(*m.alloc(7u64), 7);
    });
    m.collect();
    m.blocking(|| ());
}

#[test]
fn a_callback_attaches_its_thread_for_the_call() {
    let heap = heap(VERIFY);
    for _ in 0..3 {
        let length = heap.with_mutator(|m| {
            let kept = list(m, 100);
            // The same mutator, in a call inside the call.
            heap.with_mutator(|inner| assert!(std::ptr::eq(inner, m))).unwrap();
            m.collect();
            assert_list(kept, 100);
            heap.stats().threads
        });
        assert_eq!((length.unwrap(), heap.stats().threads), (1, 0));
    }
    let m = heap.attach().unwrap();
    heap.with_mutator(|same| assert!(std::ptr::eq(same, &*m))).unwrap();
    assert_eq!(heap.stats().threads, 1);
    let theirs = heap.clone();
    let thread = thread::spawn(move || theirs.with_mutator(|m| *m.alloc(7u64)).unwrap());
    assert_eq!(m.blocking(|| thread.join()).unwrap(), 7);
}

#[test]
fn a_mutator_stays_attached_while_a_callback_uses_it() {
    let heap = heap(VERIFY);
    let m = heap.attach().unwrap();
    heap.with_mutator(|used| {
        drop(m);
        let kept = list(used, 100);
        used.collect();
        assert_list(kept, 100);
        heap.with_mutator(|same| same.collect()).unwrap();
        assert_eq!(heap.stats().threads, 1);
    })
    .unwrap();
    assert_eq!(heap.stats().threads, 0);
    heap.attach().unwrap().collect();
}

#[test]
#[cfg(target_arch = "x86_64")]
fn announced_stacks_are_scanned() {
    for stop in [heapwood::Stop::Polls, heapwood::Stop::Signals] {
        let heap = heap(VERIFY.stop(stop));
        let m = heap.attach().unwrap();
        let mut memory = vec![0u128; 1 << 16];
        let range = memory.as_mut_ptr_range();
        // SAFETY: the memory is used until the end of the turn.
        let stack = unsafe { heap.add_stack(range.start.cast()..range.end.cast()) }.unwrap();
        let (own, ended) = (list(&m, 100), AtomicBool::new(false));
        let mut on_it = || {
            let theirs = list(&m, 200);
            for _ in 0..3 {
                m.collect();
                m.blocking(scrub);
            }
            assert_list(own, 100);
            assert_list(theirs, 200);
            // SAFETY: the thread returns to its own stack next.
            unsafe { m.announce_stack(None, (&raw const theirs).cast()) }.unwrap();
        };
        thread::scope(|scope| {
            let collector = scope.spawn(|| {
                let m = heap.attach().unwrap();
                while !ended.load(Ordering::Relaxed) {
                    m.collect();
                }
            });
            for _ in 0..20 {
                // SAFETY: `on_it` announces the way back.
                unsafe { m.switch_stack(Some(&stack), || on_stack(&mut memory, &mut on_it)) }.unwrap();
                m.collect();
                assert_list(own, 100);
            }
            ended.store(true, Ordering::Relaxed);
            m.blocking(|| collector.join()).unwrap();
        });
        let other = crate::common::heap(VERIFY);
        let theirs = other.attach().unwrap();
        // SAFETY: it is refused, and nothing is jumped to.
        let refused = panic_message(|| unsafe { theirs.switch_stack(Some(&stack), || ()) }.unwrap());
        assert!(refused.contains("another heap"), "{refused}");
        // SAFETY: it stays where it is, and the memory outlives the heap's last collection.
        unsafe { m.announce_stack(Some(&stack), (&raw const refused).cast()) }.unwrap();
        let refused = panic_message(|| drop(stack));
        assert!(refused.contains("a thread is on the stack"), "{refused}");
    }
}
