//! Objects that the program frees, and their cells' next use: what a second free gets, and random programs, whose objects never overlap and are all zeros when new.

use crate::space::{CONFIG, Heap, random};
use heapwood_heap::{Address, Collection, MAX_SMALL, ObjectRef, Refusal, ShapeId, SizeClass, SpaceConfig};
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
        let Some(class) = SizeClass::of(bytes) else { return self.heap.allocate(shape, bytes).unwrap() };
        let (owner, cell) = (self.heap.owner(), class.cell_size());
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

/// Random allocations and frees, stops, promotions, young and full collections, at which objects die.
fn play(config: SpaceConfig, alone: bool, seed: u64) {
    let program = Program::new(config, alone);
    let heap = &program.heap;
    let sizes = [16, 32, 64, 96, 240, 640, 1000, 2048, 4000, 5000, MAX_SMALL, MAX_SMALL + 8, 100_000];
    let shapes: Vec<(ShapeId, usize, bool)> = sizes
        .into_iter()
        .flat_map(|bytes| [(bytes, true), (bytes, false)])
        .map(|(bytes, pointers)| (program.shape(bytes, pointers), bytes, pointers))
        .collect();
    let small = 2 * 9;
    let (mut state, mut live) = (seed, BTreeMap::new());
    let mut freed = 0;
    for step in 0..30_000 {
        match random(&mut state) % 100 {
            // Mostly one kind for a while, so that runs are long; now and then an object of many pages.
            0..52 => {
                let kind = match random(&mut state) % 60 {
                    0 => small + random(&mut state) % (shapes.len() - small),
                    _ => (step / 500 + random(&mut state) % 3) % small,
                };
                let (shape, bytes, pointers) = shapes[kind];
                let object = program.allocate(shape, bytes);
                let before = live.range(..object + bytes).next_back();
                assert!(before.is_none_or(|(at, bytes)| at + bytes <= object), "two objects at {object:#x}");
                for word in 0..bytes / 8 {
                    let word = (object + word * 8) as *mut usize;
                    // SAFETY: the object is new, and of this size.
                    unsafe {
                        assert!(!pointers || word.read() == 0, "a new object is not zero");
                        word.write(!object);
                    }
                }
                let found = heap.owner().find(Address::new(object + bytes - 1));
                assert_eq!(found.map(|found| found.base), Some(ObjectRef::new(object)));
                live.insert(object, bytes);
            }
            52..90 if !live.is_empty() => {
                let from = live.range(live.keys().next().unwrap() + random(&mut state) % (1 << 22)..).next();
                let (&object, &bytes) = from.unwrap_or_else(|| live.iter().next().unwrap());
                is_whole(object, bytes);
                live.remove(&object);
                program.free(object).unwrap();
                assert!(program.free(object).is_err());
                freed += 1;
            }
            98 if random(&mut state).is_multiple_of(4) => {
                heap.check().unwrap();
                match random(&mut state) % 5 {
                    0 => {
                        live.retain(|_, _| random(&mut state) % 8 < 5);
                        heap.cycle(live.keys().copied());
                    }
                    1 => heap.promote(),
                    2 => heap.owner().flush(),
                    3 => {
                        let is_old = |object| heap.space.is_old(Address::new(object));
                        live.retain(|&object, _| is_old(object) || random(&mut state) % 8 < 5);
                        heap.young_cycle(live.keys().copied());
                    }
                    _ => {}
                }
                // Mostly spans are swept as they are needed.
                if random(&mut state).is_multiple_of(4) {
                    heap.space.finish_sweep();
                    heap.check().unwrap();
                    assert!(heap.objects().into_keys().eq(live.keys().copied()), "seed {seed}, step {step}");
                    live.iter().for_each(|(&object, &bytes)| is_whole(object, bytes));
                }
            }
            _ => {}
        }
    }
    assert!(freed > 5000);
    // Buffers keep their spans from the end of a cycle until the next sweep.
    for _ in 0..2 {
        heap.owner().flush();
        heap.cycle(core::iter::empty());
        heap.space.finish_sweep();
        heap.check().unwrap();
    }
    assert_eq!((heap.objects().len(), heap.space.stats().in_use), (0, 0));
}

/// All words of an object are as they were written.
fn is_whole(object: usize, bytes: usize) {
    // SAFETY: the object is alive.
    let words = unsafe { core::slice::from_raw_parts(object as *const usize, bytes / 8) };
    assert!(words.iter().all(|&word| word == !object), "someone else has written there");
}

#[test]
fn the_objects_exist_that_neither_were_freed_nor_died() {
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
