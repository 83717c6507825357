//! When a marker beside the program takes what barriers shade: before its edges, if much waits. Trace functions hold the marker
//! where the test needs it.

use super::*;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use heapwood_gc::Tracer;
use heapwood_heap::ObjectRef;
use heapwood_layout::TraceContext;

const LEAVES: usize = 60_000;

static HAS_SHADED: AtomicBool = AtomicBool::new(false);
static TRACED: AtomicUsize = AtomicUsize::new(0);
/// What was traced when the marker had followed the list.
static AT_END: AtomicUsize = AtomicUsize::new(usize::MAX);

/// Visits the object's first word.
unsafe fn visit_first(object: *mut u8, context: *mut TraceContext) {
    // SAFETY: the context is passed on as it came, and word 0 is a pointer.
    unsafe { Tracer::from_context(context).visit(object.cast::<usize>().read()) };
}

unsafe extern "C" fn trace_gate(object: *mut u8, _size: usize, context: *mut TraceContext) {
    while !HAS_SHADED.load(Ordering::Acquire) {
        std::thread::yield_now();
    }
    // SAFETY: as it came.
    unsafe { visit_first(object, context) };
}

unsafe extern "C" fn trace_end(object: *mut u8, _size: usize, context: *mut TraceContext) {
    AT_END.fetch_min(TRACED.load(Ordering::Relaxed), Ordering::Relaxed);
    // SAFETY: as it came.
    unsafe { visit_first(object, context) };
}

unsafe extern "C" fn trace_leaf(_object: *mut u8, _size: usize, _context: *mut TraceContext) {
    TRACED.fetch_add(1, Ordering::Relaxed);
}

/// A list leads from a gate to an end, and only that to a table of leaves. Its leaves are overwritten while the marker waits at
/// the gate; when it has followed the list it has taken most of them.
#[test]
fn a_marker_takes_what_was_shaded_before_it_has_followed_all_edges() {
    for markers in [1, 4] {
        let heap = heap(PRECISE.concurrent(Concurrent::Always).min_heap(256 << 20).mark_threads(markers));
        let mutator = attach(&heap);
        let traced =
            |trace| heap.types().register(&TypeDescriptor::traced(2 * WORD, trace).unwrap()).unwrap();
        let (gate_type, end_type, leaf_type) = (traced(trace_gate), traced(trace_end), traced(trace_leaf));
        HAS_SHADED.store(true, Ordering::Release);
        let mut roots = Slots::new(&heap, 2);
        let element = TypeDescriptor::masked(WORD, &[1]).unwrap();
        let table = mutator.types().type_for(LEAVES * WORD, slice_scan(&element, 0).unwrap()).unwrap();
        roots.set(1, new(&mutator, table));
        (0..LEAVES).for_each(|i| link(&mutator, roots.get(1), i, new(&mutator, leaf_type)));
        let mut first = new(&mutator, end_type);
        roots.set(0, first);
        link(&mutator, first, 0, roots.get(1));
        for _ in 0..50_000 {
            first = new(&mutator, node_type(&heap));
            link(&mutator, first, 0, roots.get(0));
            roots.set(0, first);
        }
        let gate = new(&mutator, gate_type);
        link(&mutator, gate, 0, roots.get(0));
        roots.set(0, gate);
        let table = roots.get(1);
        roots.set(1, 0);
        mutator.collect().unwrap();
        HAS_SHADED.store(false, Ordering::Release);
        TRACED.store(0, Ordering::Relaxed);
        AT_END.store(usize::MAX, Ordering::Relaxed);
        assert!(mutator.incremental_marking().ask_marker());
        while stats(&heap).mark_start_max_ns == 0 {
            mutator.blocking(std::thread::yield_now).unwrap();
        }
        // SAFETY: the table has so many words, and null is what they may hold.
        unsafe {
            mutator.barrier().copy(ObjectRef::new(table), table as *mut usize, [0; LEAVES].as_ptr(), LEAVES)
        };
        HAS_SHADED.store(true, Ordering::Release);
        let until = stats(&heap).concurrent_markings + 1;
        while stats(&heap).concurrent_markings < until {
            mutator.blocking(std::thread::yield_now).unwrap();
        }
        let taken = AT_END.load(Ordering::Relaxed);
        assert!((LEAVES - 40_000..=LEAVES).contains(&taken), "{taken} of {LEAVES} were taken");
        assert_eq!(mutator.incremental_marking().counts().rescans, 0);
    }
}
