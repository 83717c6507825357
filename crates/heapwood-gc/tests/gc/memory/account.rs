//! Where memory is: the parts of programs of several shapes, whose objects the tests count themselves, and the kernel's
//! own list of mappings. Nobody sweeps or releases beside the tests, so that a part is what they have left.

use core::ops::Range;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use heapwood_gc::settings::options::Concurrent;
use heapwood_gc::{ClassParts, Config, Heap, HeapBox, MemoryAccount, MemoryParts};
use heapwood_gc_testing::*;
use heapwood_heap::ArenaKind;
use heapwood_os_testing::recording::Recording;
use heapwood_pages::PAGE_SIZE;

const QUIET: Config = FULL.background_release(false).idle_collection(false);
const NODE: usize = 4 * WORD;
const MANY: usize = 100_000;

/// The parts, which add up to what the statistics say is backed.
fn parts(heap: &Heap) -> MemoryParts {
    let parts = account(heap).parts;
    assert_eq!(parts.backed, heap.inspect().stats().backed_bytes);
    parts
}

/// The parts of the class of so many bytes.
fn class(account: &MemoryAccount, bytes: usize) -> ClassParts {
    *account.classes().find(|class| class.cell == bytes).unwrap()
}

/// A slot for each of N nodes.
fn nodes(heap: &HeapBox, n: usize) -> Slots<'_> {
    let (mutator, node) = (attach(heap), node_type(heap));
    let mut slots = Slots::new(heap, n);
    (0..n).for_each(|i| slots.set(i, new(&mutator, node)));
    slots
}

#[test]
fn nothing_alive() {
    let heap = heap(QUIET);
    let fresh = parts(&heap);
    assert_eq!((fresh.backed, fresh.tables > 0), (0, true));
    drop(nodes(&heap, MANY));
    let mutator = attach(&heap);
    mutator.collect().unwrap();
    let dead = parts(&heap);
    assert_eq!((dead.survived, dead.promoted, dead.young), (0, 0, 0));
    assert!(dead.unswept >= MANY * NODE, "{dead:?}");
    heap.memory().finish_sweep();
    let swept = parts(&heap);
    assert_eq!((swept.unswept, swept.partial, swept.tails), (0, 0, 0));
    assert!(swept.free_pages >= MANY * NODE, "{swept:?}");
    heap.memory().release_free();
    let released = parts(&heap);
    assert_eq!(released.free_pages, 0);
}

#[test]
fn everything_alive() {
    let heap = heap(QUIET);
    let _slots = nodes(&heap, MANY);
    let young = parts(&heap);
    // All collections are full.
    assert_eq!(young.survived + young.young, MANY * NODE);
    let mutator = attach(&heap);
    mutator.collect().unwrap();
    heap.memory().finish_sweep();
    let parts = parts(&heap);
    assert_eq!((parts.survived, parts.promoted, parts.young), (MANY * NODE, 0, 0));
    assert_eq!(parts.survived, heap.inspect().stats().live_bytes);
    // Only the last span has free cells.
    assert!(parts.partial < PAGE_SIZE, "{parts:?}");
}

#[test]
fn half_of_the_cells_free() {
    let heap = heap(QUIET);
    let mut slots = nodes(&heap, MANY);
    attach(&heap).collect().unwrap();
    heap.memory().finish_sweep();
    let before = parts(&heap);
    (0..MANY).step_by(2).for_each(|i| slots.set(i, 0));
    let mutator = attach(&heap);
    mutator.collect().unwrap();
    let half = MANY / 2 * NODE;
    let unswept = parts(&heap);
    assert_eq!((unswept.survived, unswept.unswept), (half, half + before.partial));
    assert_eq!(unswept.partial, 0);
    heap.memory().finish_sweep();
    let swept = account(&heap);
    assert_eq!((swept.parts.survived, swept.parts.unswept), (half, 0));
    assert_eq!(swept.parts.partial, half + before.partial);
    let row = class(&swept, NODE);
    assert_eq!((row.old, row.partial), (half, swept.parts.partial));
    assert_eq!((row.spans, row.bytes), (row.bytes / PAGE_SIZE, half + swept.parts.partial));
}

