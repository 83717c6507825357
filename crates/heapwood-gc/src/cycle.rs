//! One collection: stop the mutators, mark from the roots, let them go. Sweeping is left to allocation.
//!
//! The thread that collects holds the collector's lock from before the first request to stop until after the last
//! resume, and the registry's while the world is stopped; so one collection runs at a time, and threads that want
//! to attach wait. While it waits for the lock it counts as stopped itself.

use crate::error::Misuse;
use crate::heap::{Collector, Heap};
use crate::mark::Marker;
use crate::mutator::Mutator;
use crate::pace::{self, Bounds};
#[cfg(feature = "plant")]
use crate::plant::Planted;
use crate::roots::table::RootKind;
use core::fmt;
use core::sync::atomic::Ordering;
use core::time::Duration;
use heapwood_heap::Stopped;
use heapwood_os::message::write_line;
use heapwood_os::stack::thread_pointer;
use heapwood_os::task::describe_task;
use heapwood_os::{Pagemap, clock};

/// A stop that takes longer than this is worth a word, in verify mode.
const LONG_STOP: Duration = Duration::from_secs(1);

/// What a thread is doing.
struct Doing(u32);

impl fmt::Display for Doing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        describe_task(self.0, f)
    }
}

impl Mutator {
    /// Collects now. A collection that begins after the call has ended when this returns.
    ///
    /// # Errors
    /// The mutator cannot be used now ([`Mutator::check`]), or the thread runs on another stack than that it was attached
    /// with, which cannot be scanned.
    pub fn collect(&self) -> Result<(), Misuse> {
        self.collect_if(|_| true, false)
    }

    /// Collects because an allocation needs it, unless a collection has ended since the heap had counted `seen`.
    pub(crate) fn collect_unless_since(&self, seen: u64) -> Result<(), Misuse> {
        self.collect_if(|heap| heap.cycles.load(Ordering::Acquire) == seen, true)
    }

    #[cold]
    #[inline(never)]
    fn collect_if(&self, wanted: impl Fn(&Heap) -> bool, allocating: bool) -> Result<(), Misuse> {
        let heap = self.heap();
        self.check()?;
        self.with_stack(|| {
            self.gate().block();
            let mut collector = heap.collector.lock();
            // Nobody else can be stopping the world now.
            self.gate().unblock();
            if wanted(heap) {
                let (cpu, began) = (clock::thread_cpu_ns(), clock::monotonic_ns());
                // Those that the program asks for, and those that find enough, are not held against it.
                let counts = allocating && heap.is_near_limit();
                heap.run(self, &mut collector);
                if counts {
                    heap.share.collected(began, clock::monotonic_ns());
                }
                heap.record.lock().collect_cpu_ns += clock::thread_cpu_ns() - cpu;
            }
        })
    }
}

impl Heap {
    fn run(&self, me: &Mutator, collector: &mut Collector) {
        let began = clock::monotonic_ns();
        // Most of what is left to sweep is swept before anyone waits, and the kernel is asked what it has to be asked.
        self.space.finish_sweep();
        let bounds = Bounds {
            least: self.room.min_heap(&self.config),
            limit: self.config.limit,
            soft: self.room.goal(self.space.resident_bytes()),
        };

        let requested = clock::monotonic_ns();
        let registry = self.registry.lock();
        let others = || mutators(registry.first).filter(|m| !core::ptr::eq(*m, me));
        others().for_each(|m| m.gate().request());
        others().for_each(|m| self.await_stopped(m));
        let stopped = clock::monotonic_ns();

        // SAFETY: all others have stopped, and none attaches while the registry's lock is held; one thread collects.
        let world = unsafe { self.space.stopped() };
        for mutator in mutators(registry.first) {
            mutator.owned().flush();
        }
        world.finish_sweep();
        self.watch.before_marking(self);
        if let Some(verify) = &self.verify {
            verify.before_marking(self, &world, registry.first);
        }
        let marking = clock::monotonic_ns();
        self.marking.store(thread_pointer(), Ordering::Relaxed);
        let marked = self.mark(&world, collector, registry.first);
        self.marking.store(0, Ordering::Relaxed);
        let marked_at = clock::monotonic_ns();
        let pace = pace::pace(marked.bytes, self.percent.load(Ordering::Relaxed), bounds);
        self.live.store(marked.bytes, Ordering::Relaxed);
        self.goal.store(pace.goal, Ordering::Relaxed);
        world.end_marking(pace.budget);
        self.watch.after_marking(&world);
        #[cfg(feature = "plant")]
        self.plant.free_survivors(&world);
        if let Some(verify) = &self.verify {
            verify.after_marking(self, &world, registry.first);
        }
        self.cycles.fetch_add(1, Ordering::Release);

        drop(world);
        others().for_each(|m| m.gate().resume());
        drop(registry);
        let ended = clock::monotonic_ns();
        let mut record = self.record.lock();
        record.pauses.record(ended - requested);
        record.stops.record(stopped - requested);
        record.marks.record(marked_at - marking);
        record.sweeps.record(requested - began);
        record.live_objects = marked.objects;
        record.mark_overflows += marked.overflows;
        record.verified += self.verify.is_some() as u64;
        drop(record);
        collector.stacks.settle();
        self.bell.ring();
    }

