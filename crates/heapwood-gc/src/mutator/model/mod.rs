//! loom's models of stopping. The gates, the thread records and the registries are the product's; a mutator has nothing
//! else, and a heap is one word. loom reports a word that two threads access at once, and threads that wait for each
//! other for good. `barrier` has the models of the barrier, with the product's mutators.

mod barrier;
pub(crate) mod fails;

use self::fails::fails;
use super::registry::{Member, Registry};
use super::stop::{Gate, RUNNING, ThreadState};
use super::thread_record::{Left, Part, Place, ThreadRecord};
use core::cell::Cell;
use core::ptr::NonNull;
use core::time::Duration;
use heapwood_os::Lock;
use heapwood_os::threads::lock_order::UNORDERED;
use heapwood_os::threads::sync::{Futex, Ordering};
use loom::cell::UnsafeCell;
use loom::sync::Arc;

/// A thread's part in a heap.
struct Mutator {
    poll: Futex,
    state: Futex,
    next: Cell<*const Mutator>,
    place: Place<Mutator>,
    /// Its cached memory.
    buffers: UnsafeCell<u32>,
}

// SAFETY: as the product's, whose gates leave the rest to its thread or to the thread that has stopped it: the property
// under test.
unsafe impl Sync for Mutator {}
// SAFETY: as above.
unsafe impl Send for Mutator {}

impl Mutator {
    fn new() -> Mutator {
        Mutator {
            poll: Futex::new(0),
            state: Futex::new(RUNNING),
            next: Cell::new(core::ptr::null()),
            place: Place::new(),
            buffers: UnsafeCell::new(0),
        }
    }
}

impl Member for Mutator {
    fn gate(&self) -> Gate<'_> {
        Gate::new(&self.poll, &self.state)
    }

    fn next(&self) -> &Cell<*const Mutator> {
        &self.next
    }

    fn flush(&self) {
        touch(&self.buffers);
    }

    fn retire(&self) -> bool {
        touch(&self.buffers);
        true
    }

    unsafe fn release(_: NonNull<Mutator>) {}
}

impl Part for Mutator {
    fn place(&self) -> &Place<Mutator> {
        &self.place
    }
}

fn touch(word: &UnsafeCell<u32>) {
    // SAFETY: the pointer is the cell's; loom reports concurrent accesses.
    word.with_mut(|p| unsafe { *p += 1 });
}

/// No model forks.
static NO_FORK: core::sync::atomic::AtomicU32 = core::sync::atomic::AtomicU32::new(0);

/// A heap: the collector's lock, the registry, and the words that mutators touch while they run and collectors while
/// none does.
struct Heap {
    marking: Lock<(), UNORDERED>,
    registry: Registry<Mutator>,
    objects: [UnsafeCell<u32>; 2],
}

impl Heap {
    fn new() -> Heap {
        Heap {
            marking: Lock::new(()),
            registry: Registry::new(),
            objects: [UnsafeCell::new(0), UnsafeCell::new(0)],
        }
    }

    fn touch_all(&self) {
        self.objects.iter().for_each(touch);
    }

    /// Collects, on a thread that runs in no heap.
    fn collect(&self) {
        let members = self.registry.lock();
        assert!(members.stop(false, None, |_, _| ()).is_ok());
        self.touch_all();
        members.iter().for_each(Member::flush);
        members.resume();
    }

    /// Collects if all mutators have stopped when they are asked, without waiting.
    fn try_collect(&self) {
        let members = self.registry.lock();
        if members.stop(false, Some(Duration::ZERO), |_, _| ()).is_ok() {
            self.touch_all();
            members.resume();
        }
    }
}

/// A thread with a mutator in each heap; it touches one object of each.
struct Thread<'w> {
    record: ThreadRecord<Mutator>,
    heaps: &'w [Heap],
    mutators: &'w [Mutator],
    object: usize,
}

impl Thread<'_> {
    fn new<'w>(heaps: &'w [Heap], mutators: &'w [Mutator], object: usize) -> Thread<'w> {
        Thread { record: ThreadRecord::new(&NO_FORK), heaps, mutators, object }
    }

    fn away<R>(&self, how: ThreadState, parks_in: impl Fn(&Mutator) -> bool, f: impl FnOnce(Left) -> R) -> R {
        let left = self.record.leave(how, parks_in);
        let result = f(left);
        self.record.enter(left);
        result
    }

    fn attach(&self) {
        for (heap, mutator) in self.heaps.iter().zip(self.mutators) {
            // SAFETY: the mutator is this thread's alone, and the world outlives the threads.
            self.away(
                ThreadState::AtSafepoint,
                |_| true,
                |left| unsafe {
                    self.record.attach(&heap.registry, mutator, left);
                },
            );
        }
    }

    fn run(&self) {
        for (heap, mutator) in self.heaps.iter().zip(self.mutators) {
            touch(&heap.objects[self.object]);
            touch(&mutator.buffers);
        }
    }

    fn poll(&self) {
        if self.mutators.iter().any(|m| m.poll.load(Ordering::Relaxed) != 0) {
            self.away(ThreadState::AtSafepoint, |_| true, |_| ());
        }
    }

    fn block(&self) {
        self.away(ThreadState::InNative, |_| true, |_| ());
    }

    fn run_and_block(&self) {
        self.run();
        self.block();
        self.run();
    }

    /// Collects one heap; meanwhile the thread is stopped in the heaps that `parks` selects.
    fn collect(&self, heap: usize, parks: fn(is_collected: bool) -> bool) {
        let parks_in = |m: &Mutator| parks(core::ptr::eq(m, &self.mutators[heap]));
        let _marking = self.away(ThreadState::AtSafepoint, parks_in, |_| {
            let marking = self.heaps[heap].marking.lock();
            self.heaps[heap].collect();
            marking
        });
    }

    /// Ends without detaching.
    fn end(&self) {
        self.record.iter().for_each(|m| self.record.quit(m));
        while let Some(mutator) = self.record.iter().next().map(NonNull::from) {
            let at = self.mutators.iter().position(|m| core::ptr::eq(m, mutator.as_ptr())).unwrap();
            // SAFETY: it is the thread's, and has quit.
            unsafe { self.record.detach(&self.heaps[at].registry, mutator) };
        }
    }
}

