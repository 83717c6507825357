//! The second marking of verify mode, of the stopped heap at the end of a concurrent one: what it counts as floating garbage is
//! exactly what was dropped during the first. That it finds what a marking loses is shown in `inject/verify.rs`.

use heapwood_gc::settings::options::Generational;
use heapwood_gc::{Heap, HeapBox, Mutator, Stats, Tracer};
use heapwood_gc_testing::*;
use heapwood_heap::ArenaKind;
use heapwood_layout::{TraceContext, TypeDescriptor};

const BOTH: [Generational; 2] = [Generational::Always, Generational::Off];

/// A heap in verify mode whose full collections come when they are asked for.
fn quiet(generational: Generational) -> HeapBox {
    heap(PRECISE.verify(true).min_heap(256 << 20).background_release(false).generational(generational))
}

/// Ends the marking; its floating garbage, in objects and bytes.
fn floating(heap: &Heap, mutator: &Mutator) -> (usize, usize) {
    assert!(mutator.incremental_marking().finish().unwrap());
    let Stats { floating_objects, floating_bytes, .. } = heap.inspect().stats();
    (floating_objects, floating_bytes)
}

/// The bytes of an object's cell, or of its pages.
fn bytes_of(heap: &Heap, object: usize) -> usize {
    let bytes = heap.objects().find(object).unwrap().bytes;
    if bytes > 32 << 10 { bytes.next_multiple_of(heapwood_pages::PAGE_SIZE) } else { bytes }
}

#[test]
fn what_is_dropped_during_a_marking_floats_and_nothing_else() {
    for generational in BOTH {
        let heap = quiet(generational);
        let mutator = attach(&heap);
        let (node, table) = (node_type(&heap), masked(&heap, 10_000, &[0]));
        let mut roots = Slots::new(&heap, 4);
        roots.extend_list(0, &mutator, node, 300, 0);
        roots.extend_list(1, &mutator, node, 500, 1);
        roots.set(2, new(&mutator, table));
        let (small, large) = (bytes_of(&heap, roots.get(0)), bytes_of(&heap, roots.get(2)));
        for dropped in [None, Some(0), None, Some(2), Some(1)] {
            assert!(mutator.incremental_marking().begin().unwrap());
            mutator.incremental_marking().step(100).unwrap();
            let wanted = match dropped {
                None => (0, 0),
                Some(2) => (1, large),
                Some(list) => (300 + 200 * list, (300 + 200 * list) * small),
            };
            dropped.inspect(|&dropped| roots.set(dropped, 0));
            assert_eq!(floating(&heap, &mutator), wanted, "{generational:?}, {dropped:?}");
        }
        // A collection in a stop keeps none of it; the figure is that of the last marking.
        mutator.collect().unwrap();
        assert_eq!(heap.inspect().stats().live_objects, 0);
        assert_eq!(heap.inspect().stats().floating_objects, 500);
    }
}

/// Without young collections all that is made during a marking is kept.
#[test]
fn what_is_made_and_dropped_during_a_marking_floats_where_it_is_promoted_unseen() {
    for (generational, wanted) in [(Generational::Always, 0), (Generational::Off, 70)] {
        let heap = quiet(generational);
        let mutator = attach(&heap);
        let node = node_type(&heap);
        let mut roots = Slots::new(&heap, 1);
        roots.extend_list(0, &mutator, node, 10, 0);
        assert!(mutator.incremental_marking().begin().unwrap());
        (0..70).for_each(|_| _ = new(&mutator, node));
        roots.extend_list(0, &mutator, node, 10, 10);
        assert_eq!(floating(&heap, &mutator).0, wanted);
    }
}

/// Word 1 is a pointer.
unsafe extern "C" fn trace_second(object: *mut u8, _: usize, context: *mut TraceContext) {
    // SAFETY: the context is passed on as it came; the object has that word.
    unsafe { Tracer::from_context(context).visit(object.cast::<usize>().add(1).read()) };
}

/// Word 1 may be a pointer.
unsafe extern "C" fn trace_word(object: *mut u8, _: usize, context: *mut TraceContext) {
    // SAFETY: as above.
    unsafe { Tracer::from_context(context).visit_ambiguous(object.cast::<usize>().add(1).read()) };
}

