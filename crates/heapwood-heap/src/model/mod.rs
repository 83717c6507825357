//! Models of sweeping, and of spans moving between threads, under loom: the product's lists, lock, hints, mutators and
//! sweeps, in every order of their steps with at most N preemptions. Spans have witnesses (`spans/witness.rs`). Every
//! cell has one here, in which its owner writes its name without any lock. Heaps have a handful of spans of two cells.
//! Invariant: only its owner writes a cell; at the end every span is on one list, and every unswept span has been swept
//! once.

mod beside;
mod left_out;
mod lookups;
mod publication;

use crate::address::Address;
use crate::alloc::alloc_buffer::AllocBuffer;
use crate::alloc::owner::Owner;
use crate::alloc::thread_cache::ThreadCache;
use crate::config::{MIN_RESERVATION, SpaceConfig};
use crate::layout::shape_id::{MAX_SHAPES, ShapeId};
use crate::layout::size_class::{MAX_SMALL, SizeClass};
use crate::marks::Collection;
use crate::reclaim::clock::Sweeping;
use crate::reclaim::sweeper::Sweeper;
use crate::space::Space;
use crate::stopped::Stopped;
use core::ptr::NonNull;
use heapwood_os::threads::lock_order::UNORDERED;
use heapwood_os::{Lock, MappedArray, SYSTEM};
use heapwood_pages::{PAGE_SIZE, PageIndex};
use loom::cell::UnsafeCell;
use loom::thread::{self, JoinHandle};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The most pages of a heap.
const PAGES: usize = 64;
/// Cells of two pages, two in a span; cells of another shape of the same size; and objects of five pages without cells.
const CELL: usize = 2 * PAGE_SIZE;
const ONE: ShapeId = ShapeId::no_pointers(SizeClass::of(CELL));
const OTHER: ShapeId = ShapeId::conservative(SizeClass::of(CELL));
const LARGE: ShapeId = ShapeId::no_pointers(None);
const LARGE_BYTES: usize = MAX_SMALL + 1;

const NOBODY: u32 = 0;
const STACK: usize = 256 << 10;

/// A mutator. Its thread holds the lock while it runs; a thread that stops it takes the lock in between.
struct Mutator {
    buffers: MappedArray<AllocBuffer>,
    cache: MappedArray<ThreadCache>,
    running: Lock<(), UNORDERED>,
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
    space: Space,
    mutators: [Mutator; 2],
    /// The owner of the object that starts in each page.
    owners: Vec<UnsafeCell<u32>>,
    /// Spans and large objects that were unswept as cycles began.
    to_sweep: AtomicU64,
    /// Unswept large objects that were freed, and perhaps not swept.
    freed: AtomicU64,
}

// SAFETY: only the holder of a mutator's lock uses its parts; loom reports unordered accesses to cells.
unsafe impl Sync for World {}
// SAFETY: as above.
unsafe impl Send for World {}

impl World {
    fn new() -> Arc<Self> {
        let config = SpaceConfig {
            reservation: MIN_RESERVATION,
            most: Some(PAGES * PAGE_SIZE),
            limit: None,
            huge_pages: false,
            clobber: false,
            keep_freed: false,
            protect_arenas: None,
            single_cells: false,
        };
        Arc::new(World {
            space: Space::new(&SYSTEM, config).unwrap(),
            mutators: core::array::from_fn(|_| Mutator::new()),
            owners: (0..PAGES).map(|_| UnsafeCell::new(NOBODY)).collect(),
            to_sweep: AtomicU64::new(0),
            freed: AtomicU64::new(0),
        })
    }

    fn sweeper(&self) -> &Sweeper {
        &self.space.sweeper
    }

