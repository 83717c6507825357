//! Values of arenas that live in the heap, since they are long or no mask tells their pointers: when the arena was closed or emptied
//! without the promise that nothing refers to it, a stale pointer to one keeps that alone, and nothing that it referred to.

use heapwood_gc::{Heap, Mutator, ObjectType, Tracer, slice_scan};
use heapwood_gc_testing::*;
use heapwood_heap::ArenaKind;
use heapwood_layout::program::Builder;
use heapwood_layout::{TraceContext, TypeDescriptor};

/// Longer than what is zeroed in one section.
const LONG: usize = 40_000;

/// Word 0 is how many pointers follow it.
unsafe extern "C" fn trace(object: *mut u8, _size: usize, context: *mut TraceContext) {
    // SAFETY: the context is passed on as it came; the object has at least one word, and as many more as that says.
    unsafe {
        let (mut tracer, words) = (Tracer::from_context(context), object.cast::<usize>());
        (1..=words.read()).for_each(|i| tracer.visit(words.add(i).read()));
    }
}

/// Types whose pointers are told in each of the ways there are, small and large, with a word of each that may hold a pointer.
fn types(heap: &Heap, m: &Mutator) -> Vec<(&'static str, ObjectType, usize)> {
    let traced =
        |words: usize| heap.types().register(&TypeDescriptor::traced(words * WORD, trace).unwrap()).unwrap();
    let any =
        |words: usize| heap.types().register(&TypeDescriptor::conservative(words * WORD).unwrap()).unwrap();
    let element = TypeDescriptor::masked(3 * WORD, &[0b100]).unwrap();
    let slice = |n: usize| m.types().type_for(3 * n * WORD, slice_scan(&element, 0).unwrap()).unwrap();
    let program = |words: usize| {
        let program = Builder::<64>::new().scalars(words as u64 - 1).pointer().finish();
        heap.types().register_program(words * WORD, program.bytes()).unwrap().0
    };
    vec![
        ("masked", masked(heap, 4, &[3]), 3),
        ("conservative", any(300), 299),
        ("conservative, long", any(LONG), LONG - 1),
        ("traced", traced(8), 1),
        ("traced, long", traced(LONG), 1),
        ("slice", slice(200), 3 * 199 + 2),
        ("slice, long", slice(LONG), 3 * LONG - 1),
        ("program", program(301), 300),
        ("program, long", program(LONG), LONG - 1),
    ]
}

/// What tests do with: a heap, an object that a root keeps, and an arena.
struct Scene<'h> {
    heap: &'h Heap,
    m: &'h Mutator,
    _roots: Slots<'h>,
    holder: usize,
}

impl<'h> Scene<'h> {
    fn new(heap: &'h Heap, m: &'h Mutator) -> Self {
        let mut roots = Slots::new(heap, 1);
        let holder = new(m, node_type(heap));
        roots.set(0, holder);
        Scene { heap, m, _roots: roots, holder }
    }

    /// A value of the heap that an arena keeps, to which the object refers.
    fn pass(&self, arena: Arena, ty: ObjectType) -> usize {
        // SAFETY: the arena is open, and of this heap.
        let passed =
            unsafe { self.m.arenas().allocate_external(arena.header(), || self.m.allocate(ty)) }.unwrap();
        link(self.m, self.holder, 0, passed.as_ptr() as usize);
        passed.as_ptr() as usize
    }

    /// The same, whose word `word` refers to something new.
    fn pass_with(&self, arena: Arena, (ty, word): (ObjectType, usize)) -> (usize, usize) {
        let value = self.pass(arena, ty);
        let behind = new(self.m, node_type(self.heap));
        if word == 1 {
            // How many a trace function looks at.
            put(value, 0, 1);
        }
        link(self.m, value, word, behind);
        (value, behind)
    }
}

fn end(m: &Mutator, arena: Arena, closes: bool) {
    match closes {
        true => arena.close(m),
        false => arena.empty(m),
    }
}

