//! Trace functions and the option `concurrent`: one that reads what the program frees must not run beside it. So a heap that has one
//! marks in stops, unless the option says that they may. A type may be registered at any time: also when a start has been asked for.

use super::*;
use core::sync::atomic::{AtomicUsize, Ordering};
use heapwood_gc::ObjectType;
use heapwood_layout::TraceContext;
use heapwood_os::process::cores;

const NODES: usize = 1_500_000;
const AUTO: Config = PRECISE.concurrent(Concurrent::Auto);

static RUNS: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" fn trace(_object: *mut u8, _size: usize, _context: *mut TraceContext) {
    RUNS.fetch_add(1, Ordering::Relaxed);
}

fn register_traced(heap: &HeapBox) -> ObjectType {
    heap.types().register(&TypeDescriptor::traced(WORD, trace).unwrap()).unwrap()
}

/// So much is alive that the heap marks beside the program.
fn fill<'h>(heap: &'h HeapBox, mutator: &Mutator) -> Slots<'h> {
    let mut roots = Slots::new(heap, 2);
    roots.extend_list(0, mutator, node_type(heap), NODES, 0);
    mutator.collect().unwrap();
    assert!(stats(heap).live_bytes > 32 << 20);
    roots
}

fn is_alone() -> bool {
    let alone = cores::available() < 2;
    if alone {
        println!("skipped: on one core no heap marks beside the program unless it must");
    }
    alone
}

#[test]
fn trace_functions_run_beside_the_program_only_if_they_may() {
    if is_alone() {
        return;
    }
    for (concurrent, may) in [(Concurrent::Auto, false), (Concurrent::On, true)] {
        let heap = heap(AUTO.concurrent(concurrent));
        let mutator = attach(&heap);
        let traced = register_traced(&heap);
        let mut roots = fill(&heap, &mutator);
        roots.set(1, new(&mutator, traced));
        RUNS.store(0, Ordering::Relaxed);
        let asked = mutator.incremental_marking().ask_marker();
        assert_eq!(asked, may, "{concurrent:?}");
        // Asked for by a ticket it comes all the same.
        let ticket = mutator.start_collection().unwrap();
        mutator.wait_for(ticket).unwrap();
        let stats = stats(&heap);
        assert_eq!(stats.concurrent_markings > 0, may, "{concurrent:?}: {stats:?}");
        assert!(RUNS.load(Ordering::Relaxed) > 0);
    }
}

#[test]
fn a_trace_function_may_come_when_a_start_has_been_asked_for() {
    if is_alone() {
        return;
    }
    for round in 0..3 {
        let heap = heap(AUTO);
        let mutator = attach(&heap);
        let mut roots = fill(&heap, &mutator);
        let before = stats(&heap);
        assert!(mutator.incremental_marking().ask_marker());
        // The start waits for this thread.
        (0..round * 10).for_each(|_| std::thread::sleep(core::time::Duration::from_millis(1)));
        let traced = register_traced(&heap);
        roots.set(1, new(&mutator, traced));
        let full = |stats: &Stats| stats.collections - stats.young_collections;
        while full(&stats(&heap)) == full(&before) {
            mutator.blocking(std::thread::yield_now).unwrap();
        }
        // While the heap was filled there may have been one.
        assert_eq!(stats(&heap).concurrent_markings, before.concurrent_markings);
        check_list(roots.get(0), NODES, 0);
    }
}