    /// The owner token of a mutator, for the holder of its lock.
    fn owner(&self, who: usize) -> Owner<'_> {
        let Mutator { buffers, cache, .. } = &self.mutators[who];
        // SAFETY: both are zeroed when new, of this mutator, and live as long as this.
        unsafe { self.space.owner(NonNull::new(buffers.as_ptr()).unwrap(), &*cache.at(0)) }
    }

    fn change_owner(&self, object: usize, from: u32, to: u32) {
        let page = self.sweeper().heap.spans.page_of(object);
        // SAFETY: loom reports concurrent accesses.
        let before = self.owners[page.0].with_mut(|owner| unsafe { core::mem::replace(&mut *owner, to) });
        assert_eq!(before, from, "{page}: an object with two owners");
    }

    /// The address of the first object.
    fn first(&self) -> usize {
        let spans = &self.sweeper().heap.spans;
        spans.address_of(PageIndex(1))
    }

    fn has_owner(&self, object: usize) -> bool {
        let page = self.sweeper().heap.spans.page_of(object);
        // SAFETY: as above.
        self.owners[page.0].with(|owner| unsafe { *owner != NOBODY })
    }

    /// Allocates for a mutator that runs.
    fn allocate(&self, who: usize, shape: ShapeId) -> usize {
        let object = self.allocate_unseen(who, shape);
        self.change_owner(object, NOBODY, who as u32 + 1);
        object
    }

    /// The same without writing the owner of the cell.
    fn allocate_unseen(&self, who: usize, shape: ShapeId) -> usize {
        let object = if shape == LARGE {
            self.space.take_large(LARGE, LARGE_BYTES, false).expect("there is room").finish()
        } else {
            let owner = self.owner(who);
            let buffer = owner.buffer(shape);
            if buffer.peek(CELL).is_none() {
                owner.refill(shape, true).expect("there is room");
            }
            let cell = buffer.peek(CELL).unwrap();
            // SAFETY: `peek` has just returned it, and nothing follows what it holds.
            unsafe { buffer.commit(cell, CELL) };
            cell
        };
        object.as_ptr() as usize
    }

    /// Frees an object of a mutator that runs. A large object may have been swept before.
    fn free(&self, who: usize, object: usize) {
        self.change_owner(object, who as u32 + 1, NOBODY);
        let (heap, page) = (&self.sweeper().heap, self.sweeper().heap.spans.first_page_of(object));
        let was_swept = heap.spans.at(page).is_swept_in(heap.marks.cycle());
        self.freed.fetch_add(!was_swept as u64, Ordering::Relaxed);
        // SAFETY: nothing refers to it.
        unsafe { self.owner(who).free(Address::new(object), false) }.expect("it exists");
    }

    /// Runs a mutator, which does not stop meanwhile.
    fn run(&self, who: usize, f: impl FnOnce()) {
        let _running = self.mutators[who].running.lock();
        f();
    }

    /// Allocates `objects` objects; the mutator may be stopped between any two.
    fn allocate_some(&self, who: usize, shape: ShapeId, objects: usize) {
        (0..objects).for_each(|_| self.run(who, || _ = self.allocate(who, shape)));
    }

    fn flush(&self, who: usize) {
        self.run(who, || self.owner(who).flush());
    }

    /// Stops all mutators, and calls `f` while the heap is stopped.
    fn stop<R>(&self, f: impl FnOnce(&Stopped<'_>) -> R) -> R {
        let _stopped = self.mutators.each_ref().map(|mutator| mutator.running.lock());
        self.owners().for_each(|owner| owner.publish());
        // SAFETY: the mutators are stopped; one thread of a model does this.
        f(&unsafe { self.space.stopped() })
    }

    fn owners(&self) -> impl Iterator<Item = Owner<'_>> + Clone {
        (0..self.mutators.len()).map(|who| self.owner(who))
    }

    /// Collects; the objects that `keep` selects, by their order of address, are alive.
    fn collect(&self, keep: fn(usize) -> bool) {
        self.sweeper().finish();
        self.stop(|stopped| {
            let (mut at, side) = (0, stopped.mark_side(Collection::Full));
            stopped.for_each_object(|object, _| {
                assert!(self.has_owner(object.get()), "an object that no mutator has made");
                if keep(at) {
                    // SAFETY: an object of this heap, and one thread.
                    unsafe { side.set(object.get()) };
                } else {
                    let page = self.sweeper().heap.spans.page_of(object.get());
                    // SAFETY: loom reports concurrent accesses.
                    self.owners[page.0].with_mut(|owner| unsafe { *owner = NOBODY });
                }
                at += 1;
            });
            stopped.end_marking(Collection::Full, self.owners(), usize::MAX, 0);
            self.check_hints();
            let cycle = self.sweeper().heap.marks.cycle();
            stopped.for_each_span(|_, span| {
                self.to_sweep.fetch_add(!span.is_swept_in(cycle) as u64, Ordering::Relaxed);
            });
        });
    }

    /// Three unswept spans: the first without live objects, the second with one, the third with two.
    fn with_unswept() -> Arc<Self> {
        World::with_alive(|at| at > 2)
    }

    /// Three unswept spans; `keep` selects the live ones of their six objects.
    fn with_alive(keep: fn(usize) -> bool) -> Arc<Self> {
        let world = World::new();
        world.allocate_some(0, ONE, 6);
        world.flush(0);
        world.collect(keep);
        // Large objects come first; there are none.
        let sweeper = world.sweeper();
        let large = sweeper.lock().next_sweep_batch(1);
        sweeper.sweep(large.expect("the words of large objects are unswept"));
        world
    }

    /// The same, each with one live object.
    fn with_half_alive() -> Arc<Self> {
        World::with_alive(|at| at % 2 == 0)
    }

    /// Whether a thread sweeps for all.
    fn is_being_swept(&self) -> bool {
        let _central = self.sweeper().lock();
        self.sweeper().is_being_swept()
    }

    /// The work of the background thread.
    fn sweep_some(&self) {
        self.sweeper().sweep_some(Sweeping::Background);
    }

    /// Spans and large objects swept so far, as the sweepers have reported.
    fn swept(&self) -> u64 {
        let who = [Sweeping::Allocation, Sweeping::Background, Sweeping::Collector];
        who.map(|who| self.sweeper().clock.swept_by(who)).iter().sum()
    }

    /// Checks the end, when all mutators have left: everything was swept once, every span is in its place, and no hint
    /// denies spans that exist.
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

    /// Checks that no hint denies spans or freed cells that exist.
    fn check_hints(&self) {
        let (sweeper, mut central) = (self.sweeper(), self.sweeper().lock());
        for shape in [ONE, OTHER] {
            let mut lists = central.lists(shape).all().into_iter();
            let some = lists.any(|listed| listed.may_have_free && !listed.list.is_empty());
            assert!(!some || sweeper.lists.has_some(shape), "spans that no mutator will look for");
            let freed = central.take_freed(shape);
            let freed = freed.len(sweeper.heap.marks.full_cycle());
            assert!(freed == 0 || sweeper.lists.has_freed(shape), "cells that no mutator will look for");
        }
    }
}

