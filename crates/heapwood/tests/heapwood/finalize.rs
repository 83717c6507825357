//! Values that objects own outside the heap: dropped once, after their objects are dead, on a thread of the program's choice.

use crate::common::*;
use heapwood::{Arena, DropQueue, Finalized, Gc, Heap, Mutator, Refusal, Root};
use std::sync::Arc;
use std::thread::ThreadId;

/// Notes on which thread it is dropped.
struct Owned(Arc<std::sync::Mutex<Vec<(u64, ThreadId)>>>, u64);

impl Drop for Owned {
    fn drop(&mut self) {
        self.0.lock().unwrap().push((self.1, std::thread::current().id()));
    }
}

/// Dead objects with values.
#[inline(never)]
fn forget(m: &Mutator, dropped: &Owned, objects: u64) {
    for value in 0..objects {
        let object: Gc<u64> = m.alloc(value);
        assert!(m.finalize(object, Owned(dropped.0.clone(), value)).is_ok());
    }
}

#[test]
fn any_object_has_a_value_that_is_dropped_after_it_but_not_one_in_an_arena() {
    let heap = heap(SMALL);
    let m = heap.attach().unwrap();
    let log = Owned(Arc::default(), u64::MAX);
    forget(&m, &log, 50);
    scrub();
    m.collect();
    let count = heap.drop_finalized();
    assert!(
        count >= 45 && log.0.lock().unwrap().len() == count,
        "{count} of 50: stale words keep the others"
    );

    let arena = Arena::new(&m);
    let refused = m.finalize(arena.alloc_gc(7u64), Owned(log.0.clone(), 7));
    let (error, back) = refused.err().unwrap();
    assert!(error.to_string().contains("lies in arena") && back.1 == 7);
    std::mem::forget(back);
    drop(arena);

    drop((m, heap));
    let mut all: Vec<_> = log.0.lock().unwrap().iter().map(|&(value, _)| value).collect();
    all.sort_unstable();
    assert_eq!(all, (0..50).collect::<Vec<_>>());
}

/// An object that owns a value, of which only a root may be left.
#[inline(never)]
fn own(m: &Mutator, queue: Option<&DropQueue>, dropped: &Owned, value: u64) -> Root<Finalized<Owned>> {
    let owned = Owned(dropped.0.clone(), value);
    let made = match queue {
        Some(queue) => queue.alloc(m, owned),
        None => m.alloc_finalized(owned),
    };
    m.root(made.map_err(|(error, _)| error).unwrap())
}

fn dropped(log: &Owned) -> Vec<(u64, ThreadId)> {
    core::mem::take(&mut *log.0.lock().unwrap())
}

/// Dropped on another thread, which may be attached or not.
fn drop_elsewhere(heap: &Heap, attached: bool) -> (usize, ThreadId) {
    let heap = heap.clone();
    let thread = move || {
        let _attached = attached.then(|| heap.attach().unwrap());
        (heap.drop_finalized(), std::thread::current().id())
    };
    std::thread::spawn(thread).join().unwrap()
}

#[test]
fn what_an_object_owns_is_used_and_dropped_on_a_thread_that_the_program_chooses() {
    for (config, attached) in [(SMALL, false), (SMALL, true), (VERIFY, false), (STRESS, true)] {
        let heap = heap(config);
        let m = heap.attach().unwrap();
        let log = Owned(Arc::default(), u64::MAX);
        let mut roots: Vec<_> = (0..100).map(|i| own(&m, None, &log, i)).collect();
        m.collect();
        assert_eq!((heap.drop_finalized(), dropped(&log).len()), (0, 0));
        assert!(roots.iter().enumerate().all(|(i, root)| root.get(&m).1 == i as u64));
        roots.truncate(50);
        scrub();
        m.collect();
        (0..1000).for_each(|i| _ = m.alloc(i as u64));
        let queued = heap.stats().finalizers_queued;
        assert!(queued >= 45, "{queued} of 50: stale words keep the others");
        let (count, thread) = m.blocking(|| drop_elsewhere(&heap, attached));
        let all = dropped(&log);
        assert!(
            count >= queued
                && all.len() == count
                && all.iter().all(|&(value, on)| value >= 50 && on == thread)
        );
        assert!(roots.iter().enumerate().all(|(i, root)| root.get(&m).1 == i as u64));
        drop((roots, m, heap));
        let mut rest: Vec<_> = all.into_iter().chain(dropped(&log)).map(|(value, _)| value).collect();
        rest.sort_unstable();
        assert_eq!(rest, (0..100).collect::<Vec<_>>(), "each is dropped once, with the heap at the latest");
    }
}

#[test]
fn a_reference_to_what_an_object_owns_keeps_it() {
    let heap = heap(STRESS);
    let m = heap.attach().unwrap();
    let log = Owned(Arc::default(), u64::MAX);
    let object = m.alloc_finalized(Owned(log.0.clone(), 7)).map_err(|(error, _)| error).unwrap();
    let value: &Owned = &object;
    for i in 0..100 {
        m.alloc(i as u64);
        assert_eq!(heap.drop_finalized(), 0);
    }
    assert_eq!((value.1, dropped(&log).len()), (7, 0));
}

#[test]
fn queues_are_emptied_apart() {
    let heap = heap(SMALL);
    let m = heap.attach().unwrap();
    let log = Owned(Arc::default(), u64::MAX);
    let (queue, other) = (heap.drop_queue().unwrap(), heap.drop_queue().unwrap());
    (0..20).for_each(|i| drop(own(&m, Some(&queue), &log, i)));
    (20..40).for_each(|i| drop(own(&m, Some(&other), &log, i)));
    let object = m.alloc(1u64);
    assert!(other.finalize(&m, object, Owned(log.0.clone(), 40)).is_ok());
    let waits = std::thread::spawn(move || {
        assert_eq!(queue.wait(None), Ok(true));
        (queue.drop_finalized(), queue)
    });
    scrub();
    m.collect();
    let (first, queue) = m.blocking(|| waits.join().unwrap());
    assert!(first >= 15 && dropped(&log).iter().all(|&(value, _)| value < 20));
    assert_eq!(queue.wait(Some(core::time::Duration::ZERO)), Ok(false));
    assert!(queue.fd().unwrap() >= 0);
    // What is left of a queue that goes is the heap's.
    assert_eq!(heap.drop_finalized(), 0);
    drop(other);
    let second = heap.drop_finalized();
    assert!(second >= 15 && dropped(&log).iter().all(|&(value, _)| value >= 20));
    drop((queue, m, heap));
    assert_eq!(first + second + dropped(&log).len(), 41);
}

#[test]
#[should_panic = "the queue is another heap's"]
fn a_queue_of_another_heap_is_refused() {
    let (heap, theirs) = (heap(SMALL), heap(SMALL));
    let queue = theirs.drop_queue().unwrap();
    let _: Result<_, (Refusal, u8)> = queue.alloc(&heap.attach().unwrap(), 7u8);
}
