//! loom's models of a full marking beside the program and of the barrier that shades for it. Space, state, registry, gates,
//! mutators, barriers and the log are the product's. The pauses and the marker are not: they use those parts as `collect/`
//! and `mark/` do, for a graph of one object with three slots and the three objects that these refer to. The slots and the
//! words of marks are watched (`heapwood-os/threads/watched.rs`); all objects share one word of
//! marks. So a load gives every value that a weakly ordered machine may give. Left out are pages and descriptors, which do
//! not change here (`heapwood-heap/model/beside.rs`), the slow paths of a full log, and young pauses. Planted errors show that
//! the models can fail. Invariant: what the slots held at the start is marked and scanned once, whoever overwrites it.

use super::fails::fails;
use crate::inject::Fault;
use crate::mutator::Mutator;
use crate::mutator::registry::Registry;
use crate::mutator::stop::ThreadState;
use crate::mutator::thread_record::ThreadRecord;
use crate::roots::{StackGiven, ThreadStack};
use crate::settings::options::Config;
use crate::state::barrier_bits::MARK;
use crate::state::remembered::RememberedSet;
use crate::state::{Checks, State};
use crate::weak::ephemerons::Ephemerons;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicUsize as Counter, Ordering};
use heapwood_heap::{
    Collection, MIN_RESERVATION, MarkSide, MarkingView, ObjectRef, ShapeId, Space, SpaceConfig,
};
use heapwood_layout::WORD;
use heapwood_os::SYSTEM;
use heapwood_os::threads::watched::{AtomicUsize, Watch};
use std::sync::Arc;

/// Making a heap needs more stack than loom gives.
const STACK: usize = 256 << 10;
const BYTES: usize = 4 * WORD;
const SLOTS: usize = 3;
/// All four words are slots.
const MASK: [u64; 4] = [0b1111, 0, 0, 0];

fn spawn(f: impl FnOnce() + Send + 'static) -> loom::thread::JoinHandle<()> {
    loom::thread::Builder::new().stack_size(STACK).spawn(f).unwrap()
}

/// A thread that is attached to the heap.
struct Thread {
    mutator: NonNull<Mutator>,
    record: Box<ThreadRecord<Mutator>>,
}

// SAFETY: one thread uses it at a time.
unsafe impl Send for Thread {}
// SAFETY: as above.
unsafe impl Sync for Thread {}

impl Thread {
    fn attach(world: &World) -> Thread {
        let record = Box::new(ThreadRecord::new(&super::NO_FORK));
        // SAFETY: the world outlives the thread.
        let mutator = unsafe { Mutator::map(&SYSTEM, NonNull::from(&*world.state)) }.unwrap();
        // Nobody scans it.
        let stack = ThreadStack::here(StackGiven::End(usize::MAX & !(WORD - 1))).unwrap();
        let left = record.leave(ThreadState::AtSafepoint, |_| true);
        // SAFETY: the mutator is this thread's alone, and the record lives as long as it.
        unsafe {
            Mutator::assign(mutator, stack, &*record);
            record.attach(&world.registry, mutator.as_ref(), left);
        }
        record.enter(left);
        Thread { mutator, record }
    }

    fn mutator(&self) -> &Mutator {
        // SAFETY: it is attached.
        unsafe { self.mutator.as_ref() }
    }

    fn detach(&self, world: &World) {
        self.mutator().give_up();
        // SAFETY: it has quit, and is not used any more.
        unsafe { self.record.detach(&world.registry, self.mutator) };
    }

    fn allocate(&self) -> usize {
        let (mutator, shape) = (self.mutator(), ShapeId::well_known(BYTES, &MASK).unwrap());
        let buffer = mutator.buffer(shape);
        if buffer.peek(BYTES).is_none() {
            mutator.owned().refill(shape, true).unwrap();
        }
        let cell = buffer.peek(BYTES).unwrap();
        // SAFETY: `peek` has just returned it, and it is all zeros.
        unsafe { buffer.commit(cell, BYTES) };
        cell.as_ptr() as usize
    }

