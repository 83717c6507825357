//! When there are young collections, and when none: they end where what is made stays alive, and are tried again once the program
//! has allocated much, before any collection of everything. Nothing that was stored meanwhile is lost. By bytes that are
//! counted: these have all the time in the world.

use core::time::Duration;
use heapwood_gc::settings::options::Concurrent;
use heapwood_gc::{Config, slice_scan};
use heapwood_gc_testing::*;
use heapwood_layout::TypeDescriptor;

/// No collection of everything is due in these tests.
const LARGE: Config = PRECISE.min_heap(1 << 30).concurrent(Concurrent::Off);

/// Each of the objects of a list has so many words, the first of which leads to the next.
const WORDS: usize = 1024;

fn play(config: Config) {
    let heap = heap(config);
    heap.set_young_time(Some(Duration::from_secs(3600)));
    let mutator = attach(&heap);
    let (block, node) = (masked(&heap, WORDS, &[0]), node_type(&heap));
    let mut roots = Slots::new(&heap, 2);
    let keep = |roots: &mut Slots<'_>, bytes: usize| {
        for _ in 0..bytes / (WORDS * WORD) {
            let object = new(&mutator, block);
            put(object, 0, roots.get(0));
            put(object, 1, object);
            roots.set(0, object);
        }
    };
    let waste = |bytes: usize| (0..bytes / (WORDS * WORD)).for_each(|_| _ = new(&mutator, block));

    roots.set(1, new(&mutator, node));
    keep(&mut roots, 13 * MIB);
    let stats = heap.inspect().stats();
    assert_eq!((stats.collections, stats.young_collections), (2, 2), "4 and 8 MiB, all of which survived");

    // Nobody remembers this store into an old object; a list of new ones hangs on it alone.
    extend_list(&mutator, node, 1000, 5, |head| {
        head.into_iter().for_each(|head| link(&mutator, roots.get(1), 1, head));
        get(roots.get(1), 1)
    });
    keep(&mut roots, 16 * MIB);
    assert_eq!(heap.inspect().stats().collections, 2, "a rest");
    // It ends 32 MiB after it began, at 44, and one is tried 16 MiB later.
    keep(&mut roots, 35 * MIB);
    let stats = heap.inspect().stats();
    let tries = stats.young_collections;
    assert!(stats.promoted_en_masse == 1 && tries == 4, "everything was promoted, and one tried: {stats:?}");
    check_list(get(roots.get(1), 1), 1000, 5);

    // What is kept no longer: the second rest ends after 64 MiB, and from then on they pay.
    waste(256 * MIB);
    let stats = heap.inspect().stats();
    assert_eq!(stats.promoted_en_masse, 2);
    assert!(stats.young_collections >= tries + 4, "of at most 64 MiB each: {stats:?}");
    assert_eq!(stats.collections, stats.young_collections, "none of everything");
    let most = 64 + 64 + 64;
    assert!(stats.live_bytes < most * MIB, "{} of {most} MiB", stats.live_bytes / MIB);
    check_list(get(roots.get(1), 1), 1000, 5);
    let (mut at, mut kept) = (roots.get(0), 0);
    while at != 0 {
        assert_eq!(get(at, 1), at, "block {kept} from the end");
        (at, kept) = (get(at, 0), kept + 1);
    }
    assert_eq!(kept * WORDS * WORD, 64 * MIB);
    assert_valid(&heap);
}

#[test]
fn young_collections_are_tried_again_after_much_allocation() {
    play(LARGE);
}

#[test]
fn young_collections_are_tried_again_after_much_allocation_in_verify_mode() {
    play(LARGE.verify(true));
}

/// A heap whose next collection is a full one remembers no stores. Who asks for a young one then gets a full one, and from then
/// on young ones.
#[test]
fn small_heaps_remember_stores_if_the_program_asks_for_young_collections() {
    // Also if collections take long and the room grows threefold it is below four MiB, the least for young collections.
    let heap = heap(LARGE.min_heap(1 << 20));
    heap.set_young_time(Some(Duration::from_secs(3600)));
    let mutator = attach(&heap);
    let node = node_type(&heap);
    let mut roots = Slots::new(&heap, 1);
    roots.set(0, new(&mutator, node));
    mutator.collect().unwrap();
    for (round, young) in [0, 1, 2].into_iter().enumerate() {
        extend_list(&mutator, node, 100, round, |head| {
            head.into_iter().for_each(|head| link(&mutator, roots.get(0), 1, head));
            get(roots.get(0), 1)
        });
        mutator.collect_young().unwrap();
        let stats = heap.inspect().stats();
        assert_eq!((stats.collections, stats.young_collections), (2 + round as u64, young), "{stats:?}");
        check_list(get(roots.get(0), 1), 100, round);
        link(&mutator, roots.get(0), 1, 0);
    }
}

/// A young collection has a time limit, also while it scans an array in which it finds no edge: what is left is promoted.
#[test]
fn a_young_collection_leaves_a_wide_array_that_takes_too_long() {
    const MANY: usize = (64 << 20) / WORD;
    // No machine reads the array in 20 us, and none takes an hour for it.
    for (time, promoted) in [(Duration::from_secs(3600), 0), (Duration::from_micros(20), 1)] {
        let heap = heap(LARGE);
        heap.set_young_time(Some(time));
        let mutator = attach(&heap);
        let element = TypeDescriptor::masked(WORD, &[1]).unwrap();
        let array = mutator.types().type_for(MANY * WORD, slice_scan(&element, 0).unwrap()).unwrap();
        let mut roots = Slots::new(&heap, 1);
        roots.set(0, new(&mutator, array));
        // Pages that were never written to would not be scanned.
        (0..MANY).step_by(4096 / WORD).for_each(|i| put(roots.get(0), i, 1));
        mutator.collect_young().unwrap();
        let stats = heap.inspect().stats();
        assert_eq!(
            (stats.young_collections, stats.promoted_en_masse, stats.live_objects),
            (1, promoted, 1),
            "{time:?}: {stats:?}"
        );
    }
}
