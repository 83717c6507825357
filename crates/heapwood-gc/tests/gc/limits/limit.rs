//! A limit on the heap: what does not fit is an error with the right numbers, and the heap goes on after room was
//! made.

use heapwood_gc::settings::options::{Concurrent, Generational};
use heapwood_gc::{AllocError, Config, Heap};
use heapwood_gc_testing::*;
use heapwood_heap::NoRoom;

const LIMIT: usize = 8 << 20;
const LIMITED: Config = PRECISE.limit(LIMIT);

/// Fills the heap with objects of `ty` until it refuses; returns how many fitted and the refusal.
fn fill(heap: &Heap, ty: heapwood_gc::ObjectType, node: bool) -> (usize, AllocError) {
    let mutator = attach(heap);
    let mut roots = Slots::new(heap, 2);
    let holder = masked(heap, 2, &[0, 1]);
    for made in 0.. {
        let next = match mutator.allocate(ty) {
            Ok(object) => object.as_ptr() as usize,
            Err(e) => return (made, e),
        };
        if node {
            put(next, 0, roots.get(0));
            roots.set(0, next);
            continue;
        }
        roots.set(1, next);
        match mutator.allocate(holder) {
            Ok(pair) => {
                let pair = pair.as_ptr() as usize;
                put(pair, 0, roots.get(0));
                put(pair, 1, next);
                roots.set(0, pair);
            }
            Err(e) => return (made, e),
        }
    }
    unreachable!("the heap has a limit")
}

fn refuses_and_recovers(bytes: usize) {
    let heap = heap(LIMITED);
    let small = bytes == 32;
    let ty = if small { node_type(&heap) } else { pointer_free(&heap, bytes) };
    let mut before = 0;
    for round in 0..3 {
        let (made, error) = fill(&heap, ty, small);
        let AllocError::Limit { bytes: asked, limit, live, .. } = error else { panic!("{error}") };
        assert_eq!((asked, limit), (ty.cell_size().unwrap_or(bytes), LIMIT));
        assert!(live <= LIMIT && live >= made.saturating_sub(1) * bytes, "{live} bytes for {made} objects");
        // Close to the limit, but for what is lost at the ends of cells and spans: at most an eighth each.
        assert!(live + bytes + LIMIT / 8 > LIMIT, "only {live} bytes are alive");
        assert!(error.to_string().contains(&format!("limit is {LIMIT} bytes")), "{error}");
        assert!(heap.inspect().stats().in_use_bytes <= LIMIT);
        assert!(round == 0 || made == before, "the same fits again: {before} then {made}");
        before = made;
        let mutator = attach(&heap);
        mutator.collect().unwrap();
        assert_eq!(heap.inspect().stats().live_objects, 0);
        assert_swept_and_valid(&heap);
        assert_eq!(heap.inspect().stats().in_use_bytes, 0);
    }
}

#[test]
fn objects_fit_up_to_the_limit() {
    [32, 3000, 100_000].into_iter().for_each(refuses_and_recovers);
}

#[test]
fn an_object_above_the_limit_or_the_address_range_is_refused() {
    let heap = heap(LIMITED);
    let mutator = attach(&heap);
    let huge = pointer_free(&heap, LIMIT + 1);
    assert_eq!(
        mutator.allocate(huge).unwrap_err(),
        AllocError::Limit {
            bytes: LIMIT + 1,
            limit: LIMIT,
            live: 0,
            arenas: Default::default(),
            external: 0
        }
    );
    assert!(mutator.allocate(pointer_free(&heap, LIMIT)).is_ok());

    let heap = self::heap(PRECISE.address_space(32 << 20));
    let mutator = attach(&heap);
    for bytes in [33 << 20, 1 << 40, isize::MAX as usize] {
        let error = mutator.allocate(pointer_free(&heap, bytes)).unwrap_err();
        assert_eq!(error, AllocError::ReservationFull(NoRoom::new(bytes, 32 << 20)));
    }
    // The first page is never used.
    let all = pointer_free(&heap, (32 << 20) - heapwood_pages::PAGE_SIZE);
    assert!(mutator.allocate(all).is_ok());
    assert!(mutator.allocate(all).is_ok(), "the first is garbage by now");
    assert_swept_and_valid(&heap);
}

#[test]
fn a_full_address_range_is_an_error_and_recovers() {
    let heap = heap(PRECISE.address_space(16 << 20).min_heap(1 << 30));
    for _ in 0..2 {
        let (made, error) = fill(&heap, node_type(&heap), true);
        assert!(matches!(error, AllocError::ReservationFull(e) if e.reservation == 16 << 20), "{error}");
        assert!(made * 32 > 15 << 20, "{made} nodes");
    }
}