/// Calls `f` on heaps of several sorts, with whether an arena is closed, or emptied.
fn on_heaps(f: impl Fn(&Scene<'_>, bool)) {
    for config in [FULL, YOUNG, FULL.verify(true), YOUNG.verify(true), FULL.stress(true), YOUNG.mark_stack(1)]
    {
        for closes in [true, false] {
            let heap = heap(config);
            let m = attach(&heap);
            f(&Scene::new(&heap, &m), closes);
            m.collect().unwrap();
            assert_swept_and_valid(&heap);
        }
    }
}

#[test]
fn a_stale_pointer_keeps_the_value_and_nothing_behind_it() {
    on_heaps(|scene, closes| {
        let (heap, m) = (scene.heap, scene.m);
        for (name, ty, word) in types(heap, m) {
            for is_old in [false, true] {
                let arena = Arena::open(m, ArenaKind::Escaping);
                let (value, behind) = scene.pass_with(arena, (ty, word));
                if is_old {
                    m.collect().unwrap();
                    assert!(lives(scene.heap, behind) && get(value, word) == behind, "{name}");
                }
                end(m, arena, closes);
                m.collect_young().unwrap();
                m.collect().unwrap();
                assert!(lives(scene.heap, value) && get(scene.holder, 0) == value, "{name}");
                assert!(!lives(scene.heap, behind), "{name}: what it referred to is there yet");
                assert!((0..ty.size() / WORD).all(|word| get(value, word) == 0), "{name}");
                link(m, scene.holder, 0, 0);
            }
        }
    });
}

/// All that a long value referred to goes, however many pages of it were written.
#[test]
fn all_that_a_long_value_referred_to_goes() {
    on_heaps(|scene, closes| {
        let (heap, m) = (scene.heap, scene.m);
        let element = TypeDescriptor::masked(WORD, &[1]).unwrap();
        let table = m.types().type_for(LONG * WORD, slice_scan(&element, 0).unwrap()).unwrap();
        let arena = Arena::open(m, ArenaKind::Escaping);
        let value = scene.pass(arena, table);
        let all = (0..LONG).filter(|i| i % 700 < 3 || *i == LONG - 1);
        let count = all.map(|i| link(m, value, i, new(m, node_type(heap)))).count();
        m.collect().unwrap();
        // The holder, the value, and the arena's header.
        assert_eq!(heap.inspect().stats().live_objects, count + 3);
        end(m, arena, closes);
        m.collect().unwrap();
        assert_eq!(heap.inspect().stats().live_objects, if closes { 2 } else { 3 });
        if !closes {
            arena.close(m);
        }
    });
}

/// What lies behind a stale pointer may be freed at once: no object refers to it. This is what verify mode took for corruption.
#[test]
fn the_program_may_free_what_a_stale_pointers_value_referred_to() {
    on_heaps(|scene, closes| {
        let (heap, m) = (scene.heap, scene.m);
        for (_, ty, word) in types(heap, m) {
            // A value of another arena, which is closed with the promise that nothing refers to it, and an object that is freed.
            for in_arena in [false, true] {
                let arena = Arena::open(m, ArenaKind::Escaping);
                let (value, object) = scene.pass_with(arena, (ty, word));
                let other = Arena::open(m, ArenaKind::Promised);
                if in_arena {
                    let inside = other.value(m, Values::new(8, 2, [0b11, 0, 0, 0]), &[0, 0]);
                    link(m, value, word, inside);
                }
                end(m, arena, closes);
                if !in_arena {
                    free(m, object);
                }
                other.close(m);
                m.collect_young().unwrap();
                m.collect().unwrap();
                assert!(lives(scene.heap, value));
                link(m, scene.holder, 0, 0);
            }
        }
    });
}

#[test]
fn data_without_pointers_stay_as_they_were() {
    on_heaps(|scene, closes| {
        let (heap, m) = (scene.heap, scene.m);
        let arena = Arena::open(m, ArenaKind::Escaping);
        let value = scene.pass(arena, pointer_free(heap, 1 << 20));
        put(value, 70_000, 17);
        end(m, arena, closes);
        m.collect().unwrap();
        assert!(
            lives(scene.heap, value) && get(value, 70_000) == 17,
            "nothing is written where no pointer can be"
        );
    });
}

/// What the program has freed itself, against the rules, is nobody's when the arena ends.
#[test]
fn a_value_that_was_freed_meanwhile_is_left_alone() {
    let heap = heap(FULL);
    let m = attach(&heap);
    let (scene, any) =
        (Scene::new(&heap, &m), heap.types().register(&TypeDescriptor::conservative(304).unwrap()));
    let arena = Arena::open(&m, ArenaKind::Escaping);
    let values: Vec<usize> = (0..3).map(|_| scene.pass(arena, any.unwrap())).collect();
    link(&m, scene.holder, 0, 0);
    for &value in &values {
        free(&m, value);
    }
    arena.close(&m);
    // The cells wait in a chain, which goes through their first words, until nothing else of the span is free.
    let again = (0..1000).filter(|_| values.contains(&new(&m, any.unwrap())));
    assert_eq!(again.count(), 3);
    m.collect().unwrap();
    assert_swept_and_valid(&heap);
}