/// Sweeping a batch and making a heap need more stack than loom gives.
fn spawn(f: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
    thread::Builder::new().stack_size(STACK).spawn(f).unwrap()
}

/// Plays a model in every order of its steps with at most three preemptions. Making a heap needs more stack than loom gives.
fn play(f: impl Fn() + Clone + Send + Sync + 'static) {
    play_preempted(3, f);
}

/// The same with at most this many preemptions.
fn play_preempted(most: usize, f: impl Fn() + Clone + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(most);
    builder.max_branches = 10_000;
    builder.check(move || spawn(f.clone()).join().unwrap());
}

/// Runs threads in a world until all have ended. The order in which they start costs no preemption.
fn model<const THREADS: usize>(
    preemptions: usize,
    world: fn() -> Arc<World>,
    threads: [fn(&World); THREADS],
) {
    play_preempted(preemptions, move || {
        let world = world();
        let running = threads.map(|thread| {
            let world = world.clone();
            spawn(move || thread(&world))
        });
        running.into_iter().for_each(|thread| thread.join().unwrap());
        world.check_left();
    });
}

/// A mutator takes spans, the background thread sweeps, and a collector sweeps the rest.
#[test]
fn the_first_thread_to_take_a_span_sweeps_it() {
    model(
        2,
        World::with_unswept,
        [
            |world| world.allocate_some(0, ONE, 1),
            World::sweep_some,
            |world| {
                world.sweeper().finish();
                assert!(!world.is_being_swept(), "finish waits for other sweepers");
            },
        ],
    );
}

/// Two mutators take spans that a third had, and then make new ones.
#[test]
fn two_mutators_take_spans() {
    model(
        4,
        World::with_unswept,
        [|world| world.allocate_some(0, ONE, 3), |world| world.allocate_some(1, ONE, 2)],
    );
}

/// A mutator that needs spans of another shape sweeps for all a span that another mutator wants.
#[test]
fn a_mutator_sweeps_for_all() {
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

/// A mutator returns spans, used up or not; another finds them by the hint and takes them.
#[test]
fn returned_spans_are_taken() {
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

/// A cycle ends while the background thread and a mutator sweep for all.
#[test]
fn a_cycle_ends_when_no_thread_sweeps() {
    model(
        2,
        World::with_half_alive,
        [|world| world.allocate_some(0, OTHER, 1), World::sweep_some, |world| world.collect(|_| true)],
    );
}

/// A cycle ends while a mutator has a cached span, and a used-up one.
#[test]
fn cached_spans_are_unswept_when_a_cycle_ends() {
    model(
        3,
        // The second refill takes two spans; one stays cached.
        World::with_half_alive,
        [|world| world.allocate_some(0, ONE, 2), |world| world.collect(|at| at != 1)],
    );
}

/// The thread that has stopped the heap sweeps the rest; the background thread does not sweep meanwhile.
#[test]
fn the_suspending_thread_sweeps_alone() {
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

/// Another mutator finds freed cells by the hint and reuses them.
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

/// A large object is swept while a mutator frees it, then another that it made in the same pages.
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
