//! The heap: a space, the mutators attached to it, its roots, and the collector's own memory. Everything hangs off
//! it; there is no global state. It lives in mapped memory at a fixed address, since mutators point to it.

use crate::attach::Registry;
use crate::config::Config;
use crate::error::HeapError;
use crate::mark::MarkStacks;
use crate::mutator::Mutator;
use crate::pace::{self, Bounds, CollectorShare};
use crate::room::{self, Room};
use crate::roots::table::RootKind;
use crate::roots::{Handle, HandleError, Handles, MAX_HANDLES, RootError, RootToken, Roots};
use crate::scavenger::{Bell, Scavenger};
use crate::stats::{Histogram, Stats};
use crate::verify::Verify;
use crate::watch::Watch;
use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use heapwood_heap::{Address, MIN_WINDOW, Object, Space, SpaceConfig, rounded_window};
use heapwood_os::timed_lock::TickClock;
use heapwood_os::{KernelRef, Lock, MOST_KERNEL_PAGE, MappedArray, MappedBox, TimedLock, clock};
use heapwood_pages::PAGE_SIZE;

/// A heap is near its limit when less than one part in so many is left.
const NEAR: usize = 16;
/// A small heap has room for fewer handles: one for so many bytes of its window.
const WINDOW_BYTES_A_HANDLE: usize = 256;

/// What one collection at a time uses.
pub(crate) struct Collector {
    pub(crate) stacks: MarkStacks,
    /// A bit for every page: a span that starts here has marked objects that were not scanned.
    pub(crate) overflow: MappedArray<u64>,
    /// Words of it that are committed; what lies beyond has no bits if the kernel refused more.
    pub(crate) overflow_words: usize,
}

/// What the collector has done.
pub(crate) struct Record {
    pub(crate) pauses: Histogram,
    /// Until all mutators had stopped.
    pub(crate) stops: Histogram,
    pub(crate) marks: Histogram,
    /// Sweeping what was left of the cycle before, by the thread that collects and before the others have to stop.
    pub(crate) sweeps: Histogram,
    pub(crate) live_objects: usize,
    pub(crate) collect_cpu_ns: u64,
    pub(crate) mark_overflows: u64,
    pub(crate) verified: u64,
}

/// A garbage-collected heap.
pub struct Heap {
    pub(crate) kernel: KernelRef,
    pub(crate) config: Config,
    pub(crate) percent: AtomicU32,
    pub(crate) space: Space,
    pub(crate) registry: TimedLock<Registry>,
    pub(crate) collector: Lock<Collector>,
    pub(crate) roots: TimedLock<Roots>,
    pub(crate) handles: TimedLock<Handles>,
    /// The thread pointer of the thread that marks, while one does.
    pub(crate) marking: AtomicUsize,
    pub(crate) share: CollectorShare,
    pub(crate) room: Room,
    ticks: TickClock,
    pub(crate) record: Lock<Record>,
    pub(crate) verify: Option<Verify>,
    pub(crate) cycles: AtomicU64,
    pub(crate) live: AtomicUsize,
    pub(crate) goal: AtomicUsize,
    /// What the scavenger waits for, and the bytes it has released.
    pub(crate) bell: Bell,
    pub(crate) released: AtomicU64,
    pub(crate) watch: Watch,
    #[cfg(feature = "plant")]
    pub(crate) plant: crate::plant::Plant,
}

/// A heap that its owner keeps in place. Dropping it releases all its memory at once.
pub struct HeapBox {
    // Dropped first.
    _scavenger: Option<Scavenger>,
    heap: MappedBox<Heap>,
}

impl core::ops::Deref for HeapBox {
    type Target = Heap;
    fn deref(&self) -> &Heap {
        &self.heap
    }
}

impl Heap {
    /// Makes a heap with memory from `kernel`.
    pub fn create(kernel: KernelRef, config: Config) -> Result<HeapBox, HeapError> {
        config.check()?;
        if kernel.page_size() > MOST_KERNEL_PAGE {
            return Err(HeapError::KernelPages { bytes: kernel.page_size() });
        }
        let room = Room::find(&config)?;
        let mut window = rounded_window(room::window(&config));
        loop {
            match Self::in_window(kernel, config, room, window) {
                Err(HeapError::Kernel(_)) if window > MIN_WINDOW => window /= 2,
                done => return done,
            }
        }
    }

