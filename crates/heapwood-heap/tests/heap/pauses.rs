//! What a pause looks at besides marking and roots: counted, not timed. It depends on what was made since the last
//! collection, on the spans that mutators allocate from, and on shapes; not on the heap's size.

use crate::space::{CONFIG, Heap};
use heapwood_heap::{Collection, MAX_SMALL, SpaceConfig};
use heapwood_layout::TypeDescriptor;

const MIB: usize = 1 << 20;

/// A heap with so many bytes of old objects, a quarter of them large.
fn heap_with_old(bytes: usize) -> (Heap, Vec<usize>) {
    let heap = Heap::new(SpaceConfig { reservation: 1 << 30, ..CONFIG });
    let sizes = [800, 5000, MAX_SMALL, 100_000];
    let shapes = sizes.map(|bytes| heap.shape(bytes, TypeDescriptor::no_pointers(bytes).unwrap()));
    let mut old = Vec::new();
    for (shape, size) in shapes.into_iter().zip(sizes) {
        let objects = 0..bytes / sizes.len() / size;
        old.extend(objects.map(|_| heap.allocate(shape, size).unwrap()));
    }
    // Twice, so that sweeps have seen the large ones.
    (0..2).for_each(|_| heap.cycle(old.iter().copied()));
    heap.space.finish_sweep();
    (heap, old)
}

/// Makes half a MiB of objects, large ones among them; returns those.
fn make_young(heap: &Heap) -> Vec<usize> {
    let sizes = [800, 100_000];
    let shapes = sizes.map(|bytes| heap.shape(bytes, TypeDescriptor::no_pointers(bytes).unwrap()));
    let objects =
        |at: usize| (0..MIB / 4 / sizes[at]).map(move |_| heap.allocate(shapes[at], sizes[at]).unwrap());
    objects(0).chain(objects(1)).collect()
}

/// What the pause that begins a concurrent marking looks at, and the one that ends it.
fn visited(old_bytes: usize) -> [usize; 2] {
    let (heap, old) = heap_with_old(old_bytes);
    let owners = || std::iter::once_with(|| heap.owner());
    let young = make_young(&heap);
    heap.owner().publish();
    let first = {
        let stopped = heap.stopped();
        assert_eq!(stopped.promote(owners()).0, young.len());
        stopped.begin_marking();
        stopped.end_marking(Collection::Young, owners(), usize::MAX, 0);
        stopped.visited()
    };
    let mut live: Vec<usize> = old.into_iter().chain(young).collect();
    heap.space.finish_sweep();
    let since = make_young(&heap);
    heap.owner().publish();
    let last = {
        let stopped = heap.stopped();
        let marks = stopped.mark_side(Collection::Full);
        // SAFETY: objects of this space; one thread.
        live.iter().for_each(|&object| assert!(unsafe { marks.set(object) }));
        let before = stopped.visited();
        assert_eq!(stopped.promote_marked(owners()).0, since.len());
        stopped.note_large_survivors();
        stopped.end_marking(Collection::Full, owners(), usize::MAX, 0);
        stopped.visited() - before
    };
    live.extend(since);
    heap.space.finish_sweep();
    heap.check().unwrap();
    live.sort_unstable();
    assert!(heap.objects().into_keys().eq(live), "the same objects exist");
    [first, last]
}

#[test]
fn what_pauses_look_at_does_not_grow_with_the_heap() {
    let (small, large) = (visited(16 * MIB), visited(256 * MIB));
    for (small, large) in small.into_iter().zip(large) {
        // The spans in hand may have other numbers of pages; a MiB more would be a hundred words and more.
        assert!(large <= small + 16, "{small} words of a heap of 16 MiB, {large} of one of 256 MiB");
        assert!((100..2000).contains(&small), "{small}");
    }
}