/// A thread goes on in its span after a collection; what died below its cursor waits for a sweep.
#[test]
fn dead_cells_below_a_cursor() {
    let heap = heap(QUIET);
    let (mutator, node) = (attach(&heap), node_type(&heap));
    let mut slots = Slots::new(&heap, 2000);
    let mut fill = |from: usize| (from..from + 1000).for_each(|i| slots.set(i, new(&mutator, node)));
    fill(0);
    let before = account(&heap);
    (0..10).for_each(|_| _ = new(&mutator, node));
    mutator.collect().unwrap();
    heap.memory().finish_sweep();
    let dead = account(&heap);
    assert_eq!((dead.parts.survived, dead.parts.unswept), (1000 * NODE, 10 * NODE), "{dead:?}");
    assert_eq!(dead.parts.open, before.parts.open - 10 * NODE);
    fill(1000);
    assert_eq!(parts(&heap).unswept, 10 * NODE, "the rest of the span was used, and it is not swept");
    mutator.collect().unwrap();
    heap.memory().finish_sweep();
    assert_eq!(parts(&heap).unswept, 0);
}

#[test]
fn large_objects_and_the_ends_of_spans() {
    // 13 pages, and the most cells of their class that a span of it holds.
    const LARGE: usize = 100_000;
    const ODD: usize = 5 * 1024;
    let heap = heap(QUIET);
    let mutator = attach(&heap);
    let (large, odd) = (pointer_free(&heap, LARGE), pointer_free(&heap, ODD));
    let mut slots = Slots::new(&heap, 20);
    (0..10).for_each(|i| slots.set(i, new(&mutator, large)));
    (10..20).for_each(|i| slots.set(i, new(&mutator, odd)));
    let account = account(&heap);
    let (rows, cells) = (class(&account, 0), class(&account, ODD));
    let tail = 13 * PAGE_SIZE - LARGE;
    assert_eq!((rows.spans, rows.old + rows.young, rows.tails), (10, 10 * LARGE, 10 * tail));
    assert_eq!(cells.old + cells.young, 10 * ODD);
    // Spans waste at most an eighth at their ends.
    assert!(cells.tails > 0 && cells.tails * 8 <= cells.bytes, "{cells:?}");
    assert_eq!(account.parts.tails, rows.tails + cells.tails);
    (0..5).for_each(|i| slots.set(i, 0));
    mutator.collect().unwrap();
    let dead = parts(&heap);
    assert_eq!((dead.survived, dead.unswept), (5 * LARGE + 10 * ODD, 5 * LARGE));
    let last = slots.get(5);
    slots.set(5, 0);
    free(&mutator, last);
    let freed = parts(&heap);
    assert_eq!(freed.survived, dead.survived - LARGE, "its pages are free at once");
    assert_eq!(freed.free_pages + freed.cached_pages, dead.free_pages + dead.cached_pages + 13 * PAGE_SIZE);
}

#[test]
fn arenas() {
    let heap = heap(QUIET);
    let mutator = attach(&heap);
    let values = Values::new(1, 4, [0b11, 0, 0, 0]);
    let fill = |arena: Arena| {
        (0..MANY).for_each(|_| _ = arena.zeros(&mutator, values, 1).unwrap());
    };
    let arena = Arena::open(&mutator, ArenaKind::Escaping);
    fill(arena);
    let open = parts(&heap);
    assert!(open.arenas >= MANY * NODE, "{open:?}");
    assert_eq!((open.arenas, open.free_arenas), (heap.inspect().stats().arena_bytes, 0));
    arena.close(&mutator);
    // Pointers may be left: the memory has gone back, and only addresses are in quarantine.
    let closed = parts(&heap);
    assert_eq!((closed.arenas, closed.free_arenas + closed.quarantined), (0, 0));
    assert!(heap.inspect().stats().arena_free_bytes >= open.arenas);
    let promised = Arena::open(&mutator, ArenaKind::Borrowed);
    fill(promised);
    let again = parts(&heap);
    promised.close(&mutator);
    let pooled = parts(&heap);
    assert_eq!((pooled.arenas, pooled.free_arenas), (0, again.arenas));
    mutator.collect().unwrap();
    parts(&heap);
}

