//! Memory outside the heap: small objects own large buffers, and the process does not grow. What is counted is bytes and
//! collections.

use core::ptr::NonNull;
use heapwood_gc::settings::options::Concurrent;
use heapwood_gc::{AllocError, Heap, Misuse, Mutator, ObjectType};
use heapwood_gc_testing::*;
use std::collections::HashMap;

const MIB: usize = 1 << 20;
const BUFFER: usize = 256 << 10;

fn stat(heap: &Heap) -> heapwood_gc::Stats {
    heap.inspect().stats()
}

/// Objects of 16 bytes that own a buffer each: their addresses, and its bytes. After each collection the buffers of the dead
/// ones are freed.
struct Owners<'h> {
    heap: &'h Heap,
    ty: ObjectType,
    buffers: HashMap<usize, usize>,
    /// Bytes of all buffers now, and the most there were.
    bytes: usize,
    most: usize,
    collections: u64,
}

impl<'h> Owners<'h> {
    fn new(heap: &'h Heap) -> Self {
        let ty = pointer_free(heap, 16);
        Owners { heap, ty, buffers: HashMap::new(), bytes: 0, most: 0, collections: 0 }
    }

    /// A new one, unless its buffer is refused.
    fn make(&mut self, m: &Mutator, bytes: usize) -> Result<usize, AllocError> {
        m.external(bytes as isize)?;
        (self.bytes, self.most) = (self.bytes + bytes, self.most.max(self.bytes + bytes));
        self.free_the_dead(m);
        let object = new(m, self.ty);
        if let Some(dead) = self.buffers.insert(object, bytes) {
            // The allocation has collected, and reuses the cell of a dead one.
            self.free(m, dead);
        }
        self.free_the_dead(m);
        Ok(object)
    }

    fn free(&mut self, m: &Mutator, bytes: usize) {
        m.external(-(bytes as isize)).unwrap();
        self.bytes -= bytes;
    }

    fn free_the_dead(&mut self, m: &Mutator) {
        let now = stat(self.heap).collections;
        if core::mem::replace(&mut self.collections, now) == now {
            return;
        }
        let is_alive = |object: usize| m.find(object).is_some_and(|found| found.base.get() == object);
        let dead: Vec<usize> = self.buffers.keys().copied().filter(|&object| !is_alive(object)).collect();
        for object in dead {
            let bytes = self.buffers.remove(&object).unwrap();
            self.free(m, bytes);
        }
    }
}

/// Makes owners of buffers of so many bytes, of which the last eight are alive, and some made at the start; returns the most
/// bytes that their buffers had at once.
fn churn(heap: &Heap, made: usize, buffer: usize) -> usize {
    let m = attach(heap);
    let (mut owners, mut roots) = (Owners::new(heap), Slots::new(heap, 8));
    let mut old = Slots::new(heap, 4);
    for i in 0..4 {
        let object = owners.make(&m, buffer).unwrap();
        old.set(i, object);
    }
    for i in 0..made {
        let object = owners.make(&m, buffer).unwrap();
        roots.set(i % 8, object);
    }
    assert_eq!(stat(heap).external_bytes, owners.bytes);
    for slots in [&roots, &old] {
        (0..4).for_each(|i| {
            assert!(owners.buffers.contains_key(&slots.get(i)), "a live one's buffer was freed")
        });
    }
    m.collect().unwrap();
    owners.free_the_dead(&m);
    assert_eq!(owners.bytes, 12 * buffer);
    owners.most
}

#[test]
fn dead_owners_do_not_make_the_process_grow() {
    // 500 MiB of buffers, of which 3 MiB are alive, owned by 32 KB of objects.
    let heap = heap(FULL.concurrent(Concurrent::Off).background_release(false));
    heap.pace_by_bytes();
    let most = churn(&heap, 2000, BUFFER);
    assert!(most <= 12 * MIB, "{most} bytes at once");
    let collections = stat(&heap).collections;
    assert!((40..=600).contains(&collections), "{collections} collections");
}

#[test]
fn buffers_of_young_objects_are_freed_by_young_collections() {
    let heap = heap(YOUNG.concurrent(Concurrent::Off).min_heap(32 * MIB).background_release(false));
    heap.pace_by_bytes();
    let most = churn(&heap, 20_000, BUFFER / 16);
    assert!(most <= 16 * MIB, "{most} bytes at once");
    let stats = stat(&heap);
    let full = stats.collections - stats.young_collections;
    assert!(stats.young_collections >= 30 && full <= 5, "{} young, {full} full", stats.young_collections);
}

