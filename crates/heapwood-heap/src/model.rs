//! Models of sweeping, and of spans changing hands, under loom: the product's lists, lock, hints, mutators and sweeps, in
//! every order of their steps up to so many preemptions. Spans have witnesses (`spans/witness.rs`); every cell has one here, in
//! which its owner writes its name without any lock. Heaps have a handful of spans of two cells. Invariant: a cell is written by
//! its owner only, and at the end every span is on one list, and what was to be swept has been, once.

mod publication;

use crate::address::Address;
use crate::alloc::alloc_buffer::AllocBuffer;
use crate::alloc::allocator::Allocator;
use crate::alloc::large::LargePages;
use crate::alloc::owner::Owner;
use crate::alloc::thread_cache::ThreadCache;
use crate::config::{MIN_WINDOW, SpaceConfig};
use crate::layout::shape_id::{MAX_SHAPES, ShapeId};
use crate::layout::size_class::{MAX_SMALL, SizeClass};
use crate::marks::Collection;
use crate::reclaim::clock::Sweeping;
use crate::reclaim::sweeper::Sweeper;
use crate::stopped::Stopped;
use core::ptr::NonNull;
use heapwood_os::{Lock, MappedArray, SYSTEM};
use heapwood_pages::{PAGE_SIZE, PageIndex};
use loom::cell::UnsafeCell;
use loom::thread::{self, JoinHandle};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The pages of a heap at most.
const PAGES: usize = 64;
/// Cells of two pages, two of which are a span; others of as many; and objects without cells, of five.
const CELL: usize = 2 * PAGE_SIZE;
const ONE: ShapeId = ShapeId::no_pointers(SizeClass::of(CELL));
const OTHER: ShapeId = ShapeId::conservative(SizeClass::of(CELL));
const LARGE: ShapeId = ShapeId::no_pointers(None);
const LARGE_BYTES: usize = MAX_SMALL + 1;

const NOBODY: u32 = 0;
const STACK: usize = 256 << 10;

/// A mutator; its thread holds the lock while it runs, and who stops it while it does not.
struct Mutator {
    buffers: MappedArray<AllocBuffer>,
    cache: MappedArray<ThreadCache>,
    running: Lock<()>,
}

impl Mutator {
    fn new() -> Self {
        let (buffers, cache) = (MappedArray::new(&SYSTEM, MAX_SHAPES), MappedArray::new(&SYSTEM, 1));
        let mutator = Mutator { buffers: buffers.unwrap(), cache: cache.unwrap(), running: Lock::new(()) };
        mutator.buffers.commit(0..MAX_SHAPES).unwrap();
        mutator.cache.commit(0..1).unwrap();
        mutator
    }
}

struct World {
    allocator: Allocator,
    mutators: [Mutator; 2],
    /// Who has the object that starts in a page.
    owners: Vec<UnsafeCell<u32>>,
    /// How many spans and large objects were unswept as cycles began.
    to_sweep: AtomicU64,
    /// How many large objects that were unswept have been freed, and perhaps not swept.
    freed: AtomicU64,
}

// SAFETY: a mutator's parts are used by who holds its lock; of cells loom reports accesses that are in no order.
unsafe impl Sync for World {}
// SAFETY: as above.
unsafe impl Send for World {}

impl World {
    fn new() -> Arc<Self> {
        let config = SpaceConfig {
            window: MIN_WINDOW,
            most: Some(PAGES * PAGE_SIZE),
            limit: None,
            huge_pages: false,
            clobber: false,
            protect_arenas: false,
            single_cells: false,
        };
        Arc::new(World {
            allocator: Allocator::new(&SYSTEM, &config).unwrap(),
            mutators: core::array::from_fn(|_| Mutator::new()),
            owners: (0..PAGES).map(|_| UnsafeCell::new(NOBODY)).collect(),
            to_sweep: AtomicU64::new(0),
            freed: AtomicU64::new(0),
        })
    }

    fn sweeper(&self) -> &Sweeper {
        self.allocator.sweeper()
    }

