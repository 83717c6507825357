//! Types that a program describes: what their pointers reach lives and nothing else does, in small objects and large ones,
//! alone and in slices, with stacks that overflow, in verify and stress mode. And an array of 2 GiB of which ten pages are
//! in use costs what those pages cost.

use heapwood_gc::{Config, Heap, Mutator, ObjectType, Refusal};
use heapwood_gc_testing::*;
use heapwood_heap::{ProgramId, Scan};
use heapwood_layout::program::{Builder, ProgramBuf, ProgramErrorKind};
use std::collections::BTreeMap;

/// A type, and which of its words are pointers.
struct Described {
    ty: ObjectType,
    id: ProgramId,
    pointers: Vec<usize>,
}

fn describe<const N: usize>(heap: &Heap, program: ProgramBuf<N>) -> Described {
    let words = program.words() as usize;
    let mut bits = vec![0; words.div_ceil(64)];
    program.program().decode(&mut bits, 0);
    let pointers = (0..words).filter(|word| bits[word / 64] >> (word % 64) & 1 == 1).collect();
    let (ty, id) = heap.types().register_program(words * WORD, program.bytes()).unwrap();
    Described { ty, id, pointers }
}

fn types(heap: &Heap) -> Vec<Described> {
    let cell = Builder::<64>::new().pointer().scalars(2);
    let row = Builder::<64>::new().array(cell.body(), 3, 10).pointer();
    vec![
        describe(heap, Builder::<64>::new().pointers(5).finish()),
        describe(heap, Builder::<64>::new().scalars(3).pointers(2).scalars(4).pointer().finish()),
        describe(heap, Builder::<64>::new().scalars(299).pointer().finish()),
        describe(heap, Builder::<64>::new().array(row.body(), 31, 20).scalars(77).finish()),
        describe(heap, Builder::<64>::new().array(row.body(), 40, 100).pointers(1).finish()),
        describe(heap, Builder::<64>::new().pointers(5000).finish()),
        describe(heap, Builder::<64>::new().scalars(100_000).pointer().scalars(100_000).pointers(3).finish()),
        describe(heap, Builder::<64>::new().array(row.body(), 40, 1000).scalars(9).finish()),
        describe(heap, nine_dimensions().finish()),
    ]
}

/// An array in so many dimensions, each with a gap behind every element: more loops than a nest has.
fn nine_dimensions() -> Builder<128> {
    let mut all = Builder::new().scalars(64).pointer();
    for _ in 0..9 {
        all = Builder::new().array(all.body(), all.words() + 1, 2).pointer();
    }
    all
}

/// How many objects a round makes.
const OBJECTS: usize = 40;

/// An object of the model: its pointers by word.
type Model = BTreeMap<usize, BTreeMap<usize, usize>>;

