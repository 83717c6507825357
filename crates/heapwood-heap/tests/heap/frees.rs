//! Objects that the program frees, and their cells' next use: what a second free gets, and random programs, whose objects never overlap and are all zeros when new.

use crate::space::{CONFIG, Heap, random};
use heapwood_heap::{Address, Collection, ObjectRef, Refusal, ShapeId, SizeClass, SpaceConfig};
use heapwood_layout::TypeDescriptor;
use heapwood_pages::PAGE_SIZE;
use std::collections::{BTreeMap, BTreeSet};

/// A heap whose mutator frees objects.
struct Program {
    heap: Heap,
    /// No other mutator exists.
    alone: bool,
}

impl Program {
    fn new(config: SpaceConfig, alone: bool) -> Self {
        Program { heap: Heap::new(config), alone }
    }

    fn shape(&self, bytes: usize, pointers: bool) -> ShapeId {
        let described = match pointers {
            true => TypeDescriptor::masked(bytes, &[1]),
            false => TypeDescriptor::no_pointers(bytes),
        };
        self.heap.shape(bytes, described.unwrap())
    }

    /// Allocates as a mutator does.
    fn allocate(&self, shape: ShapeId, bytes: usize) -> usize {
        let (owner, cell) = (self.heap.owner(), SizeClass::of(bytes).unwrap().cell_size());
        if owner.buffer(shape).peek(cell).is_none() && !owner.continue_run(shape, false) {
            owner.refill(shape, false).unwrap();
        }
        let object = owner.buffer(shape).peek(cell).unwrap();
        // SAFETY: `peek` has just returned the cell, which is zero where it has pointers.
        unsafe { owner.buffer(shape).commit(object, cell) };
        object.as_ptr() as usize
    }

    fn free(&self, object: usize) -> Result<(), Refusal> {
        // SAFETY: no thread uses it, and there is no other mutator.
        unsafe { self.heap.owner().free(Address::new(object), self.alone) }
    }
}

#[test]
fn a_second_free_is_an_error_wherever_the_cell_waits() {
    for (alone, bytes) in [(true, 48), (false, 48), (false, 1024), (false, 4000)] {
        let program = Program::new(CONFIG, alone);
        let shape = program.shape(bytes, true);
        // So many that the record of what was freed lately cannot have them all.
        let objects: Vec<usize> = (0..(3 << 20) / bytes).map(|_| program.allocate(shape, bytes)).collect();
        let check = |at: &str| {
            for &object in &objects {
                let twice = Refusal::FreedTwice { address: Address::new(object) };
                assert_eq!(program.free(object), Err(twice), "{at}");
                let inside = program.free(object + 8);
                assert!(matches!(inside, Err(Refusal::Inside { .. })), "{at}: {inside:?}");
                assert_eq!(program.heap.owner().find(Address::new(object)), None, "{at}");
            }
        };
        objects.iter().for_each(|&object| program.free(object).unwrap());
        check("freed");
        program.heap.owner().publish();
        check("in a stop");
        // One is used again, and others may wait behind it.
        let first = program.allocate(shape, bytes);
        let mut others = objects.iter().filter(|&&object| object != first);
        assert!(others.all(|&object| program.free(object).is_err()), "{bytes}");
        program.free(first).unwrap();
        check("used once more");
        program.heap.owner().flush();
        check("with all mutators");
        program.heap.check().unwrap();
        // The cells can be used again: no more memory is needed.
        let before = program.heap.space.stats().in_use;
        let before_that: BTreeSet<usize> = objects.iter().copied().collect();
        let again = objects.iter().filter(|_| before_that.contains(&program.allocate(shape, bytes)));
        assert!(again.count() >= objects.len() * 9 / 10, "{bytes}");
        assert!(program.heap.space.stats().in_use <= before + (1 << 20));
    }
}

/// Random allocations and frees, stops, promotions, young and full collections; the program writes into what it has freed, too.
fn play(config: SpaceConfig, alone: bool, seed: u64) {
    let program = Program::new(config, alone);
    let sizes = [16, 32, 64, 96, 240, 640, 1000, 2048, 4000];
    let shapes: Vec<(ShapeId, usize, bool)> = sizes
        .into_iter()
        .flat_map(|bytes| [(bytes, true), (bytes, false)])
        .map(|(bytes, pointers)| (program.shape(bytes, pointers), bytes, pointers))
        .collect();
    let (mut state, mut live) = (seed, BTreeMap::new());
    let mut dead: Vec<usize> = Vec::new();
    for step in 0..30_000 {
        match random(&mut state) % 100 {
            // Mostly one kind for a while, so that runs are long.
            0..52 => {
                let (shape, bytes, pointers) = shapes[(step / 500 + random(&mut state) % 3) % shapes.len()];
                let object = program.allocate(shape, bytes);
                let before = live.range(..object + bytes).next_back();
                assert!(before.is_none_or(|(at, bytes)| at + bytes <= object), "two objects at {object:#x}");
                let words = bytes / 8;
                for word in 0..words {
                    let word = (object + word * 8) as *mut usize;
                    // SAFETY: the object is new, and of this size.
                    unsafe {
                        assert!(!pointers || word.read() == 0, "a new object is not zero");
                        word.write(!object);
                    }
                }
                live.insert(object, bytes);
            }
            52..98 if !live.is_empty() => {
                let from = live.range(live.keys().next().unwrap() + random(&mut state) % (1 << 22)..).next();
                let (&object, &bytes) = from.unwrap_or_else(|| live.iter().next().unwrap());
                for word in 0..bytes / 8 {
                    // SAFETY: the object is alive.
                    let found = unsafe { ((object + word * 8) as *const usize).read() };
                    assert_eq!(found, !object, "someone else has written there");
                }
                live.remove(&object);
                program.free(object).unwrap();
                assert!(program.free(object).is_err());
                dead.push(object);
            }
            98 if random(&mut state).is_multiple_of(20) => {
                program.heap.check().unwrap();
                assert_eq!(program.heap.objects().len(), live.len());
                match random(&mut state) % 5 {
                    0 => program.heap.cycle(live.keys().copied()),
                    3 => program.heap.young_cycle(live.keys().copied()),
                    1 => program.heap.promote(),
                    2 => program.heap.owner().flush(),
                    _ => {}
                }
            }
            _ => {}
        }
    }
    assert!(dead.len() > 5000);
    program.heap.check().unwrap();
    let found: Vec<usize> = program.heap.objects().into_keys().collect();
    assert_eq!(found, live.keys().copied().collect::<Vec<_>>());
}