/// Every kind of path keeps what it leads to from floating, and when it is cut the object floats.
#[test]
fn what_any_path_reaches_does_not_float() {
    for generational in BOTH {
        let heap = quiet(generational);
        let mutator = attach(&heap);
        let register = |ty: Result<TypeDescriptor, _>| heap.types().register(&ty.unwrap()).unwrap();
        let holders = [
            node_type(&heap),
            register(TypeDescriptor::traced(32, trace_second)),
            register(TypeDescriptor::traced(32, trace_word)),
            register(TypeDescriptor::conservative(32)),
        ];
        for (which, &holder) in holders.iter().enumerate() {
            let mut roots = Slots::new(&heap, 1);
            roots.set(0, new(&mutator, holder));
            link(&mutator, roots.get(0), 1, new(&mutator, node_type(&heap)));
            for cut in [false, true] {
                assert!(mutator.incremental_marking().begin().unwrap());
                if cut {
                    link(&mutator, roots.get(0), 1, 0);
                }
                assert_eq!(floating(&heap, &mutator).0, cut as usize, "holder {which}");
            }
            roots.set(0, 0);
            mutator.collect().unwrap();
        }
    }
}

/// A word that may be a pointer keeps an object, though no marking had to find it there.
#[test]
fn what_a_stray_word_leads_to_does_not_float() {
    let heap = quiet(Generational::Off);
    let mutator = attach(&heap);
    let node = node_type(&heap);
    let stray = Box::new(core::sync::atomic::AtomicUsize::new(0));
    let at = stray.as_ptr() as usize;
    // SAFETY: the word is in a box of its own until its root is removed.
    let token = unsafe { heap.roots().add_range(at, at + WORD) }.unwrap();
    let mut roots = Slots::new(&heap, 2);
    roots.extend_list(0, &mutator, node, 40, 0);
    let dead = new(&mutator, node);
    roots.set(1, dead);
    mutator.collect().unwrap();
    roots.set(1, 0);
    assert!(mutator.incremental_marking().begin().unwrap());
    // Inside the first of the list; so all of it is kept.
    stray.store(roots.get(0) + 5, core::sync::atomic::Ordering::Relaxed);
    roots.set(0, 0);
    assert_eq!(floating(&heap, &mutator).0, 0);
    // What was dead at the start need not be marked, and if a word leads there it is no loss.
    assert!(mutator.incremental_marking().begin().unwrap());
    stray.store(dead, core::sync::atomic::Ordering::Relaxed);
    assert_eq!(floating(&heap, &mutator).0, 40);
    assert!(heap.roots().remove(token));
}

#[test]
fn what_the_program_frees_and_what_arenas_have_does_not_float() {
    for generational in BOTH {
        let heap = quiet(generational);
        let mutator = attach(&heap);
        let (node, pair) = (node_type(&heap), Values::new(8, 2, [0b11, 0, 0, 0]));
        let mut roots = Slots::new(&heap, 2);
        roots.set(0, new(&mutator, node));
        let arena = Arena::open(&mutator, ArenaKind::Escaping);
        let (kept, mut values) = (new(&mutator, node), 0);
        for _ in 0..1000 {
            values = arena.value(&mutator, pair, &[kept, values]);
        }
        roots.set(1, values);
        arena.leave(&mutator);
        // After it the arena's header, an object of its own, is gone.
        mutator.collect().unwrap();
        assert!(mutator.incremental_marking().begin().unwrap());
        let freed = roots.get(0);
        roots.set(0, 0);
        free(&mutator, freed);
        assert_eq!(floating(&heap, &mutator).0, 0);
        // The arena is dropped: its memory is not counted, the object that it has kept is.
        assert!(mutator.incremental_marking().begin().unwrap());
        roots.set(1, 0);
        assert_eq!(floating(&heap, &mutator).0, 1);
        assert_valid(&heap);
    }
}

#[test]
fn only_verify_mode_knows() {
    let heap = heap(PRECISE.min_heap(256 << 20).background_release(false));
    let mutator = attach(&heap);
    let mut roots = Slots::new(&heap, 1);
    roots.extend_list(0, &mutator, node_type(&heap), 10, 0);
    assert!(mutator.incremental_marking().begin().unwrap());
    roots.set(0, 0);
    assert_eq!(floating(&heap, &mutator), (0, 0));
    assert_eq!(heap.inspect().stats().live_objects, 10);
}

#[test]
fn the_line_of_a_marking_that_ends_tells_what_floats() {
    let told = |verify: bool| {
        let body = || {
            let heap = heap(PRECISE.min_heap(256 << 20).background_release(false).verify(verify));
            let mutator = attach(&heap);
            let mut roots = Slots::new(&heap, 1);
            roots.extend_list(0, &mutator, node_type(&heap), 23, 0);
            assert!(mutator.incremental_marking().begin().unwrap());
            roots.set(0, 0);
            assert!(mutator.incremental_marking().finish().unwrap());
        };
        let ended = Child::new().called(verify).with("HEAPWOOD", "trace=1").run(body).well();
        let end = ended.err.lines().find(|line| line.contains("kind=end")).map(str::to_owned);
        end.unwrap_or_else(|| panic!("{ended}"))
    };
    assert!(told(true).contains(" floating=23 "), "{}", told(true));
    assert!(!told(false).contains("floating="));
}
