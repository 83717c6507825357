//! What a process has resident: after a spike, and of many small heaps. Each is measured in a process of its own.

mod common;

use common::*;
use heapwood_gc::Config;
use heapwood_os::usage::resident_memory;
use std::time::Duration;

const MIB: usize = 1 << 20;

fn resident() -> usize {
    resident_memory().expect("/proc") as usize
}

fn passes_alone(name: &str) {
    let output = run_alone(name);
    assert!(output.status.success(), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"), "{output:?}");
}

/// A program makes 1 GiB of small objects, drops them, collects once and does nothing any more.
#[test]
fn a_heap_that_was_large_once_goes_back_after_one_collection() {
    passes_alone("child_drops_a_gibibyte");
}

#[test]
#[ignore = "measures its process: run by the test above"]
fn child_drops_a_gibibyte() {
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
    let tenths =
        back.unwrap_or_else(|| panic!("{} MiB after a minute: {:?}", resident() / MIB, heap.stats()));
    println!("{} MiB after {tenths} tenths of a second", resident() / MIB);
    // And it is as good as new.
    for _ in 0..64 * MIB / 64 {
        new(&mutator, node);
    }
}

/// A hundred heaps with 7 KiB in each, as of a program with many isolates, whatever the system says of huge pages.
#[test]
fn a_hundred_small_heaps_are_small() {
    passes_alone("child_has_a_hundred_heaps");
    passes_alone("child_has_a_hundred_heaps_without_huge_pages");
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
        assert_eq!(heaps[i].stats().live_objects, 7 * 1024 / 32);
    }
    let took = resident() - before;
    println!("{took} bytes");
    assert!(took < 20 * MIB, "{took} bytes");
}

#[test]
#[ignore = "measures its process: run by the test above"]
fn child_has_a_hundred_heaps() {
    hundred_heaps(Config::DEFAULT);
}

#[test]
#[ignore = "measures its process: run by the test above"]
fn child_has_a_hundred_heaps_without_huge_pages() {
    hundred_heaps(Config::DEFAULT.huge_pages(false));
}