#[test]
fn random_frees_leave_the_objects_that_were_not_freed() {
    for seed in 1..=8 {
        play(CONFIG, seed % 2 == 0, seed);
        play(SpaceConfig { clobber: true, single_cells: seed % 4 == 0, ..CONFIG }, seed % 2 == 0, seed + 100);
    }
}

/// A program that writes into what it has freed hurts itself only: no cell is given out twice.
#[test]
fn writes_into_freed_cells_do_no_harm() {
    for bytes in [16, 64, 1000, 2048] {
        let program = Program::new(CONFIG, true);
        let shape = program.shape(bytes, true);
        let (mut state, mut live) = (7, BTreeMap::new());
        for _ in 0..4 {
            let objects: Vec<usize> =
                (0..(2 << 20) / bytes).map(|_| program.allocate(shape, bytes)).collect();
            for &object in &objects {
                assert_eq!(live.insert(object, ()), None, "given out twice");
            }
            for &object in objects.iter().filter(|object| *object / bytes % 3 != 0) {
                live.remove(&object);
                program.free(object).unwrap();
                // A link, a number of cells, or anything else.
                let word = match random(&mut state) % 4 {
                    0 => !objects[random(&mut state) % objects.len()],
                    1 => !(random(&mut state) % 600),
                    2 => random(&mut state),
                    _ => continue,
                };
                // SAFETY: the cell is memory of the heap, which only this thread uses.
                unsafe { ((object + random(&mut state) % 2 * 8) as *mut usize).write(word) };
            }
            program.heap.owner().publish();
        }
        assert!(live.len() > 1000);
    }
}

/// A marker beside the program may scan a cell that waits in a run, to which a stray word has led it, while the run goes back.
#[test]
fn a_run_that_goes_back_during_a_marking_is_not_written() {
    const SIZE: usize = 64;
    const FREED: usize = 40;
    let program = Program::new(CONFIG, false);
    let (heap, shape) = (&program.heap, program.shape(SIZE, true));
    let owners = || std::iter::once_with(|| heap.owner());
    let made: Vec<usize> = (0..PAGE_SIZE / SIZE * 64).map(|_| program.allocate(shape, SIZE)).collect();
    heap.cycle(made.iter().copied());
    heap.space.finish_sweep();
    // The buffer has no span any more, so what is freed comes first.
    heap.owner().flush();
    // Its first objects are in spans that it shares.
    let freed = &made[made.len() / 2..][..FREED];
    freed.iter().for_each(|&object| program.free(object).unwrap());
    heap.owner().publish();
    {
        let stopped = heap.stopped();
        stopped.promote(owners());
        stopped.begin_marking();
        stopped.end_marking(Collection::Young, owners(), usize::MAX, 0);
    }
    heap.space.finish_sweep();
    let first = program.allocate(shape, SIZE);
    assert!(freed.contains(&first), "a freed cell is used first");
    heap.owner().flush();
    let waiting = || freed.iter().filter(|&&cell| cell != first);
    for &cell in waiting() {
        // SAFETY: the cell is memory of the heap, which only this thread uses.
        let words = unsafe { core::slice::from_raw_parts(cell as *const usize, SIZE / 8) };
        assert_eq!(words, [0; SIZE / 8], "a link in a cell that a marker may scan");
        assert!(heap.space.is_freed(ObjectRef::new(cell)));
    }
    heap.owner().publish();
    {
        let stopped = heap.stopped();
        let marks = stopped.mark_side(Collection::Full);
        for &object in made.iter().filter(|object| !freed.contains(object)).chain([&first]) {
            // SAFETY: objects of this space; one thread.
            unsafe { marks.set(object) };
        }
        stopped.promote_marked(owners());
        stopped.end_marking(Collection::Full, owners(), usize::MAX, 0);
    }
    heap.space.finish_sweep();
    heap.check().unwrap();
    let again: BTreeSet<usize> = (1..FREED).map(|_| program.allocate(shape, SIZE)).collect();
    assert!(waiting().all(|cell| again.contains(cell)), "the sweep finds the cells");
}