/// Heaps, and the mutators of two threads.
struct World<const HEAPS: usize> {
    heaps: [Heap; HEAPS],
    mutators: [[Mutator; HEAPS]; 2],
}

/// Two collections of the first heap, one after the other.
fn collect_twice(world: &World<1>) {
    world.heaps[0].collect();
    world.heaps[0].collect();
}

/// Runs `one` on a thread with mutators in `HEAPS` heaps, attached or not, concurrently with `other`.
fn model<const HEAPS: usize>(
    preemptions: usize,
    attached: bool,
    one: impl Fn(&Thread<'_>) + Send + Sync + 'static,
    other: impl Fn(&World<HEAPS>) + Send + Sync + 'static,
) {
    let (one, other) = (std::sync::Arc::new(one), std::sync::Arc::new(other));
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(move || {
        let world = Arc::new(World {
            heaps: core::array::from_fn(|_| Heap::new()),
            mutators: core::array::from_fn(|_| core::array::from_fn(|_| Mutator::new())),
        });
        let (theirs, (ready, is_ready)) = (world.clone(), loom::sync::mpsc::channel());
        let one = one.clone();
        let thread = loom::thread::spawn(move || {
            let thread = Thread::new(&theirs.heaps, &theirs.mutators[0], 0);
            if attached {
                thread.attach();
            }
            ready.send(()).unwrap();
            one(&thread);
            thread.end();
        });
        if attached {
            is_ready.recv().unwrap();
        }
        other(&world);
        thread.join().unwrap();
    });
}

#[test]
fn a_polling_mutator_never_touches_the_heap_while_stopped() {
    model::<1>(
        3,
        true,
        |thread| {
            thread.run();
            thread.poll();
            thread.run();
        },
        collect_twice,
    );
}

#[test]
fn a_blocking_region_is_a_stop() {
    model::<1>(3, true, |thread| thread.run_and_block(), collect_twice);
}

#[test]
fn a_thread_that_attaches_and_ends_is_stopped_or_not_there() {
    model::<1>(
        3,
        false,
        |thread| {
            thread.attach();
            thread.run();
        },
        collect_twice,
    );
}

#[test]
fn a_thread_with_two_heaps_runs_in_both_or_in_none() {
    model::<2>(
        2,
        true,
        |thread| thread.run_and_block(),
        |world| {
            world.heaps[0].collect();
            world.heaps[1].collect();
        },
    );
}

#[test]
fn a_blocked_mutator_that_is_emptied_does_not_run() {
    model::<1>(
        2,
        true,
        |thread| thread.run_and_block(),
        |world| {
            let empty = || {
                let members = world.heaps[0].registry.lock();
                for mutator in members.iter().filter(|m| m.gate().is_blocked()) {
                    members.with_stopped(mutator, Member::flush);
                }
            };
            empty();
            empty();
        },
    );
}

#[test]
fn a_stop_that_takes_too_long_harms_nobody() {
    model::<1>(
        3,
        true,
        |thread| thread.run_and_block(),
        |world| {
            world.heaps[0].try_collect();
            world.heaps[0].try_collect();
        },
    );
}

/// Two threads, both attached to the same two heaps, collect one heap each; meanwhile each is stopped in the heaps that
/// `parks` selects.
fn two_heaps(parks: fn(is_collected: bool) -> bool) {
    model::<2>(
        2,
        true,
        move |thread| {
            thread.run();
            thread.collect(0, parks);
            thread.run();
        },
        move |world| {
            let thread = Thread::new(&world.heaps, &world.mutators[1], 1);
            thread.attach();
            thread.run();
            thread.collect(1, parks);
            thread.run();
            thread.end();
        },
    );
}

#[test]
fn two_threads_collect_each_others_heaps() {
    two_heaps(|_| true);
}

/// Threads that are stopped in the heap alone that is collected wait for each other.
#[test]
fn two_threads_that_park_in_one_heap_only_deadlock() {
    fails("deadlock", || two_heaps(|is_collected| is_collected));
}
