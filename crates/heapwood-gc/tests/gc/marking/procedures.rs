//! Trace functions that take a word: many types share one, and one puts calls of itself off; mark procedures in libgc's convention
//! on such functions.

use core::sync::atomic::{AtomicUsize, Ordering};
use heapwood_gc::settings::options::Concurrent;
use heapwood_gc::{Config, MarkEntry, Mutator, ProcedureStack, Tracer};
use heapwood_gc_testing::*;
use heapwood_heap::Scan;
use heapwood_layout::TraceContext;

const WAYS: [Config; 7] = [
    FULL,
    FULL.mark_threads(3),
    FULL.mark_stack(8),
    FULL.mark_stack(8).mark_threads(2),
    YOUNG.concurrent(Concurrent::Off),
    PRECISE.verify(true),
    BY_SIGNALS,
];

/// Reports the word that the type names.
unsafe extern "C" fn nth(object: *mut u8, size: usize, tracer: *mut TraceContext, data: usize) {
    assert!(data * WORD < size);
    // SAFETY: the collector's context, and a word of an object of the type.
    unsafe { Tracer::from_context(tracer).visit(object.cast::<usize>().add(data).read()) };
}

#[test]
fn types_share_a_function_and_differ_by_its_word() {
    for config in WAYS {
        let heap = heap(config);
        let m = attach(&heap);
        let types = [0, 3, 5]
            .map(|data| heap.types().register_scan(6 * WORD, Scan::Trace { function: nth, data }).unwrap());
        let again = m.types().type_for(6 * WORD, Scan::Trace { function: nth, data: 3 }).unwrap();
        assert_eq!((again, types[0] == types[1]), (types[1], false));
        let node = node_type(&heap);
        let mut roots = Slots::new(&heap, 3 + 18);
        for (i, ty) in types.into_iter().enumerate() {
            let holder = new(&m, ty);
            roots.set(i, holder);
            for word in 0..6 {
                let target = new(&m, node);
                roots.set(3 + 6 * i + word, target);
                link(&m, roots.get(i), word, target);
            }
        }
        let targets: Vec<_> = (0..18).map(|i| roots.get(3 + i) ^ !0).collect();
        (3..21).for_each(|i| roots.set(i, 0));
        assert!(m.incremental_marking().begin().is_ok() && m.incremental_marking().finish().is_ok());
        for _ in 0..3 {
            m.collect_young().unwrap();
            m.collect().unwrap();
            let alive: Vec<_> = (0..18).filter(|&i| is_alive(&heap, !targets[i])).collect();
            if !config.conservative_stacks {
                assert_eq!(alive, [0, 9, 17], "{config:?}");
            }
            assert!([0, 9, 17].iter().all(|i| alive.contains(i)));
        }
    }
}

/// How the functions of arrays find their elements.
const CHAIN: usize = 1 << 60;
const FAN: usize = 2 << 60;
const ENTRIES: usize = 3 << 60;
const WALKS: usize = 4 << 60;
const ONE: usize = 5 << 60;
const MODE: usize = 7 << 60;

static CALLS: AtomicUsize = AtomicUsize::new(0);

/// Reports the elements of an array, as its type's word says.
unsafe extern "C" fn elements(object: *mut u8, size: usize, context: *mut TraceContext, data: usize) {
    CALLS.fetch_add(1, Ordering::Relaxed);
    let (mode, at) = (data & MODE, data & !MODE);
    let count = size / WORD;
    // SAFETY: the collector's context, and an object of these many words.
    unsafe {
        let mut tracer = Tracer::from_context(context);
        let word = |i: usize| object.cast::<usize>().add(i).read();
        match mode {
            // One call for each element, each of which asks for the next.
            CHAIN => {
                tracer.visit_ambiguous(word(at));
                if at + 1 < count {
                    tracer.again(object, size, CHAIN | (at + 1));
                }
            }
            // All calls at once.
            FAN => (0..count).for_each(|i| tracer.again(object, size, ONE | i)),
            ONE => tracer.visit(word(at)),
            _ => {
                let mut stack =
                    ProcedureStack::new(&mut tracer, |tracer: &mut Tracer<'_>, entry: MarkEntry| {
                        match entry.descriptor & 3 {
                            0 => tracer.visit_words(entry.start..entry.start + entry.descriptor),
                            1 => tracer.visit_ambiguous(entry.start),
                            _ => tracer.again(entry.start as *mut u8, size, entry.descriptor & !3),
                        }
                    });
                let mut top = stack.bottom();
                let mut push = |start, descriptor| {
                    if top.add(1) == stack.limit() {
                        top = stack.flush(top);
                    }
                    top = top.add(1);
                    top.write(MarkEntry { start, descriptor });
                    top
                };
                let top = match mode {
                    // An entry for each element.
                    ENTRIES => (0..count).map(|i| push(word(i), 1)).last().unwrap(),
                    // A few words, and an entry of the procedure itself for the rest.
                    _ => {
                        let here = at >> 2;
                        push(object as usize + here * WORD, 7.min(count - here) * WORD);
                        let next = here + 7;
                        if next < count { push(object as usize, WALKS | next << 2 | 2) } else { push(0, 1) }
                    }
                };
                stack.flush(top);
            }
        }
    }
}

