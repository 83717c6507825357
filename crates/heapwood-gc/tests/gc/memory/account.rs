//! Where memory is: the parts of a heap, also while threads run, and on any thread.

use core::ops::Range;
use core::sync::atomic::{AtomicBool, Ordering};
use heapwood_gc::{Config, Heap, HeapBox, MemoryParts};
use heapwood_gc_testing::*;

const QUIET: Config = FULL.background_release(false).idle_collection(false);
const NODE: usize = 4 * WORD;
const MANY: usize = 100_000;

/// The parts, which add up to what the statistics say is backed.
fn parts(heap: &Heap) -> MemoryParts {
    let parts = account(heap).parts;
    assert_eq!(parts.backed, heap.inspect().stats().backed_bytes);
    parts
}

/// A slot for each of N nodes.
fn nodes(heap: &HeapBox, n: usize) -> Slots<'_> {
    let (mutator, node) = (attach(heap), node_type(heap));
    let mut slots = Slots::new(heap, n);
    (0..n).for_each(|i| slots.set(i, new(&mutator, node)));
    slots
}

/// Threads that run are stopped, by polls or signals, and go on; the heap's own threads release and mark meanwhile.
fn ask_while_threads_run(config: Config) {
    let heap = heap(config);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _ends = Over(|| done.store(true, Ordering::Relaxed));
        for thread in 0..3 {
            let (heap, done) = (&heap, &done);
            scope.spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    build_and_check(heap, thread, 20, 5 + thread);
                }
            });
        }
        let stops = || heap.inspect().stats().collections;
        while stops() < 20 {
            account(&heap);
        }
        let mutator = attach(&heap);
        (0..20).for_each(|_| _ = (account(&heap), mutator.collect()));
    });
    assert_swept_and_valid(&heap);
}

#[test]
fn while_threads_run() {
    // ThreadSanitizer delays signals until their thread makes a system call.
    let by_signals = (!cfg!(heapwood_tsan)).then_some(BY_SIGNALS);
    [PRECISE].into_iter().chain(by_signals).for_each(ask_while_threads_run);
}

/// What the kernel's list of mappings says is resident of these ranges.
fn resident_in(ranges: &[Range<usize>]) -> usize {
    let (mut found, mut counts) = (0, false);
    let number = |hex| usize::from_str_radix(hex, 16).ok();
    for line in std::fs::read_to_string("/proc/self/smaps").unwrap().lines() {
        let mut words = line.split_ascii_whitespace();
        match (words.next().unwrap(), words.next()) {
            ("Rss:", Some(kib)) if counts => found += kib.parse::<usize>().unwrap() << 10,
            (addresses, _) => {
                let ends = addresses.split_once('-').map(|(start, end)| (number(start), number(end)));
                if let Some((Some(start), Some(end))) = ends {
                    counts = ranges.iter().any(|range| range.start < end && start < range.end);
                }
            }
        }
    }
    found
}

/// The sum that the guide gives for what is resident, and the kernel's own.
#[test]
#[ignore = "of the long suite: memory that the kernel counts"]
fn the_kernel_says_the_same() {
    let quiet = |config: Config| config.background_release(false);
    let configs = [PRECISE.mark_threads(2), YOUNG.mask_words(0), PRECISE.verify(true), BY_SIGNALS];
    for config in configs {
        in_child(|| {
            let heap = heap(quiet(config));
            let compare = |of: &str| {
                let (parts, mut mappings) = (account(&heap).parts, Vec::new());
                heap.for_each_mapping(&mut |mapping| mappings.push(mapping));
                assert_eq!(parts.resident, resident_in(&mappings), "{of}: {parts:?}");
                assert_eq!(parts.resident, parts.backed - parts.untouched + parts.surplus + parts.tables);
            };
            compare("a new heap");
            let mut slots = nodes(&heap, MANY);
            compare("a full heap");
            let mutator = attach(&heap);
            mutator.allocate(pointer_free(&heap, 64 << 20)).unwrap();
            (0..MANY).step_by(3).for_each(|i| slots.set(i, 0));
            mutator.collect().unwrap();
            compare("a collected heap");
            heap.memory().release_free();
            compare("a heap that has released what it could");
        });
    }
}

/// It is an error where a collection would be, and none elsewhere.
#[test]
fn it_may_be_asked_on_any_thread() {
    let (heap, other) = (heap(QUIET), heap(QUIET));
    let mutator = attach(&other);
    new(&mutator, node_type(&other));
    parts(&heap);
    mutator
        .blocking(|| {
            assert!(other.memory_account().is_err() && heap.memory_account().is_ok());
            std::thread::scope(|scope| _ = scope.spawn(|| parts(&other)).join().unwrap());
        })
        .unwrap();
    assert_eq!(parts(&other).young, NODE);
}