    /// Stores the address of the object itself into a slot of it through the barrier.
    fn overwrite(&self, world: &World, slot: usize) {
        let (object, slot) = (ObjectRef::new(world.table), world.slot(slot).cast_mut());
        // SAFETY: the object exists, and this is a slot of it.
        unsafe { self.mutator().barrier().write(object, slot, object.into()) };
    }
}

struct World {
    state: Box<State>,
    registry: Registry<Mutator>,
    /// The object with the slots, and those that they refer to.
    table: usize,
    objects: [usize; SLOTS],
    /// Another object, to which no slot refers.
    other: usize,
    watch: Watch,
}

// SAFETY: the property under test: mutators are their threads', or are stopped.
unsafe impl Send for World {}
// SAFETY: as above.
unsafe impl Sync for World {}

impl World {
    /// A heap whose objects are old, without threads.
    fn new() -> World {
        let config = SpaceConfig {
            reservation: MIN_RESERVATION,
            most: None,
            limit: None,
            huge_pages: false,
            clobber: false,
            keep_freed: false,
            protect_arenas: None,
            single_cells: false,
        };
        let space = Space::new(&SYSTEM, config).unwrap();
        let remembered = RememberedSet::new(&SYSTEM, space.reservation_bytes()).unwrap();
        let ephemerons = Ephemerons::new(&SYSTEM, space.reservation_bytes(), false).unwrap();
        let state = State::new(
            space,
            0,
            &Config::DEFAULT,
            Checks::default(),
            remembered,
            ephemerons,
            &super::NO_FORK,
        );
        let (state, registry, watch) = (Box::new(state), Registry::new(), Watch::new());
        let mut world = World { state, registry, table: 0, objects: [0; SLOTS], other: 0, watch };
        let thread = Thread::attach(&world);
        world.table = thread.allocate();
        world.objects = core::array::from_fn(|_| thread.allocate());
        world.other = thread.allocate();
        for (i, object) in world.objects.iter().enumerate() {
            world.slot_word(i).store(*object, Ordering::Relaxed);
        }
        let left = thread.record.leave(ThreadState::AtSafepoint, |_| true);
        world.make_all_old();
        thread.record.enter(left);
        thread.detach(&world);
        // They do not swap before the end of the model.
        world.state.space().watch_mark(&world.watch, ObjectRef::new(world.table));
        (0..SLOTS).for_each(|i| world.watch.add(world.slot_word(i)));
        world
    }

    fn slot(&self, index: usize) -> *const usize {
        (self.table as *const usize).wrapping_add(index)
    }

    fn slot_word(&self, index: usize) -> &AtomicUsize {
        // SAFETY: a word of an object that exists.
        unsafe { AtomicUsize::from_ptr(self.slot(index).cast_mut()) }
    }

    /// A full collection that finds all alive.
    fn make_all_old(&self) {
        let members = self.registry.lock();
        assert!(members.stop(false, None, |_, _| ()).is_ok());
        members.owners().for_each(|owner| owner.publish());
        {
            // SAFETY: all have stopped.
            let stopped = unsafe { self.state.space().stopped() };
            let side = stopped.mark_side(Collection::Full);
            // SAFETY: objects of this heap, and one thread.
            stopped.for_each_object(|object, _| _ = unsafe { side.set(object.get()) });
            stopped.end_marking(Collection::Full, members.owners(), usize::MAX, 0);
        }
        members.iter().for_each(|mutator| mutator.barrier().begin_cycle());
        members.resume();
        drop(members);
        self.state.space().finish_sweep();
    }

    /// The first pause of a marking: what the slots hold.
    fn start(&self) -> [usize; SLOTS] {
        let space = self.state.space();
        let sizes = (space.reservation_bytes(), space.committed_end());
        self.state.marking_log().begin(&SYSTEM, None, sizes).unwrap();
        let members = self.registry.lock();
        assert!(members.stop(false, None, |_, _| ()).is_ok());
        let snapshot = core::array::from_fn(|i| self.slot_word(i).load(Ordering::Relaxed));
        self.state.set_barrier(MARK, true);
        members.iter().for_each(|mutator| mutator.barrier().begin_cycle());
        members.resume();
        snapshot
    }

