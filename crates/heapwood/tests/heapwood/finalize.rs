//! Values that objects own outside the heap: dropped once, after their objects are dead, on a thread of the program's choice.

use crate::common::*;
use heapwood::{Arena, Gc, Mutator};
use std::sync::Arc;
use std::thread::ThreadId;

/// Notes on which thread it is dropped.
struct Owned(Arc<std::sync::Mutex<Vec<(u64, ThreadId)>>>, u64);

impl Drop for Owned {
    fn drop(&mut self) {
        self.0.lock().unwrap().push((self.1, std::thread::current().id()));
    }
}

/// An object with a value, of which only a root may be left.
#[inline(never)]
fn make(m: &Mutator, dropped: &Owned, value: u64) -> heapwood::Root<u64> {
    let object: Gc<u64> = m.alloc(value);
    let owned = Owned(dropped.0.clone(), value);
    assert!(m.finalize(object, owned).is_ok());
    m.root(object)
}

#[test]
fn values_are_dropped_once_when_their_objects_are_dead_or_the_heap_ends() {
    let heap = heap(SMALL);
    let m = heap.attach().unwrap();
    let log = Arc::default();
    let none = Owned(log, u64::MAX);
    let mut roots: Vec<_> = (0..100).map(|i| make(&m, &none, i)).collect();
    m.collect();
    assert_eq!(heap.drop_finalized(), 0);
    roots.truncate(50);
    scrub();
    m.collect();
    let (queued, other) = (heap.stats().finalizers_queued, heap.clone());
    assert!(queued >= 45, "{queued} of 50: stale words keep the others");
    assert!(none.0.lock().unwrap().is_empty(), "the collector drops nothing");
    let (count, thread) =
        std::thread::spawn(move || (other.drop_finalized(), std::thread::current().id())).join().unwrap();
    assert_eq!((count, heap.drop_finalized()), (queued, 0));
    assert!(none.0.lock().unwrap().iter().all(|&(value, on)| value >= 50 && on == thread));
    assert!(roots.iter().enumerate().all(|(i, root)| *root.get(&m) == i as u64));

    // Of values in arenas none; the value comes back.
    let arena = Arena::new(&m);
    let refused = m.finalize(arena.alloc_gc(7u64), Owned(none.0.clone(), 7));
    let (error, back) = refused.err().unwrap();
    assert!(error.to_string().contains("lies in arena") && back.1 == 7);
    std::mem::forget(back);
    drop(arena);

    drop((roots, m, heap));
    let mut all: Vec<_> = none.0.lock().unwrap().iter().map(|&(value, _)| value).collect();
    all.sort_unstable();
    assert_eq!(all, (0..100).collect::<Vec<_>>());
}