/// Random graphs; whoever the root reaches must be found again, and there must be no others.
fn play(config: Config, seed: u64, rounds: usize) {
    let heap = heap(config);
    let types = types(&heap);
    let mut roots = Slots::new(&heap, 4);
    // What a round makes lives until its end.
    let mut kept = Slots::new(&heap, OBJECTS);
    let mutator = attach(&heap);
    let mut random = Rng::new(seed);
    let mut model = Model::new();
    for _ in 0..rounds {
        for k in 0..OBJECTS {
            let described = &types[random.below(types.len())];
            let elements = random.below(4);
            let (object, words, first) = if elements == 0 {
                let object = mutator.allocate(described.ty).unwrap().as_ptr() as usize;
                (object, described.ty.size() / WORD, 0)
            } else {
                slice(&mutator, described, elements)
            };
            let element = described.ty.size() / WORD;
            let mut edges = BTreeMap::new();
            let targets: Vec<usize> = model.keys().copied().collect();
            for start in (first..words).step_by(element) {
                for _ in 0..3 {
                    let word = start + described.pointers[random.below(described.pointers.len())];
                    if targets.is_empty() {
                        continue;
                    }
                    let target = targets[random.below(targets.len())];
                    put(object, word, target);
                    edges.insert(word, target);
                }
                // What is no pointer may hold anything.
                for word in [0, element / 2, element - 1] {
                    if described.pointers.binary_search(&word).is_err() {
                        put(object, start + word, usize::MAX - 6);
                    }
                }
            }
            assert!(model.insert(object, edges).is_none(), "handed out twice");
            kept.set(k, object);
        }
        for k in 0..OBJECTS {
            if random.below(3) == 0 {
                roots.set(random.below(4), kept.get(k));
            }
            kept.set(k, 0);
        }
        mutator.collect().unwrap();
        let mut reached: Vec<usize> = (0..4).map(|k| roots.get(k)).filter(|&object| object != 0).collect();
        let mut alive = Model::new();
        while let Some(object) = reached.pop() {
            if let Some(edges) = model.remove(&object) {
                reached.extend(edges.values());
                alive.insert(object, edges);
            }
        }
        model = alive;
        for (&object, edges) in &model {
            for (&word, &target) in edges {
                assert_eq!(get(object, word), target);
            }
            assert_eq!(heap.objects().find(object + 8).map(|o| o.base.get()), Some(object));
        }
        assert_eq!(heap.inspect().stats().live_objects, model.len());
    }
    heap.memory().finish_sweep();
    drop(mutator);
    assert_valid(&heap);
}

/// A slice of so many elements after a word of length; where its first element begins.
fn slice(mutator: &Mutator, described: &Described, elements: usize) -> (usize, usize, usize) {
    let bytes = WORD + elements * described.ty.size();
    let ty = mutator.types().type_for(bytes, Scan::Program { header: 1, program: described.id }).unwrap();
    let object = mutator.allocate_zeroed(ty).unwrap().as_ptr() as usize;
    put(object, 0, elements);
    (object, bytes / WORD, 1)
}

#[test]
fn what_programs_point_to_lives() {
    for seed in 1..=8 {
        play(PRECISE, seed * 77, 12);
    }
}

#[test]
fn what_programs_point_to_lives_with_a_mark_stack_of_one() {
    for seed in 1..=4 {
        play(PRECISE.mark_stack(1), seed * 131, 8);
        play(PRECISE.mark_stack(7), seed * 131, 8);
    }
}

#[test]
fn what_programs_point_to_lives_in_verify_and_stress_mode() {
    play(PRECISE.verify(true), 5, 6);
    play(PRECISE.stress(true), 6, 2);
}

#[test]
fn a_wrong_program_is_refused_with_its_byte() {
    let heap = heap(PRECISE);
    let Err(Refusal::Program(e)) = heap.types().register_program(24, &[0x02, 0x01, 0x82, 0x01, 0x00]) else {
        panic!()
    };
    assert_eq!((e.at, e.kind), (2, ProgramErrorKind::TooLong { words: 3, emitted: 2 }));
    let said = heap.types().register_program(24, &[0x02, 0x01, 0x00]).unwrap_err().to_string();
    assert!(said.contains("byte 2") && said.contains("the type has 3 words"), "{said}");
    assert!(matches!(heap.types().register_program(20, &[0x02, 0x01, 0x00]), Err(Refusal::Layout(_))));
    assert!(heap.types().register_program(16, &[0x02, 0x01, 0x00]).is_ok());
}

#[test]
fn what_lies_behind_a_type_of_one_word_is_no_pointer() {
    let heap = heap(PRECISE);
    let mut roots = Slots::new(&heap, 1);
    let mutator = attach(&heap);
    let described = describe(&heap, Builder::<8>::new().pointer().finish());
    let object = mutator.allocate(described.ty).unwrap().as_ptr() as usize;
    roots.set(0, object);
    // The cell has room for two words.
    // SAFETY: both are the object's cell's.
    unsafe {
        (object as *mut usize).write(object);
        (object as *mut usize).add(1).write(object + 1024);
    }
    mutator.collect().unwrap();
    assert_eq!(heap.inspect().stats().live_objects, 1);
}