#[test]
fn cells_that_the_program_frees() {
    let heap = heap(QUIET);
    let mut slots = nodes(&heap, MANY);
    let (mutator, node) = (attach(&heap), node_type(&heap));
    for i in (0..MANY).step_by(2) {
        free(&mutator, slots.get(i));
        slots.set(i, 0);
    }
    let half = MANY / 2 * NODE;
    let freed = parts(&heap);
    assert_eq!((freed.freed, freed.survived + freed.young), (half, half));
    // They are used first.
    (0..1000).for_each(|i| slots.set(2 * i, new(&mutator, node)));
    let again = parts(&heap);
    assert_eq!((again.freed, again.survived + again.young), (half - 1000 * NODE, half + 1000 * NODE));
    assert!(again.freed_bits > 0, "{again:?}");
    mutator.collect().unwrap();
    // They are dead cells like others now.
    let collected = parts(&heap);
    assert_eq!(collected.freed, 0);
    assert!(collected.unswept >= half - 1000 * NODE, "{collected:?}");
    heap.memory().finish_sweep();
    let swept = parts(&heap);
    assert_eq!((swept.freed, swept.unswept), (0, 0));
    assert_eq!(swept.survived, half + 1000 * NODE);
}

#[test]
fn what_young_collections_promote() {
    let heap = heap(YOUNG.background_release(false));
    let mutator = attach(&heap);
    let node = node_type(&heap);
    let mut slots = Slots::new(&heap, 3000);
    let mut fill = |from: usize| (from..from + 1000).for_each(|i| slots.set(i, new(&mutator, node)));
    fill(0);
    mutator.collect().unwrap();
    fill(1000);
    mutator.collect_young().unwrap();
    fill(2000);
    let now = parts(&heap);
    let each = 1000 * NODE;
    assert_eq!((now.survived, now.promoted, now.young), (each, each, each), "{now:?}");
    mutator.collect().unwrap();
    let all = parts(&heap);
    assert_eq!((all.survived, all.promoted, all.young), (3 * each, 0, 0));
}

/// Ends the threads of a test, also if it fails.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Threads that wait keep what they have cached.
#[test]
fn several_threads_with_open_spans() {
    const THREADS: usize = 4;
    let heap = heap(QUIET);
    let (ready, done) = (AtomicUsize::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let _ends = Ends(&done);
        for thread in 0..THREADS {
            let (heap, ready, done) = (&heap, &ready, &done);
            scope.spawn(move || {
                let mutator = attach(heap);
                let (node, other) = (node_type(heap), pointer_free(heap, 200 + 16 * thread));
                (0..1000).for_each(|_| _ = (new(&mutator, node), new(&mutator, other)));
                mutator
                    .blocking(|| {
                        ready.fetch_add(1, Ordering::SeqCst);
                        while !done.load(Ordering::SeqCst) {
                            std::thread::yield_now();
                        }
                    })
                    .unwrap();
            });
        }
        while ready.load(Ordering::SeqCst) != THREADS {
            std::thread::yield_now();
        }
        let now = parts(&heap);
        let objects = THREADS * 1000 * (NODE + 208) + 1000 * (16 + 32 + 48);
        assert_eq!(now.young, objects, "{now:?}");
        assert!(now.open > 0 && now.cached_pages > 0, "{now:?}");
        // SAFETY: the other threads wait.
        assert_eq!(now.open + now.cached + now.cached_pages, unsafe { heap.inspect().owned_unused_bytes() });
        // SAFETY: as above.
        assert_eq!(now.mutators > 0, unsafe { heap.inspect().is_valid() }.is_ok());
    });
    let left = parts(&heap);
    assert_eq!((left.open, left.cached, left.cached_pages), (0, 0, 0), "{left:?}");
    assert!(left.mutators > 0, "they are kept for other threads");
}