    /// The last pause: takes what barriers have noted last.
    fn end(&self, marker: &mut Marker<'_>) {
        let members = self.registry.lock();
        assert!(members.stop(false, None, |_, _| ()).is_ok());
        members.iter().for_each(|mutator| mutator.barrier().close_shaded());
        marker.take_shaded();
        self.state.set_barrier(MARK, false);
        members.iter().for_each(|mutator| mutator.barrier().begin_cycle());
        self.state.marking_log().end(|_| ());
        members.resume();
    }

    fn view(&self) -> MarkingView<'_> {
        // SAFETY: a marking is under way, and no pause runs beside the marker.
        unsafe { self.state.space().marking_view() }
    }

    fn marks(&self) -> MarkSide {
        self.view().mark_side()
    }

    fn inject(&self, fault: Option<Fault>) {
        if let Some(fault) = fault {
            self.state.faults().inject(fault, 1);
        }
    }
}

/// A marker beside the program.
struct Marker<'w> {
    world: &'w World,
    view: MarkingView<'w>,
    marks: MarkSide,
    scanned: Vec<usize>,
}

impl<'w> Marker<'w> {
    fn new(world: &'w World) -> Self {
        Marker { world, view: world.view(), marks: world.marks(), scanned: Vec::new() }
    }

    /// Marks an object, and scans it if it was unmarked. Of the slots it looks at the last first, and mutators at the first.
    fn follow(&mut self, edge: usize) {
        // SAFETY: edges lie in the heap.
        if !unsafe { self.view.is_allocated_in_heap(edge) && self.marks.set(edge) } {
            return;
        }
        self.scanned.push(edge);
        if edge == self.world.table {
            (0..SLOTS).rev().for_each(|i| self.follow(self.world.slot_word(i).load(Ordering::Relaxed)));
        }
    }

    /// Marks and scans what barriers have noted and handed in.
    fn take_shaded(&mut self) {
        while let Some(chunk) = self.world.state.marking_log().take_chunk() {
            (0..chunk.len()).for_each(|i| self.follow(chunk.get(i)));
        }
    }

    /// Checks that the objects of the snapshot are marked, and were scanned once.
    fn check(&mut self, snapshot: [usize; SLOTS]) {
        let overwritten = |object: &usize| *object == self.world.table;
        let found = snapshot.into_iter().filter(|object| !overwritten(object)).chain([self.world.table]);
        for object in found {
            let times = self.scanned.iter().filter(|&&scanned| scanned == object).count();
            assert!(times > 0, "an object of the snapshot is lost");
            assert!(times == 1, "a mark is lost, and an object scanned twice");
            // SAFETY: it is an object, and nobody else marks.
            assert!(!unsafe { self.marks.set(object) }, "a mark is lost");
        }
    }
}

fn model(preemptions: usize, f: impl Fn() + Clone + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 10_000;
    builder.check(move || spawn(f.clone()).join().unwrap());
}

/// Who writes marks beside the program.
#[derive(Clone, Copy)]
enum Marks {
    /// The marker alone.
    Marker,
    /// A mutator, too: that of an object of its own.
    Mutator,
}

