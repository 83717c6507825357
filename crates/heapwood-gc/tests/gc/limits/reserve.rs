//! Reserves: so many bytes cannot fail, though the heap is full; and no byte more is promised.

use heapwood_gc::settings::options::{Concurrent, Generational};
use heapwood_gc::{AllocError, Config, Mutator};
use heapwood_gc_testing::*;

const RESERVE: usize = 1 << 20;

/// Fills the heap until there is no room without the reserve.
fn fill(mutator: &Mutator, roots: &mut Slots<'_>) {
    let node = node_type(mutator.heap());
    while mutator.reserved_bytes() != 0 {
        let object = new(mutator, node);
        put(object, 0, roots.get(0));
        roots.set(0, object);
    }
}

/// After the first allocation that has taken the reserve all others go well, until they are as many as were reserved.
pub(crate) fn play(config: Config, fault: impl Fn(&Mutator)) -> Result<(), String> {
    let heap = heap(config.limit(8 << 20));
    let mutator = attach(&heap);
    fault(&mutator);
    let (node, pair) = (node_type(&heap), masked(&heap, 2, &[0]));
    let mut roots = Slots::new(&heap, 2);
    for round in 0..3 {
        mutator.reserve_bytes(RESERVE).map_err(|e| format!("no reserve in round {round}: {e}"))?;
        assert_eq!(mutator.reserve_bytes(RESERVE), Ok(()));
        fill(&mutator, &mut roots);
        assert!(matches!(mutator.reserve_bytes(RESERVE), Err(AllocError::Limit { .. })));
        // Two layouts, a span of each, and one large object.
        let mut bytes = 2 * (128 << 10);
        let mut kept = 0;
        let large = mutator.allocate(pointer_free(&heap, RESERVE / 4)).map_err(|e| e.to_string())?;
        roots.set(1, large.as_ptr() as usize);
        bytes += RESERVE / 4 + 8192;
        while bytes + 48 < RESERVE {
            for (ty, size) in [(node, 32), (pair, 16)] {
                let object = mutator.allocate(ty).map_err(|e| format!("{bytes} of {RESERVE} bytes: {e}"))?;
                put(object.as_ptr() as usize, 0, roots.get(0));
                roots.set(0, object.as_ptr() as usize);
                bytes += size;
                kept += 1;
            }
        }
        assert!(kept > 0);
        (0..2).for_each(|i| roots.set(i, 0));
        mutator.collect().unwrap();
    }
    mutator.reserve_bytes(0).unwrap();
    mutator.collect().unwrap();
    assert_eq!((heap.inspect().stats().live_objects, mutator.reserved_bytes()), (0, 0));
    mutator.reserve_bytes(RESERVE).unwrap();
    drop(mutator);
    let mutator = attach(&heap);
    mutator.collect().unwrap();
    assert_eq!(heap.inspect().stats().live_objects, 0, "who leaves gives it back");
    assert_valid(&heap);
    Ok(())
}

pub(crate) const PLAYED: [Config; 3] = [
    FULL.concurrent(Concurrent::Off),
    YOUNG.verify(true),
    PRECISE.generational(Generational::Always).concurrent(Concurrent::Always),
];

#[test]
fn what_is_reserved_cannot_fail() {
    for config in PLAYED {
        play(config, |_| ()).unwrap();
    }
}

#[test]
fn a_reserve_that_there_is_no_room_for_is_refused() {
    let heap = heap(FULL.limit(8 << 20));
    let mutator = attach(&heap);
    assert!(matches!(mutator.reserve_bytes(9 << 20), Err(AllocError::Limit { .. })));
    assert_eq!((mutator.reserved_bytes(), mutator.reserve_bytes(1)), (0, Ok(())));
    mutator.blocking(|| assert!(mutator.reserve_bytes(5).is_err())).unwrap();
    assert_eq!(mutator.reserved_bytes(), 1);
}