#[test]
fn a_limit_bounds_objects_and_buffers_together() {
    const LIMIT: usize = 8 * MIB;
    let heap = heap(FULL.limit(LIMIT).concurrent(Concurrent::Off));
    let most = churn(&heap, 1000, BUFFER);
    assert!(most <= LIMIT, "{most} bytes at once");
    assert!(stat(&heap).collections >= 1000 * BUFFER as u64 / LIMIT as u64);

    // The other way round: the heap's pages leave no room for buffers, and these none for objects.
    let m = attach(&heap);
    m.external(-((12 * BUFFER) as isize)).unwrap();
    let mut roots = Slots::new(&heap, 2);
    roots.set(0, new(&m, pointer_free(&heap, 3 * MIB)));
    m.external(4 * MIB as isize).unwrap();
    let before = stat(&heap);
    let refused = m.external(2 * MIB as isize).unwrap_err();
    let AllocError::Limit { bytes, limit, live, external, .. } = refused else { panic!("{refused}") };
    assert_eq!((bytes, limit, live, external), (2 * MIB, LIMIT, 3 * MIB, 4 * MIB));
    assert!(refused.to_string().contains("4194304 are outside the heap; raise the limit"), "{refused}");
    let after = stat(&heap);
    assert_eq!(after.external_bytes, 4 * MIB);
    assert!(after.collections > before.collections, "a collection came first");
    let refused = m.allocate(pointer_free(&heap, 2 * MIB)).unwrap_err();
    assert!(matches!(refused, AllocError::Limit { external: e, .. } if e == 4 * MIB), "{refused}");
    // To the byte: what is left is counted, and no more.
    let left = LIMIT - stat(&heap).in_use_bytes - 4 * MIB;
    m.external(left as isize).unwrap();
    assert!(m.external(1).is_err());
    // Room comes from either.
    roots.set(0, 0);
    m.external(2 * MIB as isize).unwrap();
    m.external(-(6 * MIB as isize + left as isize)).unwrap();
    assert!(m.allocate(pointer_free(&heap, 7 * MIB)).is_ok());
}

#[test]
fn what_comes_and_goes_makes_no_collection_due() {
    let heap = heap(FULL);
    let m = attach(&heap);
    for _ in 0..1000 {
        m.external(MIB as isize).unwrap();
        m.external(-(MIB as isize)).unwrap();
    }
    let stats = stat(&heap);
    assert_eq!((stats.collections, stats.external_bytes), (0, 0));
}

#[test]
fn what_cannot_be_is_refused_and_changes_nothing() {
    let heap = heap(FULL);
    let m = attach(&heap);
    m.external(1000).unwrap();
    m.external(0).unwrap();
    let refused = |change| m.external(change).unwrap_err().to_string();
    for less in [-1001, isize::MIN] {
        let text = refused(less);
        assert!(text.contains("are given back, and 1000 are counted"), "{text}");
    }
    let text = refused(isize::MAX);
    assert!(text.contains("more than memory can hold, beside the 1000"), "{text}");
    let blocked = m.blocking(|| (m.external(1), m.external(-1))).unwrap();
    let misuse = Err(AllocError::Misuse(Misuse::InNative));
    assert_eq!(blocked, (misuse, misuse));
    let address = &raw const *m as usize;
    std::thread::scope(|scope| {
        let other = scope.spawn(move || {
            // SAFETY: the mutator exists, and refuses other threads.
            let m = unsafe { &*(address as *const Mutator) };
            (m.external(1), m.external(-1))
        });
        let misuse = Err(AllocError::Misuse(Misuse::OtherThread));
        assert_eq!(other.join().unwrap(), (misuse, misuse));
    });
    assert_eq!(stat(&heap).external_bytes, 1000);
    m.external(isize::MAX - 1000).unwrap();
    assert!(m.external(1).is_err());
    m.external(-isize::MAX).unwrap();
    assert_eq!(stat(&heap).external_bytes, 0);
}

/// What a heap may have outside grows with what is alive there: 400 MiB need no collection each 4 MiB.
#[test]
fn room_is_a_part_of_what_is_alive_outside() {
    let heap = heap(FULL.concurrent(Concurrent::Off));
    let m = attach(&heap);
    m.external(400 * MIB as isize).unwrap();
    m.collect().unwrap();
    let before = stat(&heap).collections;
    for _ in 0..2 * 400 {
        m.external(MIB as isize).unwrap();
    }
    let collections = stat(&heap).collections - before;
    assert!((1..=10).contains(&collections), "{collections} collections while it grew from 400 to 1200 MiB");
    assert!(stat(&heap).goal_bytes < 1200 * MIB, "the goal is no more than what is alive and its room");
}

/// Small objects with a link or a finaliser each: the entries are ten times the objects, and are counted as memory that these own.
#[test]
fn entries_of_links_and_finalizers_use_up_the_budget() {
    for config in [FULL, YOUNG] {
        let heap = heap(config.concurrent(Concurrent::Off).min_heap(4 * MIB).background_release(false));
        heap.pace_by_bytes();
        let (m, ty) = (attach(&heap), pointer_free(&heap, 16));
        let mut most = 0;
        let mut slots = vec![0usize; 400_000];
        for slot in &mut slots {
            let object = NonNull::new(new(&m, ty) as *mut u8).unwrap();
            // SAFETY: the slots outlive their links: no object is alive when the heap ends.
            unsafe { m.add_link(slot, object, false) }.unwrap();
            *slot = object.as_ptr() as usize;
            most = most.max(heap.links());
        }
        assert!(most <= 200_000, "{most} links at once");
        most = 0;
        for tag in 0..400_000 {
            m.finalize_data(NonNull::new(new(&m, ty) as *mut u8).unwrap(), Default::default(), tag).unwrap();
            most = most.max(heap.finalizers().0);
            while heap.next_finalized_data(Default::default()).unwrap().is_some() {}
        }
        assert!(most <= 70_000, "{most} finalisers at once");
        assert_eq!(stat(&heap).external_bytes, 0, "nobody told of any");
        m.collect().unwrap();
        assert_eq!((heap.links(), heap.finalizers().0), (0, 0));
    }
}