/// A mutator overwrites all slots while a marker marks; objects that it shades share a word of marks with those that the
/// marker finds itself. Then it is in a blocking region, where the last pause finds it.
fn a_mutator_shades(marks: Marks, fault: Option<Fault>) {
    // Executions by the number of objects that the barrier has noted, and by those that the marker has found by itself. They
    // are no part of the model.
    static NOTED: [Counter; SLOTS + 1] = [const { Counter::new(0) }; SLOTS + 1];
    static FOUND: [Counter; SLOTS + 1] = [const { Counter::new(0) }; SLOTS + 1];
    model(2, move || {
        let world = Arc::new(World::new());
        world.inject(fault);
        let thread = Arc::new(Thread::attach(&world));
        let left = thread.record.leave(ThreadState::AtSafepoint, |_| true);
        let snapshot = world.start();
        thread.record.enter(left);
        let (theirs, itself) = (world.clone(), thread.clone());
        let mutator = spawn(move || {
            if let Marks::Mutator = marks {
                // SAFETY: contract 2 is broken.
                unsafe { theirs.marks().set(theirs.other) };
            }
            (0..SLOTS).for_each(|i| itself.overwrite(&theirs, i));
            let _ = itself.record.leave(ThreadState::InNative, |_| true);
        });
        let mut marker = Marker::new(&world);
        marker.follow(world.table);
        FOUND[marker.scanned.len() - 1].fetch_add(1, Ordering::Relaxed);
        marker.take_shaded();
        world.end(&mut marker);
        mutator.join().unwrap();
        thread.detach(&world);
        let noted = world.state.marking_log().counts().objects as usize;
        NOTED[noted].fetch_add(1, Ordering::Relaxed);
        marker.check(snapshot);
    });
    for (who, counts) in [("barrier has noted", &NOTED), ("marker has found", &FOUND)] {
        let counts: Vec<usize> = counts.iter().map(|count| count.swap(0, Ordering::Relaxed)).collect();
        println!("executions in which the {who} 0, 1, .. objects: {counts:?}");
        assert!(counts.iter().all(|&executions| executions > 0));
    }
}

/// A thread attaches and overwrites a slot, while a marking starts, looks at the slot, and ends.
fn a_thread_attaches(fault: Option<Fault>) {
    // Executions in which the slot was overwritten before the start, and in which the barrier had to shade.
    static BEFORE: Counter = Counter::new(0);
    static SHADED: Counter = Counter::new(0);
    model(3, move || {
        let world = Arc::new(World::new());
        world.inject(fault);
        let theirs = world.clone();
        let mutator = spawn(move || {
            let thread = Thread::attach(&theirs);
            thread.overwrite(&theirs, 0);
            thread.detach(&theirs);
        });
        let snapshot = world.start();
        let mut marker = Marker::new(&world);
        marker.follow(world.table);
        let has_seen = marker.scanned.contains(&world.objects[0]);
        world.end(&mut marker);
        BEFORE.fetch_add((snapshot[0] == world.table) as usize, Ordering::Relaxed);
        SHADED.fetch_add((snapshot[0] != world.table && !has_seen) as usize, Ordering::Relaxed);
        marker.check(snapshot);
        mutator.join().unwrap();
    });
    let [before, shaded] = [&BEFORE, &SHADED].map(|counter| counter.swap(0, Ordering::Relaxed));
    println!("executions with the slot overwritten before the start: {before}, shaded: {shaded}");
    assert!(before > 0 && shaded > 0);
}

const LOST: &str = "an object of the snapshot is lost";

#[test]
fn what_a_barrier_shades_is_marked_and_scanned_once() {
    a_mutator_shades(Marks::Marker, None);
}

#[test]
fn a_thread_that_attaches_while_a_marking_starts_is_in_the_pause_or_has_its_barrier_on() {
    a_thread_attaches(None);
}

#[test]
fn a_second_thread_that_writes_marks_is_noticed() {
    fails("a mark is lost", || a_mutator_shades(Marks::Mutator, None));
}

#[test]
fn a_barrier_that_does_not_shade_is_noticed() {
    fails(LOST, || a_mutator_shades(Marks::Marker, Some(Fault::ShadeSkipped)));
}

#[test]
fn a_chunk_that_the_last_pause_does_not_take_is_noticed() {
    fails(LOST, || a_mutator_shades(Marks::Marker, Some(Fault::ShadedLost)));
}

#[test]
fn a_thread_that_attaches_without_the_flag_is_noticed() {
    fails(LOST, || a_thread_attaches(Some(Fault::AttachedUnflagged)));
}