/// An array whose elements are lists of one node, `every` so many; and all of them.
fn array(m: &Mutator, mode: usize, count: usize, every: usize) -> (usize, Vec<usize>) {
    let heap = m.types();
    let ty = heap.type_for(count * WORD, Scan::Trace { function: elements, data: mode }).unwrap();
    let array = m.allocate(ty).unwrap().as_ptr() as usize;
    (array, (0..count).step_by(every).chain([count - 1]).collect())
}

fn is_whole(mode: usize, count: usize, every: usize, config: Config) -> usize {
    let heap = heap(config.min_heap(64 << 20));
    let m = attach(&heap);
    let node = node_type(&heap);
    let mut roots = Slots::new(&heap, 1);
    let (array, held) = array(&m, mode, count, every);
    roots.set(0, array);
    for &i in &held {
        let element = new(&m, node);
        put(element, 2, i);
        link(&m, array, i, element);
    }
    let before = CALLS.load(Ordering::Relaxed);
    for round in 0..2 {
        if round == 1 && m.incremental_marking().begin().unwrap() {
            while m.incremental_marking().step(100).unwrap() {}
            m.incremental_marking().finish().unwrap();
        } else {
            m.collect().unwrap();
        }
        (0..1000).for_each(|_| put(new(&m, node), 2, usize::MAX));
        held.iter().for_each(|&i| assert_eq!(get(get(array, i), 2), i, "{config:?}"));
        assert!(heap.inspect().stats().live_objects as usize >= held.len());
    }
    assert_valid(&heap);
    CALLS.load(Ordering::Relaxed) - before
}

#[test]
fn a_function_that_puts_itself_off_takes_no_stack() {
    let calls = is_whole(CHAIN, 1_000_000, 1000, FULL.mark_threads(1));
    assert!(calls >= 2_000_000, "{calls}");
    is_whole(WALKS, 1_000_000, 1000, FULL.mark_threads(1));
    for config in WAYS {
        is_whole(CHAIN, 20_000, 7, config);
        is_whole(WALKS, 20_000, 7, config);
    }
}

#[test]
fn a_function_puts_off_as_many_calls_as_it_likes() {
    is_whole(FAN, 100_000, 1, FULL.mark_threads(1));
    for config in WAYS {
        is_whole(FAN, 5000, 1, config);
    }
}

#[test]
fn a_procedure_pushes_as_many_entries_as_it_likes() {
    is_whole(ENTRIES, 100_000, 1, FULL.mark_threads(1));
    for config in WAYS {
        is_whole(ENTRIES, 5000, 1, config);
    }
}

/// A function without a word has nothing to be put off with: the process ends, since an edge would be lost.
#[test]
fn a_function_without_a_word_is_not_put_off() {
    unsafe extern "C" fn puts_off(object: *mut u8, size: usize, tracer: *mut TraceContext) {
        // SAFETY: the collector's context.
        unsafe { Tracer::from_context(tracer).again(object, size, 0) };
    }
    let child = Child::new().run(|| {
        let heap = heap(FULL);
        let m = attach(&heap);
        let traced = heapwood_layout::TypeDescriptor::traced(4 * WORD, puts_off).unwrap();
        let mut roots = Slots::new(&heap, 1);
        roots.set(0, new(&m, heap.types().register(&traced).unwrap()));
        m.collect().unwrap();
    });
    assert!(!child.status.success() && format!("{child}").contains("without a word"), "{child}");
}