    /// Waits until a mutator that was asked to stop has; in verify mode it is named if that takes long.
    fn await_stopped(&self, mutator: &Mutator) {
        let mut waited = 0u32;
        while !mutator.gate().await_stopped_for(LONG_STOP) {
            waited += 1;
            // Named once, and now and then as long as it takes.
            if self.verify.is_some() && (waited.is_power_of_two() || waited.is_multiple_of(60)) {
                write_line(format_args!(
                    "heapwood: verify: a collection waits for {}: for {waited} s it has neither polled nor allocated. Calls \
                     that block belong into a blocking region",
                    Doing(mutator.thread)
                ));
            }
        }
    }

    fn mark(&self, world: &Stopped<'_>, collector: &mut Collector, first: *const Mutator) -> Marked {
        let pages = self.space.extent() / heapwood_pages::PAGE_SIZE;
        let words = pages.div_ceil(64);
        if collector.overflow.commit(collector.overflow_words..words).is_ok() {
            collector.overflow_words = collector.overflow_words.max(words);
        }
        let table = (&collector.overflow, collector.overflow_words);
        let touched = Pagemap::new();
        let mut marker = Marker::new((&self.space, world), &mut collector.stacks, &touched, table);
        #[cfg(feature = "plant")]
        {
            marker.plant = Some(&self.plant);
        }
        // Many slots wait in ranges, so until nothing does, threads that are not stopped for this remove no root and move
        // nothing from one handle to another.
        let (roots, handles) = (self.roots.lock(), self.handles.lock());
        roots.for_each(|kind, start, words| match kind {
            RootKind::Slots => marker.push_slots(start, words),
            RootKind::Range => marker.scan_ambiguous(start, start + words * 8),
        });
        // What free handles hold is no address.
        handles.for_each_block(|start, words| marker.push_slots(start, words));
        for mutator in mutators(first) {
            let mut frame = mutator.frames.get();
            while !frame.is_null() {
                // SAFETY: linked frames stay readable until they are popped, and their thread is stopped.
                let f = unsafe { &*frame };
                marker.push_slots(f.slots as usize, f.count);
                frame = f.prev;
            }
            if self.config.conservative_stacks {
                marker.scan_stack(mutator.stack_lowest.get(), mutator.stack.end);
            }
        }
        marker.drain();
        drop((roots, handles));
        Marked { bytes: marker.live_bytes, objects: marker.live_objects, overflows: marker.overflows }
    }
}

/// What a marking found.
struct Marked {
    bytes: usize,
    objects: usize,
    overflows: u64,
}

impl Marker<'_> {
    /// Adds the edges in `words` slots from `start`.
    fn push_slots(&mut self, start: usize, words: usize) {
        #[cfg(feature = "plant")]
        if self.plant.is_some_and(|plant| plant.is(Planted::MissRoot)) {
            return self.push_some_slots(start, words);
        }
        self.scan_slots(start, words);
    }

    /// The same, but for those that the planted error has it overlook.
    #[cfg(feature = "plant")]
    fn push_some_slots(&mut self, start: usize, words: usize) {
        for slot in (start..).step_by(size_of::<usize>()).take(words) {
            // SAFETY: as for `scan_slots`.
            let value = unsafe { (slot as *const usize).read_volatile() };
            let is_edge = value.wrapping_sub(self.base) < self.extent;
            if is_edge && !self.plant.is_some_and(|plant| plant.strikes(Planted::MissRoot)) {
                self.push(value);
            }
        }
    }
}

/// The attached mutators; the registry's lock must be held as long as the iterator is used.
pub(crate) fn mutators<'a>(first: *const Mutator) -> impl Iterator<Item = &'a Mutator> {
    let mut at = first;
    core::iter::from_fn(move || {
        // SAFETY: the list holds attached mutators, and the caller holds the registry's lock.
        let mutator = unsafe { at.as_ref() }?;
        at = mutator.next.get();
        Some(mutator)
    })
}
