//! Memory goes back: what a collection has freed leaves the resident set when it is asked to, what lives stays, and
//! what is used again afterwards reads as zeros. Each test looks at a process of its own.

use heapwood_gc::Config;
use heapwood_gc_testing::*;

/// Fills a list of nodes so large; its first node stays in the slot.
fn fill(heap: &heapwood_gc::Heap, roots: &mut Slots<'_>, bytes: usize) {
    let mutator = attach(heap);
    let node = node_type(heap);
    for _ in 0..bytes / 32 {
        let object = mutator.allocate(node).unwrap().as_ptr() as usize;
        // Zeroed, whatever lay there before.
        // SAFETY: the object has four words.
        assert_eq!(unsafe { (object as *const [usize; 4]).read() }, [0; 4]);
        put(object, 0, roots.get(0));
        put(object, 1, 0x5555_5555);
        roots.set(0, object);
    }
}

fn release(config: Config) {
    let heap = heap(config);
    let mut roots = Slots::new(&heap, 2);
    assert_eq!(heap.memory().release_free(), 0, "nothing was used yet");
    fill(&heap, &mut roots, MIB);
    let kept = roots.get(0);
    roots.set(1, kept);
    for _ in 0..2 {
        fill(&heap, &mut roots, 100 * MIB);
        let full = resident();
        roots.set(0, kept);
        attach(&heap).collect().unwrap();
        let before = heap.inspect().stats();
        assert!(before.backed_bytes >= 100 * MIB, "{before:?}");
        let released = heap.memory().release_free();
        assert!((95 * MIB..140 * MIB).contains(&released), "{released}");
        let left = resident();
        assert!(left + 90 * MIB < full, "{full} before and {left} after {released} were released");
        let after = heap.inspect().stats();
        assert!(after.backed_bytes < 8 * MIB && after.backed_bytes >= after.in_use_bytes, "{after:?}");
        assert_eq!(after.committed_bytes, before.committed_bytes);
        assert_eq!(heap.memory().release_free(), 0, "it has all been released");
        // What lives is whole.
        let (mut at, mut nodes) = (kept, 0);
        while at != 0 {
            // SAFETY: a node of the list.
            let words = unsafe { (at as *const [usize; 4]).read() };
            assert_eq!(words[1], 0x5555_5555);
            (at, nodes) = (words[0], nodes + 1);
        }
        assert_eq!(nodes, MIB / 32);
    }
    assert_valid(&heap);
}

#[test]
#[ignore = "of the long suite: memory that the kernel counts"]
fn free_memory_is_released_and_used_again() {
    in_child(|| {
        // Nobody else releases any.
        let quiet = PRECISE.background_release(false);
        release(quiet);
        release(quiet.huge_pages(true));
        release(quiet.limit(256 * MIB));
    });
}

/// At a limit the thread that allocates releases what is free elsewhere: never more has memory than the limit says.
#[test]
fn memory_stays_within_the_limit() {
    in_child(|| {
        for huge_pages in [false, true] {
            let limit = 32 * MIB;
            let heap = heap(PRECISE.limit(limit).huge_pages(huge_pages).background_release(false));
            let mut roots = Slots::new(&heap, 2);
            fill(&heap, &mut roots, 26 * MIB);
            // Of every 4 pages one node stays.
            let (mut at, mut kept, mut n) = (roots.get(0), 0, 0);
            while at != 0 {
                // SAFETY: a node of the list.
                let next = unsafe { (at as *const usize).read() };
                if n % 1024 == 0 {
                    put(at, 0, kept);
                    kept = at;
                }
                (at, n) = (next, n + 1);
            }
            roots.set(1, kept);
            roots.set(0, 0);
            let mutator = attach(&heap);
            mutator.collect().unwrap();
            heap.memory().finish_sweep();
            let before = heap.inspect().stats();
            assert!(before.in_use_bytes < 8 * MIB && before.backed_bytes > 25 * MIB, "{before:?}");
            // Pages in runs for which the heap must grow.
            let large = masked(&heap, 60_000, &[0]);
            for n in 0..40 {
                let object = mutator.allocate(large).unwrap().as_ptr() as usize;
                put(object, 0, roots.get(0));
                put(object, 2, n);
                roots.set(0, object);
                let now = heap.inspect().stats();
                assert!(now.backed_bytes <= limit, "{now:?}");
            }
            let after = heap.inspect().stats();
            assert!(after.committed_bytes > before.committed_bytes, "{after:?}");
            check_list(roots.get(0), 40, 0);
            mutator.collect().unwrap();
            assert_valid(&heap);
        }
    });
}

/// The kernel refuses: nothing is released, nothing is lost, and the next time it works.
#[test]
fn a_refusal_leaves_everything_as_it_was() {
    in_child(|| {
        let kernel: &'static heapwood_os_testing::faulty::Faulty = Box::leak(Box::default());
        let heap = heapwood_gc::Heap::create(kernel, PRECISE.background_release(false)).unwrap();
        let mut roots = Slots::new(&heap, 1);
        fill(&heap, &mut roots, 4 * MIB);
        roots.set(0, 0);
        attach(&heap).collect().unwrap();
        kernel.refuse_from(0);
        let before = heap.inspect().stats().backed_bytes;
        assert_eq!(heap.memory().release_free(), 0);
        assert_eq!(heap.inspect().stats().backed_bytes, before);
        kernel.relent();
        assert!(heap.memory().release_free() >= 4 * MIB);
        fill(&heap, &mut roots, 4 * MIB);
        attach(&heap).collect().unwrap();
        assert_valid(&heap);
    });
}

/// Without a thread of the heap's own: after a spike each collection gives a part back.
#[test]
fn collections_give_memory_back_where_no_thread_does() {
    let heap = heap(PRECISE.background_release(false));
    let mut roots = Slots::new(&heap, 1);
    fill(&heap, &mut roots, 100 * MIB);
    roots.set(0, 0);
    let mutator = attach(&heap);
    let released: Vec<_> = (0..8)
        .map(|_| {
            mutator.collect().unwrap();
            heap.inspect().stats().released_bytes as usize / MIB
        })
        .collect();
    let stats = heap.inspect().stats();
    assert_eq!(stats.own_thread, 0);
    assert!(stats.backed_bytes <= stats.goal_bytes * 11 / 10 + 2 * MIB, "{stats:?}");
    // A part of them at a time: of 16 MiB, of a quarter, and what the last run has more.
    assert!(released.windows(2).all(|pair| pair[1] - pair[0] <= 40), "{released:?}");
    assert!(released.last().is_some_and(|&all| all >= 80), "{released:?}");
}

/// A heap without the thread keeps what it has; heaps come and go with theirs.
#[test]
fn the_thread_is_a_setting_and_ends_with_its_heap() {
    in_child(|| {
        let threads = || std::fs::read_dir("/proc/self/task").unwrap().count();
        let before = threads();
        let without = heap(PRECISE.background_release(false));
        assert_eq!(threads(), before);
        for _ in 0..50 {
            let with = heap(PRECISE.background_release(true));
            assert_eq!(threads(), before + 1);
            let mutator = attach(&with);
            mutator.collect().unwrap();
            drop(mutator);
            drop(with);
            // The kernel lists a thread for a moment after it was joined.
            within_a_minute("the thread has ended with its heap", || threads() == before);
        }
        drop(without);
    });
}
