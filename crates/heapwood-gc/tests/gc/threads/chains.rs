//! Chains of objects for free lists of the program's own: linked, zero elsewhere, objects like any others.

use core::ptr::NonNull;
use heapwood_gc::{Config, Mutator, ObjectType};
use heapwood_gc_testing::*;

/// The objects of a chain, in order; each has zeros behind its first word, if it may hold pointers.
fn objects(mutator: &Mutator, ty: ObjectType, bytes: usize) -> Vec<usize> {
    let chain = mutator.allocate_chain(ty, bytes).unwrap();
    let (mut at, mut found) = (chain.first.as_ptr() as usize, Vec::new());
    let pointer_free = mutator.find_info(at).unwrap().pointer_free;
    while at != 0 {
        let info = mutator.find_info(at).expect("all are objects");
        assert_eq!((info.base.get(), info.bytes), (at, ty.cell_size().unwrap_or(ty.size())));
        assert!(pointer_free || (1..info.bytes / 8).all(|word| get(at, word) == 0), "a word is not zero");
        found.push(at);
        at = get(at, 0);
    }
    assert_eq!(found.len(), chain.objects);
    assert!(
        found.len() * ty.size() <= bytes.max(ty.cell_size().unwrap_or(ty.size())),
        "more than {bytes} bytes"
    );
    found
}

fn chains_are_objects(config: Config) {
    let heap = heap(config.min_heap(2 << 20));
    let mutator = attach(&heap);
    let mut roots = Slots::new(&heap, 2);
    let types = [16, 32, 48, 600, 40_000].map(ObjectType::conservative);
    let types = types.into_iter().chain([ObjectType::no_pointers(16), ObjectType::no_pointers(200)]);
    for (round, ty) in types.cycle().take(if config.stress { 60 } else { 600 }).enumerate() {
        let bytes = [0, 100, 4096, 1 << 20][round % 4];
        // A collection that comes finds all in the chain, by its first object.
        let allocated = heap.inspect().stats().allocated_bytes;
        let found = objects(&mutator, ty, bytes);
        roots.set(0, found[0]);
        if ty.size() != 200 && ty != ObjectType::no_pointers(16) {
            mutator.collect().unwrap();
            assert!(
                found.iter().all(|&object| mutator.find(object).is_some()),
                "an object of a chain is gone"
            );
            assert!(heap.inspect().stats().allocated_bytes >= allocated);
        }
        // Objects between two chains, and dead cells with words, which chains get later.
        let other = mutator.allocate(ty).unwrap().as_ptr() as usize;
        (0..2).for_each(|word| put(other, word, other));
        roots.set(1, if round % 3 == 0 { other } else { 0 });
        if round % 5 == 0 {
            roots.set(0, 0);
            for &object in &found {
                put(object, 0, 0);
                (0..ty.size() / 8).for_each(|word| put(object, word, found[0]));
                // SAFETY: nothing refers to it but the other objects of the chain, which are freed, too.
                unsafe { mutator.free(NonNull::new(object as *mut u8).unwrap()) }.unwrap();
            }
        }
    }
    drop(mutator);
    assert_swept_and_valid(&heap);
}

#[test]
fn a_chain_has_linked_objects_of_zeros() {
    chains_are_objects(FULL);
    chains_are_objects(FULL.verify(true));
    chains_are_objects(BY_SIGNALS);
    chains_are_objects(FULL.stress(true));
}

/// In a fresh heap chains come one behind the other, without a gap: nothing is taken and left.
#[test]
fn chains_use_their_spans_up() {
    let heap = heap(FULL.min_heap(8 << 20));
    let mutator = attach(&heap);
    let mut all: Vec<usize> =
        (0..64).flat_map(|_| objects(&mutator, ObjectType::conservative(32), 2048)).collect();
    assert_eq!(all.len(), 64 * 64);
    all.sort();
    let gaps = all.windows(2).filter(|pair| pair[1] - pair[0] != 32).count();
    assert!(gaps <= 64 * 2048 / 8192, "{gaps} gaps");
}