/// Threads that run are stopped, by polls or signals, and go on; the heap's own threads release and mark meanwhile.
fn while_threads_run(config: Config) {
    let heap = heap(config);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _ends = Ends(&done);
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
fn while_threads_run_that_poll() {
    while_threads_run(PRECISE);
}

#[test]
fn while_a_marking_goes_on_beside() {
    while_threads_run(PRECISE.concurrent(Concurrent::Always).conservative_stacks(true));
}

#[test]
#[cfg_attr(heapwood_tsan, ignore = "ThreadSanitizer delays signals until their thread makes a system call")]
fn while_threads_run_that_signals_stop() {
    while_threads_run(BY_SIGNALS);
}

/// What the kernel's list of mappings says is resident of these ranges.
fn resident_in(ranges: &[Range<usize>]) -> usize {
    let (mut found, mut counts) = (0, false);
    for line in std::fs::read_to_string("/proc/self/smaps").unwrap().lines() {
        let mut words = line.split_ascii_whitespace();
        match (words.next().unwrap(), words.next()) {
            ("Rss:", Some(kib)) if counts => found += kib.parse::<usize>().unwrap() << 10,
            (addresses, _) => {
                let number = |hex| usize::from_str_radix(hex, 16).ok();
                if let Some((Some(start), Some(end))) =
                    addresses.split_once('-').map(|(start, end)| (number(start), number(end)))
                {
                    counts = ranges.iter().any(|range| range.start < end && start < range.end);
                }
            }
        }
    }
    found
}

/// The kernel that the heap's memory comes from knows each reservation, and its list of mappings what is resident there:
/// the sum over all must be what the parts say, to the byte. A table that is left out shows even if it was never touched.
fn as_the_kernel_says(config: Config, huge_pages: bool) {
    let kernel: &'static Recording = Box::leak(Box::default());
    let heap = Heap::create(kernel, config.huge_pages(huge_pages)).unwrap();
    let compare = |of: &str| {
        let parts = account(&heap).parts;
        assert_eq!(parts.resident, resident_in(&kernel.reservations()), "{of}: {parts:?}");
        let mut named = Vec::new();
        heap.for_each_mapping(&mut |mapping| named.push(mapping.start));
        named.sort();
        let starts: Vec<_> = kernel.reservations().iter().map(|range| range.start).collect();
        assert_eq!(named, starts, "{of}: each reservation is named once");
        assert_eq!(parts.resident, parts.backed - parts.untouched + parts.surplus + parts.tables);
        // The kernel counts the process in steps.
        assert!(parts.process + MIB >= parts.resident, "{parts:?}");
        parts
    };
    compare("a new heap");
    let mutator = attach(&heap);
    let node = node_type(&heap);
    let mut slots = Slots::new(&heap, MANY);
    (0..MANY).for_each(|i| slots.set(i, new(&mutator, node)));
    let full = compare("a full heap");
    assert!(full.mark_bits > 0 && full.page_table > 0 && full.span_descriptors > 0, "{full:?}");
    // Every table that there is.
    let handles: Vec<_> = (0..100).map(|_| handle(&heap, slots.get(0)).unwrap()).collect();
    (0..1000).for_each(|_| free(&mutator, new(&mutator, node)));
    let sparse = mutator.allocate(pointer_free(&heap, 64 * MIB)).unwrap();
    let rare: Vec<_> = (3..40).map(|words| masked(&heap, words, &[words - 1])).collect();
    rare.iter().for_each(|&ty| _ = new(&mutator, ty));
    heap.inspect().keep_page_snapshots();
    mutator.incremental_marking().begin().unwrap();
    for i in 0..MANY / 2 {
        link(&mutator, slots.get(i), 0, slots.get(MANY - 1 - i));
    }
    while mutator.incremental_marking().step(1000).unwrap() {}
    compare("a marking");
    mutator.incremental_marking().finish().unwrap();
    (0..MANY).step_by(3).for_each(|i| slots.set(i, 0));
    let values = Values::new(1, 4, [0b11, 0, 0, 0]);
    let arena = Arena::open(&mutator, ArenaKind::Escaping);
    arena.zeros(&mutator, values, 5000).unwrap();
    mutator.collect().unwrap();
    let late = compare("a collected heap");
    // The large object is dead, and verify mode has filled it. The collection may have given a quarter of it back.
    assert!(config.verify || late.untouched >= 45 * MIB, "{late:?}");
    assert!(late.roots > 0 && late.mark_stacks > 0 && late.mutators > 0 && late.heap > 0, "{late:?}");
    assert!(late.checks > 0 && late.pointer_bits > 0 && late.layouts > 0 && late.page_sets > 0, "{late:?}");
    arena.close(&mutator);
    heap.memory().release_free();
    compare("a heap that has released what it could");
    drop((handles, sparse));
}

#[test]
#[ignore = "of the long suite: memory that the kernel counts"]
fn the_kernel_says_the_same() {
    in_child(|| {
        let config = PRECISE.background_release(false).mark_threads(2);
        as_the_kernel_says(config, false);
        as_the_kernel_says(config, true);
        as_the_kernel_says(config.verify(true), false);
        as_the_kernel_says(YOUNG.background_release(false).mask_words(0).mark_stack(16), false);
        as_the_kernel_says(config.conservative_stacks(true).library_roots(true), false);
        as_the_kernel_says(BY_SIGNALS.background_release(false), false);
    });
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