    /// To be used by who holds the mutator's lock.
    fn owner(&self, who: usize) -> Owner<'_> {
        let Mutator { buffers, cache, .. } = &self.mutators[who];
        // SAFETY: both are zeroed when new, of this mutator, and live as long as this.
        unsafe { Owner::new(&self.allocator, NonNull::new(buffers.as_ptr()).unwrap(), &*cache.at(0)) }
    }

    fn change_owner(&self, object: usize, from: u32, to: u32) {
        let page = self.sweeper().heap().spans().page_of(object);
        // SAFETY: loom reports an access that is not the only one.
        let before = self.owners[page.0].with_mut(|owner| unsafe { core::mem::replace(&mut *owner, to) });
        assert_eq!(before, from, "{page}: an object with two owners");
    }

    /// Where the first object may be.
    fn first(&self) -> usize {
        let spans = self.sweeper().heap().spans();
        spans.address_of(PageIndex(1))
    }

    fn has_owner(&self, object: usize) -> bool {
        let page = self.sweeper().heap().spans().page_of(object);
        // SAFETY: as above.
        self.owners[page.0].with(|owner| unsafe { *owner != NOBODY })
    }

    /// Allocates for a mutator that runs.
    fn allocate(&self, who: usize, shape: ShapeId) -> usize {
        let object = self.allocate_unseen(who, shape);
        self.change_owner(object, NOBODY, who as u32 + 1);
        object
    }

    /// The same of an object whose cell nobody writes.
    fn allocate_unseen(&self, who: usize, shape: ShapeId) -> usize {
        let object = if shape == LARGE {
            let shape = (LARGE, self.allocator.shapes().get(LARGE));
            LargePages::take(self.sweeper(), shape, LARGE_BYTES, false).expect("there is room").finish()
        } else {
            let owner = self.owner(who);
            let buffer = owner.buffer(shape);
            if buffer.peek(CELL).is_none() {
                owner.refill(shape, true).expect("there is room");
            }
            let cell = buffer.peek(CELL).unwrap();
            // SAFETY: it was peeked at just now, and holds what was there, which nothing follows.
            unsafe { buffer.commit(cell, CELL) };
            cell
        };
        object.as_ptr() as usize
    }

    /// A mutator that runs frees what it has allocated. A large object may have been swept before.
    fn free(&self, who: usize, object: usize) {
        self.change_owner(object, who as u32 + 1, NOBODY);
        let (heap, page) = (self.sweeper().heap(), self.sweeper().heap().spans().first_page_of(object));
        let was_swept = heap.spans().at(page).is_swept_in(heap.marks().cycle());
        self.freed.fetch_add(!was_swept as u64, Ordering::Relaxed);
        // SAFETY: nothing refers to it.
        unsafe { self.owner(who).free(Address::new(object)) }.expect("it exists");
    }

    /// Runs a mutator, which does not stop meanwhile.
    fn run(&self, who: usize, f: impl FnOnce()) {
        let _running = self.mutators[who].running.lock();
        f();
    }

    /// Allocates N objects, between any two of which the mutator may be stopped.
    fn allocate_some(&self, who: usize, shape: ShapeId, objects: usize) {
        (0..objects).for_each(|_| self.run(who, || _ = self.allocate(who, shape)));
    }

    fn flush(&self, who: usize) {
        self.run(who, || self.owner(who).flush());
    }

    /// Stops all, and calls `f` while the heap stands still.
    fn stop<R>(&self, f: impl FnOnce(&Stopped<'_>) -> R) -> R {
        let _stopped = self.mutators.each_ref().map(|mutator| mutator.running.lock());
        self.owners().for_each(|owner| owner.publish());
        // SAFETY: the mutators are stopped; one thread of a model does this.
        f(&unsafe { Stopped::new(self.sweeper(), self.allocator.shapes()) })
    }

    fn owners(&self) -> impl Iterator<Item = Owner<'_>> + Clone {
        (0..self.mutators.len()).map(|who| self.owner(who))
    }

    /// A collection, which finds those objects alive of which `keep` says so, by their order of address.
    fn collect(&self, keep: fn(usize) -> bool) {
        self.sweeper().finish();
        self.stop(|stopped| {
            let (mut at, side) = (0, stopped.mark_side(Collection::Full));
            stopped.for_each_object(|object, _| {
                assert!(self.has_owner(object.get()), "an object that nobody has made");
                if keep(at) {
                    // SAFETY: an object of this heap, and one thread.
                    unsafe { side.set(object.get()) };
                } else {
                    let page = self.sweeper().heap().spans().page_of(object.get());
                    // SAFETY: loom reports an access that is not the only one.
                    self.owners[page.0].with_mut(|owner| unsafe { *owner = NOBODY });
                }
                at += 1;
            });
            stopped.end_marking(Collection::Full, self.owners(), usize::MAX, 0);
            self.check_hints();
            let cycle = self.sweeper().heap().marks().cycle();
            stopped.for_each_span(|_, span| {
                self.to_sweep.fetch_add(!span.is_swept_in(cycle) as u64, Ordering::Relaxed);
            });
        });
    }

    /// Three spans, all unswept: the first has no object alive, the second one, and the third two.
    fn with_unswept() -> Arc<Self> {
        World::with_alive(|at| at > 2)
    }

    /// Three spans, all unswept; of their six objects so many are alive.
    fn with_alive(keep: fn(usize) -> bool) -> Arc<Self> {
        let world = World::new();
        world.allocate_some(0, ONE, 6);
        world.flush(0);
        world.collect(keep);
        // Large objects come first, of which there are none.
        let sweeper = world.sweeper();
        let large = sweeper.next_sweep_batch(&mut sweeper.lock(), 1);
        sweeper.sweep(large.expect("the words of large objects are unswept"));
        world
    }

    /// The same, each with one object alive.
    fn with_half_alive() -> Arc<Self> {
        World::with_alive(|at| at % 2 == 0)
    }

    /// What the heap's own thread does.
    fn sweep_some(&self) {
        self.sweeper().sweep_some(Sweeping::Background);
    }

    /// How many spans and large objects have been swept, as whoever did it has said.
    fn swept(&self) -> u64 {
        self.sweeper().clock().times().spans.iter().sum()
    }

    /// Everybody has left: what was to be swept has been, once, every span is where it must be, and nobody will
    /// think that there is none where there are some.
    fn check_left(&self) {
        self.stop(|stopped| stopped.is_valid(self.owners()).unwrap());
        self.owners().for_each(|owner| owner.flush());
        self.sweeper().finish();
        let (most, freed) = (self.to_sweep.load(Ordering::Relaxed), self.freed.load(Ordering::Relaxed));
        let swept = self.swept();
        assert!((most - freed..=most).contains(&swept), "{swept} swept of {most}, {freed} freed");
        self.stop(|stopped| stopped.is_valid(self.owners()).unwrap());
        self.check_hints();
    }

    /// Nobody thinks that there is nothing where there is something.
    fn check_hints(&self) {
        let (sweeper, mut central) = (self.sweeper(), self.sweeper().lock());
        for shape in [ONE, OTHER] {
            let mut lists = sweeper.lists(&mut central, shape).all().into_iter();
            let some = lists.any(|listed| listed.may_have_free && !listed.list.is_empty());
            assert!(!some || sweeper.has_some(shape), "spans that nobody will look for");
            let freed = central.take_freed(sweeper.heap(), sweeper.demand(), shape);
            let freed = freed.len(sweeper.heap().marks().full_cycle());
            assert!(freed == 0 || sweeper.has_freed(shape), "cells that nobody will look for");
        }
    }
}