    /// Makes a heap with a window of this size. All else that it needs addresses for is had with it or not at all, and
    /// something is left for the program.
    fn in_window(kernel: KernelRef, config: Config, room: Room, window: usize) -> Result<HeapBox, HeapError> {
        let margin = room::hold_margin(kernel)?;
        let space = Space::new(
            kernel,
            SpaceConfig {
                window,
                most: room.most(),
                limit: config.limit,
                huge_pages: config.huge_pages,
                clobber: config.verify,
                single_cells: config.stress,
            },
        )?;
        let bounds = Bounds { least: room.min_heap(&config), limit: config.limit, soft: room.goal(0) };
        let first = pace::pace(0, config.percent, bounds);
        space.set_budget(first.budget);
        let pages = space.window_bytes() / PAGE_SIZE;
        let heap = Heap {
            kernel,
            config,
            percent: AtomicU32::new(config.percent),
            registry: TimedLock::new(Registry::EMPTY),
            collector: Lock::new(Collector {
                stacks: match config.mark_stack {
                    Some(edges) => MarkStacks::new(kernel, edges)?,
                    None => MarkStacks::usual(kernel, space.window_bytes())?,
                },
                overflow: MappedArray::new(kernel, pages.div_ceil(64))?,
                overflow_words: 0,
            }),
            roots: TimedLock::new(Roots::new(kernel)?),
            handles: TimedLock::new(Handles::new(kernel, MAX_HANDLES.min(window / WINDOW_BYTES_A_HANDLE))?),
            room,
            marking: AtomicUsize::new(0),
            share: CollectorShare::new(clock::monotonic_ns()),
            ticks: TickClock::start(),
            record: Lock::new(Record {
                pauses: Histogram::new(),
                stops: Histogram::new(),
                marks: Histogram::new(),
                sweeps: Histogram::new(),
                live_objects: 0,
                collect_cpu_ns: 0,
                mark_overflows: 0,
                verified: 0,
            }),
            verify: if config.verify { Some(Verify::new(kernel, &space)?) } else { None },
            space,
            cycles: AtomicU64::new(0),
            live: AtomicUsize::new(0),
            goal: AtomicUsize::new(first.goal),
            bell: Bell::default(),
            released: AtomicU64::new(0),
            watch: Watch::new(),
            #[cfg(feature = "plant")]
            plant: Default::default(),
        };
        let heap = MappedBox::new(kernel, heap)?;
        drop(margin);
        // SAFETY: the box keeps the heap in place, and HeapBox drops the scavenger first.
        let scavenger = config.background_release.then(|| unsafe { Scavenger::start(&heap) });
        // Without the thread a heap goes on: it gives memory back when it is asked to.
        let scavenger = scavenger.and_then(Result::ok);
        Ok(HeapBox { _scavenger: scavenger, heap })
    }

    /// The settings it was made with.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The error planted in it, for tests of the tests.
    #[cfg(feature = "plant")]
    pub fn plant(&self) -> &crate::plant::Plant {
        &self.plant
    }

    /// The memory it manages.
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// Changes the growth percentage, from the next collection on.
    pub fn set_percent(&self, percent: u32) -> Result<(), HeapError> {
        if percent == 0 || percent > Config::MAX_PERCENT {
            return Err(HeapError::Percent { percent });
        }
        self.percent.store(percent, Ordering::Relaxed);
        Ok(())
    }

    /// The calling thread's mutator, if it is attached.
    pub fn current_mutator(&self) -> Option<&Mutator> {
        // SAFETY: it is attached, and only this thread can detach it.
        crate::thread::mutator_of(self).map(|mutator| unsafe { mutator.as_ref() })
    }

    /// How many threads are attached.
    pub fn mutators(&self) -> usize {
        self.registry.lock().count
    }

    /// Makes `words` slots from `slots` roots: each holds null, an address outside the heap, or the address of an
    /// object.
    ///
    /// # Errors
    /// The table of roots is full, or the kernel gives no memory for more of it.
    ///
    /// # Safety
    /// 1. The slots stay readable, and hold such values whenever a collection may run, until the root is removed.
    pub unsafe fn add_root_slots(&self, slots: *const usize, words: usize) -> Result<RootToken, RootError> {
        self.roots.lock().add(RootKind::Slots, slots as usize, words)
    }

    /// Makes the words in `start..end` ambiguous roots.
    ///
    /// # Errors
    /// As [`Heap::add_root_slots`].
    ///
    /// # Safety
    /// 1. The range stays readable until the root is removed.
    pub unsafe fn add_root_range(&self, start: usize, end: usize) -> Result<RootToken, RootError> {
        let start = start.next_multiple_of(size_of::<usize>());
        self.roots.lock().add(RootKind::Range, start, end.saturating_sub(start) / size_of::<usize>())
    }

