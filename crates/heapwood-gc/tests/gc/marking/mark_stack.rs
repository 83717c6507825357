//! What mark stacks cost before they are needed, and what happens when the kernel refuses them more.

use heapwood_gc::Heap;
use heapwood_gc_testing::*;
use heapwood_os::{Kernel, OsError, SYSTEM};
use heapwood_os_testing::faulty::Faulty;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The system's memory, counted.
#[derive(Default)]
struct Counting {
    reserved: AtomicUsize,
    committed: AtomicUsize,
}

// SAFETY: every request is passed on unchanged to the system, whose promises hold.
unsafe impl Kernel for Counting {
    fn page_size(&self) -> usize {
        SYSTEM.page_size()
    }
    fn reserve(&self, len: usize, align: usize) -> Result<usize, OsError> {
        self.reserved.fetch_add(len, Ordering::SeqCst);
        SYSTEM.reserve(len, align)
    }
    unsafe fn commit(&self, addr: usize, len: usize) -> Result<(), OsError> {
        self.committed.fetch_add(len, Ordering::SeqCst);
        // SAFETY: the caller's contract is passed on.
        unsafe { SYSTEM.commit(addr, len) }
    }
    unsafe fn decommit(&self, addr: usize, len: usize) -> Result<(), OsError> {
        // SAFETY: the caller's contract is passed on.
        unsafe { SYSTEM.decommit(addr, len) }
    }
    unsafe fn advise_huge(&self, addr: usize, len: usize) {
        // SAFETY: the caller's contract is passed on.
        unsafe { SYSTEM.advise_huge(addr, len) }
    }
    unsafe fn protect(&self, addr: usize, len: usize) -> bool {
        // SAFETY: the caller's contract is passed on.
        unsafe { SYSTEM.protect(addr, len) }
    }
    unsafe fn advise_small(&self, addr: usize, len: usize) {
        // SAFETY: the caller's contract is passed on.
        unsafe { SYSTEM.advise_small(addr, len) }
    }
    unsafe fn release(&self, addr: usize, len: usize) {
        // SAFETY: the caller's contract is passed on.
        unsafe { SYSTEM.release(addr, len) }
    }
}

/// What a heap with this mark stack and window reserves and commits before it is used.
fn costs(mark_stack: Option<u32>, window: usize) -> (usize, usize) {
    let kernel: &'static Counting = Box::leak(Box::default());
    let mut config = PRECISE.address_space(window).background_release(false);
    config.mark_stack = mark_stack;
    let _heap = Heap::create(kernel, config).unwrap();
    (kernel.reserved.load(Ordering::SeqCst), kernel.committed.load(Ordering::SeqCst))
}

#[test]
fn a_new_heap_commits_little_for_its_mark_stacks() {
    for window in [64 << 20, 2 << 30, 64 << 30] {
        let (without, with) = (costs(Some(1), window).1, costs(None, window).1);
        assert!(with - without < 1 << 20, "{} bytes for a window of {window}", with - without);
    }
}

/// Each commit counts where the kernel promises no more than there is: a heap made 128 MiB of them.
#[test]
fn a_new_heap_commits_little_at_all() {
    for window in [64 << 20, 2 << 30, 64 << 30] {
        let committed = costs(None, window).1;
        assert!(committed < 1 << 20, "{committed} bytes for a window of {window}");
    }
}

#[test]
fn a_small_heap_reserves_little_for_its_mark_stacks() {
    let (without, with) = (costs(Some(1), 64 << 20).0, costs(None, 64 << 20).0);
    assert!(with - without <= 9 << 20, "{} bytes", with - without);
}

/// Almost as many roots as edges fit into what is committed at first. Objects with 64 pointers come on top of them, so
/// that the marking loop itself runs out of room.
#[test]
fn a_stack_that_cannot_grow_overflows_and_grows_later() {
    static KERNEL: Faulty = Faulty::new();
    let config = PRECISE.min_heap(1 << 30).background_release(false);
    let heap = Heap::create(&KERNEL, config).unwrap();
    let mutator = attach(&heap);
    let all: Vec<usize> = (0..64).collect();
    let (wide, node) = (masked(&heap, 64, &all), node_type(&heap));
    const ROOTS: usize = 8150;
    const WIDE: usize = 200;
    const TABLE: usize = 50;
    // Many small tables of roots: those of a large one would wait in a range instead of on the stack.
    let mut tables: Vec<Slots> = (0..ROOTS.div_ceil(TABLE)).map(|_| Slots::new(&heap, TABLE)).collect();
    for i in 0..ROOTS {
        if i < ROOTS - WIDE {
            tables[i / TABLE].set(i % TABLE, new(&mutator, node));
            put(tables[i / TABLE].get(i % TABLE), 2, i);
            continue;
        }
        tables[i / TABLE].set(i % TABLE, new(&mutator, wide));
        for word in 0..64 {
            let leaf = new(&mutator, node);
            put(leaf, 2, i * 64 + word);
            put(tables[i / TABLE].get(i % TABLE), word, leaf);
        }
    }
    KERNEL.refuse_from(0);
    mutator.collect().unwrap();
    let refused = heap.inspect().stats();
    assert_eq!(refused.live_objects, ROOTS + 64 * WIDE);
    assert!(refused.mark_overflows > 0, "the stack could not grow");
    KERNEL.relent();
    mutator.collect().unwrap();
    assert_eq!(heap.inspect().stats().live_objects, ROOTS + 64 * WIDE);
    assert_eq!(heap.inspect().stats().mark_overflows, refused.mark_overflows, "now it could");
    for i in 0..ROOTS {
        if i < ROOTS - WIDE {
            assert_eq!(get(tables[i / TABLE].get(i % TABLE), 2), i);
        } else {
            (0..64).for_each(|word| {
                assert_eq!(get(get(tables[i / TABLE].get(i % TABLE), word), 2), i * 64 + word)
            });
        }
    }
}
