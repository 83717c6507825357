//! What a process has resident: after a spike, and of many small heaps. Each is measured in a process of its own.

use heapwood_gc::Config;
use heapwood_gc::settings::options::Concurrent;
use heapwood_gc_testing::*;
use std::time::Duration;

/// A program makes 1 GiB of small objects, drops them, collects once and does nothing any more.
#[test]
#[ignore = "of the long suite: memory that the kernel counts"]
fn a_heap_that_was_large_once_goes_back_after_one_collection() {
    in_child(|| {
        // One word on this stack would keep all of the list.
        let heap = heap(Config::DEFAULT.conservative_stacks(false));
        let mutator = attach(&heap);
        let node = masked(&heap, 8, &[0]);
        a_dropped_gibibyte(&heap, &mutator);
        assert!(resident() > 1024 * MIB);
        mutator.collect().unwrap();
        // Ten seconds is what is promised; a machine under load may take longer.
        let back = (0..600).find(|_| {
            std::thread::sleep(Duration::from_millis(100));
            resident() < 64 * MIB
        });
        let tenths = back.unwrap_or_else(|| {
            panic!("{} MiB after a minute: {:?}", resident() / MIB, heap.inspect().stats())
        });
        println!("{} MiB after {tenths} tenths of a second", resident() / MIB);
        // And it is as good as new.
        for _ in 0..64 * MIB / 64 {
            new(&mutator, node);
        }
    });
}

/// A program of which one object in eight takes the place of an older one, anywhere, while others of another type all stay: an
/// index, for example, and its keys. So there is always room in older spans, in nearly all of them; pages that are set aside
/// because the other type needs them are not for new ones. (A marking beside the program keeps what is dropped meanwhile, and takes a
/// third more here.)
#[test]
#[ignore = "of the long suite: a bound on bytes, where the clock decides when it is collected"]
fn what_scattered_survivors_leave_is_used() {
    const LIVE: usize = 256 << 10;
    const BYTES: usize = 64;
    let heap = heap(FULL.concurrent(Concurrent::Off));
    let mutator = attach(&heap);
    let (node, key) = (masked(&heap, BYTES / WORD, &[0]), node_type(&heap));
    let mut roots = Slots::new(&heap, LIVE + 1);
    (0..LIVE).for_each(|i| roots.set(i, new(&mutator, node)));
    let mut rng = Rng::new(1);
    for step in 0..LIVE * 32 {
        if step.is_multiple_of(64) {
            let key = new(&mutator, key);
            put(key, 0, roots.get(LIVE));
            roots.set(LIVE, key);
        }
        let object = new(&mutator, node);
        if rng.one_in(8) {
            roots.set(rng.below(LIVE), object);
        }
    }
    let stats = heap.inspect().stats();
    assert!(stats.collections > 10, "{stats:?}");
    let held = stats.committed_bytes;
    println!("{} MiB for {} MiB", held / MIB, LIVE * BYTES / MIB);
    // At most two and a half times of what is alive may be allocated between collections.
    assert!(held < LIVE * BYTES * 7 / 2, "{held}: {stats:?}");
}

/// A hundred heaps with 7 KiB in each, as of a program with many isolates, whatever the system says of huge pages.
#[test]
#[ignore = "of the long suite: memory that the kernel counts"]
fn a_hundred_small_heaps_are_small() {
    for huge_pages in [true, false] {
        Child::new().called(huge_pages).run(|| hundred_heaps(Config::DEFAULT.huge_pages(huge_pages))).well();
    }
}

fn hundred_heaps(config: Config) {
    let before = resident();
    let heaps: Vec<_> = (0..100).map(|_| heap(config)).collect();
    let mutators: Vec<_> = heaps.iter().map(|heap| attach(heap)).collect();
    let mut roots: Vec<_> = heaps.iter().map(|heap| Slots::new(heap, 1)).collect();
    for (i, mutator) in mutators.iter().enumerate() {
        let node = node_type(&heaps[i]);
        for _ in 0..7 * 1024 / 32 {
            let object = new(mutator, node);
            put(object, 0, roots[i].get(0));
            roots[i].set(0, object);
        }
        mutator.collect().unwrap();
        assert_eq!(heaps[i].inspect().stats().live_objects, 7 * 1024 / 32);
    }
    let took = resident() - before;
    println!("{took} bytes");
    assert!(took < 20 * MIB, "{took} bytes");
}