/// Sweeping a batch and making a heap need more stack than loom gives.
fn spawn(f: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
    thread::Builder::new().stack_size(STACK).spawn(f).unwrap()
}

/// Runs threads in a world until all have ended; which is first, second and third costs no preemption.
fn model<const THREADS: usize>(
    preemptions: usize,
    world: fn() -> Arc<World>,
    threads: [fn(&World); THREADS],
) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 10_000;
    builder.check(move || {
        let run = move || {
            let world = world();
            let running = threads.map(|thread| {
                let world = world.clone();
                spawn(move || thread(&world))
            });
            running.into_iter().for_each(|thread| thread.join().unwrap());
            world.check_left();
        };
        spawn(run).join().unwrap()
    });
}

/// A mutator takes spans home, the heap's own thread sweeps, and a collector does what is left.
#[test]
fn whoever_gets_there_first_sweeps_a_span() {
    model(
        2,
        World::with_unswept,
        [
            |world| world.allocate_some(0, ONE, 1),
            World::sweep_some,
            |world| {
                world.sweeper().finish();
                assert!(!world.sweeper().lock().is_being_swept(), "who finishes waits for others");
            },
        ],
    );
}

/// Two mutators take what a third had, and then make new spans.
#[test]
fn two_mutators_take_spans_home() {
    model(
        4,
        World::with_unswept,
        [|world| world.allocate_some(0, ONE, 3), |world| world.allocate_some(1, ONE, 2)],
    );
}