/// A list that takes up so many bytes.
fn keep<'h>(heap: &'h Heap, bytes: usize) -> Slots<'h> {
    let mutator = attach(heap);
    let mut roots = Slots::new(heap, 1);
    roots.extend_list(0, &mutator, node_type(heap), bytes / 32, 0);
    roots
}

/// With little of the limit free each full collection brings little, but none of what it brings is refused; and there are
/// no more than that.
#[test]
fn what_a_collection_can_make_room_for_is_never_refused() {
    let limit = 32 << 20;
    for (generational, parts) in
        [(Generational::Off, 20), (Generational::Auto, 20), (Generational::Auto, 100)]
    {
        let heap = heap(PRECISE.limit(limit).generational(generational).concurrent(Concurrent::Off));
        let full = || {
            let stats = heap.inspect().stats();
            (stats.collections - stats.young_collections) as usize
        };
        let kept = keep(&heap, limit - limit / parts);
        let mutator = attach(&heap);
        mutator.collect().unwrap();
        let before = full();
        let garbage = if parts == 100 && !is_thorough() { limit / 4 } else { 2 * limit };
        for made in 0..garbage / 32 {
            let made_room = mutator.allocate(node_type(&heap));
            assert!(made_room.is_ok(), "refused after {made}: {made_room:?}");
        }
        let full = full() - before;
        // One for what is free, which is at least what is not kept without a hundredth.
        let most = garbage / (limit / parts - limit / 400) + 2;
        println!("{generational:?}, 1 of {parts} parts free: {full} full collections, at most {most}");
        assert!(full <= most, "{full} full collections, {most} at most");
        drop(kept);
    }
}

/// Whoever is refused and drops something finds room at once, however much of the time the heap has collected.
#[test]
fn who_drops_something_after_a_refusal_is_not_refused_again() {
    drop_after_refusals(LIMITED, 50);
}

/// The same while a marking goes on beside the program most of the time: one that ends as the allocation fails has kept what was
/// dropped.
#[test]
fn a_marking_that_began_before_the_drop_does_not_count() {
    let beside = PRECISE.limit(4 << 20).concurrent(Concurrent::On).max_pause(0);
    drop_after_refusals(beside, if is_thorough() { 1000 } else { 100 });
}

fn drop_after_refusals(config: Config, times: usize) {
    let heap = heap(config);
    let node = node_type(&heap);
    let mutator = attach(&heap);
    let mut roots = Slots::new(&heap, 1);
    for _ in 0..times {
        while let Ok(object) = mutator.allocate(node) {
            put(object.as_ptr() as usize, 0, roots.get(0));
            roots.set(0, object.as_ptr() as usize);
        }
        if config.concurrent == Concurrent::On {
            let _ = mutator.start_collection();
        }
        roots.set(0, get(roots.get(0), 0));
        let next = mutator.allocate(node).expect("the last object was dropped");
        put(next.as_ptr() as usize, 0, 0);
    }
}

#[test]
fn threads_that_compete_for_what_is_free_are_not_refused() {
    const THREADS: usize = 8;
    let limit = 32 << 20;
    let heap = heap(PRECISE.limit(limit));
    let _kept = keep(&heap, limit / 8 * 5);
    std::thread::scope(|scope| {
        for words in 4..4 + THREADS {
            let heap = &heap;
            scope.spawn(move || {
                let mutator = attach(heap);
                let ty = masked(heap, words, &[0, 1]);
                for _ in 0..if is_thorough() { 2_000_000 } else { 250_000 } {
                    mutator.allocate(ty).unwrap();
                }
            });
        }
    });
    // The last collection by itself may have been a young one, or beside the threads.
    attach(&heap).collect().unwrap();
    assert!(heap.inspect().stats().live_bytes < limit / 8 * 6);
}

/// A large object is due for a collection of everything where it would not fit beside what is old: what it takes the place of may be
/// old and dead.
#[test]
fn large_objects_take_the_place_of_old_ones() {
    let heap = heap(PRECISE.generational(Generational::Always).min_heap(16 << 20));
    let mutator = attach(&heap);
    let (node, large) = (node_type(&heap), pointer_free(&heap, 12 << 20));
    let mut roots = Slots::new(&heap, 1);
    for _ in 0..20 {
        roots.set(0, 0);
        new(&mutator, node);
        roots.set(0, new(&mutator, large));
        mutator.collect_young().unwrap();
    }
    let stats = heap.inspect().stats();
    assert!(stats.committed_bytes <= 20 << 20 && stats.young_collections >= 20, "{stats:?}");
}
