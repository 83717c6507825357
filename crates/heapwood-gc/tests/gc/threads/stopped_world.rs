//! The collector calls no ordinary allocator while the world is stopped, for a stopped thread may be inside it: the allocator of this
//! test program counts the calls that a collecting thread of this test makes between the first request to stop and the resume.

use core::alloc::{GlobalAlloc, Layout};
use core::cell::Cell;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};
use heapwood_gc::mutator::POLL_OFFSET;
use heapwood_gc::{Config, Heap, slice_scan};
use heapwood_gc_testing::*;
use heapwood_layout::{TraceContext, TypeDescriptor};
use std::alloc::System;
use std::sync::mpsc::channel;

/// The poll flag of a thread that is inside a blocking region: not 0 while a collection keeps it stopped.
static POLL: AtomicPtr<AtomicU32> = AtomicPtr::new(null_mut());
/// Calls of the allocator while that was so, by the thread that collects.
static CALLS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static COLLECTS: Cell<bool> = const { Cell::new(false) };
}

struct Counting;

fn count() {
    if COLLECTS.get() {
        // SAFETY: null, or the flag of a mutator that is attached until POLL is null again.
        let poll = unsafe { POLL.load(Ordering::Acquire).as_ref() };
        let is_stopped = poll.is_some_and(|poll| poll.load(Ordering::Relaxed) != 0);
        CALLS.fetch_add(is_stopped as usize, Ordering::Relaxed);
    }
}

// SAFETY: all is the system's allocator's work.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's contract is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count();
        // SAFETY: as above.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        count();
        // SAFETY: as above.
        unsafe { System.realloc(block, layout, bytes) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

unsafe extern "C" fn trace_nothing(_: *mut u8, _: usize, _: *mut TraceContext) {}

unsafe extern "C" fn trace_and_allocate(_: *mut u8, _: usize, _: *mut TraceContext) {
    drop(std::hint::black_box(Box::new(1)));
}

type TraceFn = unsafe extern "C" fn(*mut u8, usize, *mut TraceContext);

/// Lists, arrays, traced objects, handles and garbage, collected while another thread is attached; the calls counted.
fn calls(config: Config, snapshots: bool, trace: TraceFn) -> usize {
    let heap = &heap(config);
    if snapshots {
        heap.inspect().keep_page_snapshots();
    }
    let (ready, is_ready) = channel();
    let (end, ended) = channel::<()>();
    CALLS.store(0, Ordering::Relaxed);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let waiting = attach(heap);
            let place = (&raw const *waiting).cast::<u8>().cast_mut();
            POLL.store(place.wrapping_add(POLL_OFFSET).cast(), Ordering::Release);
            waiting
                .blocking(|| {
                    ready.send(()).unwrap();
                    let _ = ended.recv();
                })
                .unwrap();
            POLL.store(null_mut(), Ordering::Release);
        });
        is_ready.recv().unwrap();
        collect(heap, trace);
        drop(end);
    });
    let kept = [heap.inspect().peak_page_snapshot(), heap.inspect().collected_page_snapshot()]
        .map(|snapshot| snapshot.is_some());
    // Where little is allocated between collections none frees a page.
    assert_eq!(kept, [snapshots, snapshots && !config.stress], "{config:?}");
    CALLS.load(Ordering::Relaxed)
}

fn collect(heap: &Heap, trace: TraceFn) {
    let mutator = attach(heap);
    let node = node_type(heap);
    let traced = heap.types().register(&TypeDescriptor::traced(32, trace).unwrap()).unwrap();
    let mut roots = Slots::new(heap, 4);
    let bytes = 8 << 20;
    let scan = slice_scan(&TypeDescriptor::masked(WORD, &[1]).unwrap(), 0).unwrap();
    let array = mutator.allocate_large(mutator.types().shape_for(bytes, scan).unwrap(), bytes, true).unwrap();
    roots.set(0, array.as_ptr() as usize);
    roots.set(1, new(&mutator, traced));
    let n = if heap.config().stress { 20 } else { 20_000 };
    for round in 0..4 {
        let mut head = 0;
        extend_list(&mutator, node, n, round, |h| {
            head = h.unwrap_or(head);
            roots.set(2, head);
            head
        });
        let mut frame = Framed::<2>::new(&mutator);
        frame.set(0, new(&mutator, node));
        COLLECTS.set(true);
        mutator.collect().unwrap();
        COLLECTS.set(false);
    }
    assert!(heap.inspect().stats().collections >= 4);
}

/// One test, since the flag and the count are the process's.
#[test]
fn no_ordinary_allocator_is_called_while_the_world_is_stopped() {
    let base = PRECISE.background_release(false);
    let configs = [
        base,
        base.conservative_stacks(true),
        base.verify(true).quarantine(0),
        base.stress(true),
        base.mark_stack(1),
        base.limit(64 << 20),
        base.background_release(true),
    ];
    for config in configs {
        for snapshots in [false, true] {
            let calls = calls(config, snapshots, trace_nothing);
            assert_eq!(calls, 0, "{config:?}, snapshots {snapshots}");
        }
    }
    // A trace function that allocates is seen: the count counts.
    assert!(calls(base, false, trace_and_allocate) > 0);
}