/// A mutator that needs spans of another shape sweeps one for everyone, which another wants.
#[test]
fn a_mutator_sweeps_for_everyone() {
    model(
        2,
        World::with_half_alive,
        [
            |world| world.allocate_some(0, OTHER, 1),
            |world| world.allocate_some(1, ONE, 2),
            |world| world.sweeper().finish(),
        ],
    );
}

/// What a mutator gives back, used up or not, is taken by another, which finds it by the hint.
#[test]
fn what_is_given_back_is_taken() {
    model(
        3,
        World::with_unswept,
        [
            |world| {
                world.allocate_some(0, ONE, 2);
                world.flush(0);
            },
            |world| {
                world.allocate_some(1, ONE, 1);
                world.flush(1);
                world.allocate_some(1, ONE, 1);
            },
        ],
    );
}

/// A cycle ends while the heap's own thread and a mutator sweep for everyone.
#[test]
fn a_cycle_ends_when_nobody_sweeps() {
    model(
        2,
        World::with_half_alive,
        [|world| world.allocate_some(0, OTHER, 1), World::sweep_some, |world| world.collect(|_| true)],
    );
}

/// A cycle ends while a mutator has a span in the cache, and one that is used up.
#[test]
fn what_waits_at_home_is_unswept_when_a_cycle_ends() {
    model(
        3,
        // The second central refill brings two spans, of which one waits.
        World::with_half_alive,
        [|world| world.allocate_some(0, ONE, 2), |world| world.collect(|at| at != 1)],
    );
}

/// Who has stopped the heap sweeps what is left, and the heap's own thread does not meanwhile.
#[test]
fn who_has_suspended_sweeping_sweeps_alone() {
    model(
        2,
        World::with_unswept,
        [
            World::sweep_some,
            |world| world.allocate_some(0, ONE, 1),
            |world| {
                world.stop(|stopped| {
                    stopped.finish_sweep();
                    stopped.is_valid(world.owners()).unwrap();
                })
            },
        ],
    );
}

/// Cells that one mutator has freed are used by another, which finds them by the hint.
#[test]
fn a_freed_cell_is_used_by_another() {
    model(
        3,
        World::new,
        [
            |world| {
                world.run(0, || {
                    let cells = [world.allocate(0, ONE), world.allocate(0, ONE)];
                    cells.into_iter().for_each(|cell| world.free(0, cell));
                });
                world.flush(0);
                world.allocate_some(0, ONE, 1);
            },
            |world| world.allocate_some(1, ONE, 3),
        ],
    );
}

/// A large object is swept while a mutator frees it, and then another that it has made in its pages.
#[test]
fn a_large_object_is_freed_while_it_is_swept() {
    model(
        3,
        || {
            let world = World::new();
            world.allocate_some(0, LARGE, 2);
            world.collect(|at| at == 0);
            world
        },
        [World::sweep_some, |world| {
            world.run(0, || {
                world.free(0, world.first());
                world.free(0, world.allocate(0, LARGE));
            })
        }],
    );
}