/// As a daemon does, and another file then has the number that one of the collector's had: one full of zeros, which would
/// say that no page was ever written to.
#[test]
fn a_program_may_close_what_it_has_not_opened() {
    use std::os::fd::{FromRawFd, OwnedFd};
    in_child(|| {
        let heap = heap(PRECISE);
        let program = Builder::<16>::new().pointers(2 << 20).finish();
        let (array, _) = heap.types().register_program(16 << 20, program.bytes()).unwrap();
        let node = node_type(&heap);
        let mut roots = Slots::new(&heap, 1);
        let mutator = attach(&heap);
        let object = mutator.allocate(array).unwrap().as_ptr() as usize;
        roots.set(0, object);
        for k in 0..10 {
            let target = mutator.allocate(node).unwrap().as_ptr() as usize;
            put(object, 1 + k * 200_000, target);
        }
        mutator.collect().unwrap();
        assert_eq!(heap.inspect().stats().live_objects, 11);
        let listed: Vec<i32> = std::fs::read_dir("/proc/self/fd")
            .unwrap()
            .filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok())
            .collect();
        // The list's own is closed by now.
        let open = listed
            .into_iter()
            .filter(|fd| *fd > 2 && std::fs::read_link(format!("/proc/self/fd/{fd}")).is_ok());
        // SAFETY: they are open, and whoever opened them has to live with it: that is the test.
        open.for_each(|fd| drop(unsafe { OwnedFd::from_raw_fd(fd) }));
        let zeros: Vec<std::fs::File> = (0..20).map(|_| std::fs::File::open("/dev/zero").unwrap()).collect();
        mutator.collect().unwrap();
        assert_eq!(heap.inspect().stats().live_objects, 11);
        drop(zeros);
    });
}

#[test]
#[ignore = "of the long suite: memory that the kernel counts"]
fn an_array_of_two_gigabytes_costs_what_is_used_of_it() {
    in_child(|| {
        for huge_pages in [false, true] {
            let heap = heap(PRECISE.address_space(8 << 30).huge_pages(huge_pages).background_release(false));
            let program = Builder::<16>::new().pointers(1 << 28).finish();
            assert_eq!(program.bytes().len(), 8);
            let (array, _) = heap.types().register_program(2 << 30, program.bytes()).unwrap();
            let node = node_type(&heap);
            let mut roots = Slots::new(&heap, 1);
            let mutator = attach(&heap);
            // Whatever the first objects and the first collection need.
            roots.set(0, mutator.allocate(node).unwrap().as_ptr() as usize);
            mutator.collect().unwrap();
            let before = resident();
            let object = mutator.allocate(array).unwrap().as_ptr() as usize;
            roots.set(0, object);
            let slots: Vec<usize> = (0..10).map(|k| k * ((1 << 28) / 10) + 77).collect();
            for (k, &slot) in slots.iter().enumerate() {
                let target = mutator.allocate(node).unwrap().as_ptr() as usize;
                put(target, 2, k);
                put(object, slot, target);
            }
            let used = resident() - before;
            assert!(used < MIB, "{used}");
            for _ in 0..2 {
                mutator.collect().unwrap();
                let used = resident() - before;
                assert!(used < MIB, "after a collection: {used}");
                assert_eq!(heap.inspect().stats().live_objects, 11);
                for (k, &slot) in slots.iter().enumerate() {
                    assert_eq!(get(get(object, slot), 2), k);
                }
            }
            assert_eq!(heap.objects().find(object + (1 << 30) + 8).map(|o| o.base.get()), Some(object));
            // It goes, and what comes next finds zeros.
            roots.set(0, 0);
            mutator.collect().unwrap();
            heap.memory().finish_sweep();
            assert_eq!(heap.inspect().stats().live_objects, 0);
            let again = mutator.allocate(array).unwrap().as_ptr() as usize;
            for &slot in &slots {
                assert_eq!(get(again, slot), 0);
            }
            let used = resident() - before;
            assert!(used < 2 * MIB, "{used}");
        }
    });
}