    /// Removes a root; false if the token names none.
    pub fn remove_root(&self, token: RootToken) -> bool {
        self.roots.lock().remove(token)
    }

    /// Makes a handle that keeps the object at `object` alive (0 for none yet).
    ///
    /// # Errors
    /// The table of handles is full, or the kernel gives no memory for more of it.
    pub fn new_handle(&self, object: usize) -> Result<Handle, HandleError> {
        self.handles.lock().new_handle(object)
    }

    /// Frees a handle; false if it is not held.
    pub fn free_handle(&self, handle: Handle) -> bool {
        self.handles.lock().free_handle(handle)
    }

    /// The object that `addr` points to or into. Objects made since the last collection may be missing (see
    /// [`Mutator::find`]).
    pub fn find(&self, addr: usize) -> Option<Object> {
        self.space.find(Address::new(addr))
    }

    /// Gives the memory of all free pages back to the kernel now, and returns how many bytes that may have been. Only
    /// what a collection has found dead is free: collect first. Threads go on meanwhile; what they have set aside (up
    /// to half a MiB each) stays.
    pub fn release_free_memory(&self) -> usize {
        let released = self.space.release_all();
        self.released.fetch_add(released as u64, Ordering::Relaxed);
        released
    }

    /// Whether a collection that is due or may help is worth it. Near the limit each finds little, and without a bound a
    /// program would do nothing but collect; far from it there is no bound, for what a collection would find is refused to
    /// nobody.
    pub(crate) fn may_collect_near_limit(&self) -> bool {
        !self.is_near_limit() || self.share.allows(clock::monotonic_ns())
    }

    /// Whether the last collection found so much alive that little is left below what bounds the heap: a sixteenth.
    pub(crate) fn is_near_limit(&self) -> bool {
        let bound = self.config.limit.or(self.room.most());
        bound.is_some_and(|bound| self.live.load(Ordering::Relaxed) >= bound - bound / NEAR)
    }

    /// Whether a collection has ended since the heap had counted `seen`, or half of what the last one left has been handed
    /// out since; and that was not little.
    pub(crate) fn was_used_up(&self, seen: u64) -> bool {
        let most = self.config.limit.unwrap_or(self.space.most_bytes());
        let left = most.saturating_sub(self.live.load(Ordering::Relaxed));
        let handed_out = || self.space.stats().allocated_in_cycle;
        left > most / 8 && (self.cycles.load(Ordering::Acquire) != seen || handed_out() >= left / 2)
    }

    /// The figures at this moment.
    pub fn stats(&self) -> Stats {
        let figures = self.space.stats();
        let held = |ticks: u64| self.ticks.ns(ticks);
        let record = self.record.lock();
        Stats {
            collections: self.cycles.load(Ordering::Relaxed),
            live_bytes: self.live.load(Ordering::Relaxed),
            live_objects: record.live_objects,
            goal_bytes: self.goal.load(Ordering::Relaxed),
            allocated_bytes: figures.total_allocated,
            in_use_bytes: figures.in_use,
            committed_bytes: figures.grown,
            backed_bytes: figures.resident,
            released_bytes: self.released.load(Ordering::Relaxed),
            spans: figures.spans,
            span_visits: figures.span_lock_acquisitions,
            page_visits: figures.page_lock_acquisitions,
            collect_cpu_ns: record.collect_cpu_ns,
            pause_p50_ns: record.pauses.quantile(0.5),
            pause_p99_ns: record.pauses.quantile(0.99),
            pause_max_ns: record.pauses.max,
            pause_total_ns: record.pauses.sum,
            stop_p99_ns: record.stops.quantile(0.99),
            stop_max_ns: record.stops.max,
            stop_total_ns: record.stops.sum,
            mark_p99_ns: record.marks.quantile(0.99),
            mark_max_ns: record.marks.max,
            mark_total_ns: record.marks.sum,
            sweep_p99_ns: record.sweeps.quantile(0.99),
            sweep_max_ns: record.sweeps.max,
            sweep_total_ns: record.sweeps.sum,
            hold_spans_max_ns: held(figures.hold_spans),
            hold_pages_max_ns: held(figures.hold_pages),
            hold_types_max_ns: held(figures.hold_types),
            hold_threads_max_ns: held(self.registry.longest_hold()),
            hold_roots_max_ns: held(self.roots.longest_hold()),
            hold_handles_max_ns: held(self.handles.longest_hold()),
            mark_overflows: record.mark_overflows,
            barrier_violations: self.verify.as_ref().map_or(0, Verify::violations),
            verified: record.verified,
        }
    }
}
