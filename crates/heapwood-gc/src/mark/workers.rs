//! The helper threads of a parallel marking. A heap starts them when help is first profitable, and they sleep between
//! collections. A helper that comes too late finds the marking closed and sleeps on, so the collector waits for no
//! thread that the kernel does not run.
//!
//! Invariants: a helper uses the heap only between joining a pool and leaving it, and a collection ends after all have
//! left; helpers end before their heap does; a forked child has none, does not look at what they share, and starts its
//! own when that is profitable.

use super::blocks::Blocks;
use super::marker_pool::MarkerPool;
use super::mode::{Asked, turns_away};
use super::mode::{Composed, Concurrent, Full, Scope, Snapshot, Together, Unlimited, UntilAsked};
use super::queue::{Graph, MarkTotals, Marker};
use super::stack::MarkStacks;
use crate::lock_order::MARK_TOTALS;
use crate::roots::ScanRoots;
use core::cell::UnsafeCell;
use core::ffi::c_void;
use core::ops::Range;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use heapwood_os::process::clock::thread_cpu_ns;
use heapwood_os::threads::futex::{wait, wake};
use heapwood_os::threads::stack::thread_pointer;
use heapwood_os::{KernelRef, Lock, Mapped, MappedBox, OsError, Pagemap, Thread, for_each_mapping_of};

/// Bytes of a helper's stack, on which trace functions run.
const STACK: usize = 256 << 10;
/// Bit of `call`: the helpers are to end.
const STOP: u32 = 1;
/// Added to `call` by each marking.
const MARKING: u32 = 2;
/// Blocks for each marker: one that it fills or empties, and some on their way.
const BLOCKS_EACH: usize = 4;

type TogetherMode<'h, S> = Composed<Together<'h>, S, Unlimited>;
type BesideMode<'h> = Composed<Together<'h>, Snapshot, UntilAsked<'h>>;

/// Shared by the collector and its helpers.
struct WorkersShared {
    pool: MarkerPool,
    blocks: Blocks,
    /// Changes with each marking; helpers sleep on it.
    call: AtomicU32,
    /// The marking's job: valid while the pool is open, and until all have left.
    job: AtomicPtr<Job<'static>>,
    totals: Lock<HelperTotals, MARK_TOTALS>,
}

/// What to mark.
#[derive(Clone, Copy)]
enum Part<'h> {
    /// All of a stopped heap.
    All,
    /// What a concurrent marking has left, in a stop.
    Rest,
    /// The snapshot, beside the program, until somebody asks.
    Snapshot(&'h Asked<'h>),
}

/// A part of a graph to mark.
struct Job<'h> {
    graph: Graph<'h>,
    part: Part<'h>,
}

/// A marker's place in a pool.
type Place<'h> = (&'h MarkerPool, &'h Blocks);

impl Job<'_> {
    /// Marks as a member of the pool; `begin` gives the collector's marker its first edges.
    fn mark(
        &self,
        pool: Place<'_>,
        stacks: &mut MarkStacks,
        waits: bool,
        begin: impl FnOnce(&mut dyn ScanRoots),
    ) -> MarkTotals {
        match self.part {
            Part::All => self.mark_stopped(Full, pool, stacks, waits, begin),
            Part::Rest => self.mark_stopped(Snapshot, pool, stacks, waits, begin),
            Part::Snapshot(asked) => self.beside_program(asked, pool, stacks, waits),
        }
    }

    fn mark_stopped<S: Scope>(
        &self,
        scope: S,
        pool: Place<'_>,
        stacks: &mut MarkStacks,
        waits: bool,
        begin: impl FnOnce(&mut dyn ScanRoots),
    ) -> MarkTotals {
        let world = self.graph.world.expect("helpers mark a stopped heap");
        let mode: TogetherMode<'_, S> =
            Composed { team: Together::new(world, pool, waits), scope, limit: Unlimited };
        let pagemap = Pagemap::new();
        let mut marker = Marker::new(self.graph, stacks, &pagemap, mode);
        begin(&mut marker);
        marker.drain()
    }

    /// Marks beside the program, and leaves nothing, or what is on the stacks when it was asked.
    fn beside_program(
        &self,
        asked: &Asked<'_>,
        pool: Place<'_>,
        stacks: &mut MarkStacks,
        waits: bool,
    ) -> MarkTotals {
        let log = self.graph.state.marking_log();
        let turns_away = turns_away(log, asked);
        let mode = Composed {
            team: Together::beside_program(pool, waits),
            scope: Snapshot,
            limit: UntilAsked(&turns_away),
        };
        let pagemap = Pagemap::new();
        let mut marker = Marker::<BesideMode<'_>>::new(self.graph, stacks, &pagemap, mode);
        marker.mark_shared(log, asked, waits);
        marker.totals()
    }
}

/// The totals of the helpers in a marking, and their CPU time.
#[derive(Clone, Copy, Default)]
pub(super) struct HelperTotals {
    pub(super) marked: MarkTotals,
    pub(super) cpu_ns: u64,
    /// The number of helpers that took part.
    pub(super) workers: usize,
}

/// The state of one helper.
struct WorkerTask {
    shared: *const WorkersShared,
    /// The helper's number.
    number: usize,
    /// The helper's while it is a member of the pool, else the collector's: what a helper was asked to leave lies there.
    stacks: UnsafeCell<MarkStacks>,
}

/// A helper thread.
struct MarkWorker {
    task: WorkerTask,
    thread: Option<Thread>,
    /// The helper that was started before it.
    next: Option<MappedBox<MarkWorker>>,
}

/// The helpers of one heap.
pub(super) struct Workers {
    /// The helper that was started last.
    last: Option<MappedBox<MarkWorker>>,
    shared: MappedBox<WorkersShared>,
    started: usize,
}

// SAFETY: the pointers lead to mapped memory that stays until the threads have ended; only its thread uses a task.
unsafe impl Send for Workers {}

impl Workers {
    /// Starts N threads, or as many as the kernel grants. `stacks` makes the stacks of each.
    ///
    /// # Errors
    /// The kernel refuses the memory that they share.
    pub(super) fn start(
        kernel: KernelRef,
        workers: usize,
        stacks: impl Fn() -> Result<MarkStacks, OsError>,
    ) -> Result<Self, OsError> {
        let blocks = Blocks::new(kernel, BLOCKS_EACH * (workers + 1))?;
        let shared = WorkersShared {
            pool: MarkerPool::new(blocks.len()),
            blocks,
            call: AtomicU32::new(0),
            job: AtomicPtr::new(null_mut()),
            totals: Lock::new(HelperTotals::default()),
        };
        let mut all = Workers { last: None, shared: MappedBox::new(kernel, shared)?, started: 0 };
        // A heap goes on with fewer helpers than it wants.
        while all.started < workers && all.start_one(kernel, stacks()).is_ok() {}
        Ok(all)
    }

    fn start_one(&mut self, kernel: KernelRef, stacks: Result<MarkStacks, OsError>) -> Result<(), OsError> {
        let stacks = UnsafeCell::new(stacks?);
        let task = WorkerTask { shared: &raw const *self.shared, number: self.started, stacks };
        let mut worker = MappedBox::new(kernel, MarkWorker { task, thread: None, next: None })?;
        let argument = (&raw const worker.task).cast_mut().cast();
        // SAFETY: the task, and what it points to, stay in place until the thread has been joined (`drop`). A panic
        // that leaves the thread ends the process.
        worker.thread = Some(unsafe { kernel.start_thread(c"heapwood-marker", STACK, entry, argument) }?);
        worker.next = self.last.take();
        self.last = Some(worker);
        self.started += 1;
        Ok(())
    }

    fn is_one(&self, so: impl FnOnce(&Thread) -> bool) -> bool {
        self.last.as_ref().and_then(|worker| worker.thread.as_ref()).is_some_and(so)
    }

    /// Whether this process has helpers: a forked child has none.
    pub(super) fn are_here(&self) -> bool {
        self.is_one(Thread::is_here)
    }

    /// Whether the helpers belong to the parent of this forked child.
    pub(super) fn are_gone(&self) -> bool {
        self.is_one(|thread| !thread.is_here())
    }

    /// Marks with at most N helpers: all that `begin` leads to, or also what a concurrent marking has left on `stacks`. The
    /// calling thread takes part. Also returns the number of threads that marked.
    pub(super) fn mark(
        &self,
        (graph, is_snapshot): (Graph<'_>, bool),
        stacks: &mut MarkStacks,
        most: usize,
        begin: impl FnOnce(&mut dyn ScanRoots),
    ) -> (MarkTotals, u64) {
        let part = if is_snapshot { Part::Rest } else { Part::All };
        let job = Job { graph, part };
        let (mine, totals) = self.with_helpers(&job, most, |pool| job.mark(pool, stacks, false, begin));
        let (helpers_cpu_ns, helpers) = (totals.cpu_ns, totals.workers as u32);
        (MarkTotals { helpers_cpu_ns, helpers, ..mine.plus(totals.marked) }, totals.workers as u64 + 1)
    }

    /// Marks beside the program with at most N helpers, until it is `asked` to leave what is not marked, or nothing was left
    /// for a moment. The calling thread takes part; all that is left lies on its `stacks` then. Returns its totals and the helpers'.
    pub(super) fn mark_beside(
        &mut self,
        graph: Graph<'_>,
        stacks: &mut MarkStacks,
        most: usize,
        asked: &Asked<'_>,
    ) -> (MarkTotals, HelperTotals) {
        let job = Job { graph, part: Part::Snapshot(asked) };
        let (mine, helped) =
            self.with_helpers(&job, most, |pool| job.beside_program(asked, pool, stacks, false));
        let (pagemap, mode) =
            (Pagemap::new(), Composed { team: Concurrent, scope: Snapshot, limit: UntilAsked(asked) });
        let mut marker = Marker::new(graph, stacks, &pagemap, mode);
        self.each(|stacks| marker.take_over(stacks));
        (mine.plus(marker.totals()), helped)
    }

    /// Opens the pool for this job, calls at most N helpers and marks; returns when all have left.
    fn with_helpers<R>(
        &self,
        this: &Job<'_>,
        most: usize,
        mark: impl FnOnce(Place<'_>) -> R,
    ) -> (R, HelperTotals) {
        let WorkersShared { pool, blocks, call, job, totals } = &*self.shared;
        *totals.lock() = HelperTotals::default();
        job.store((&raw const *this).cast_mut().cast(), Ordering::Relaxed);
        pool.open(most);
        call.fetch_add(MARKING, Ordering::Release);
        wake(call, most.min(i32::MAX as usize) as i32);
        let mine = mark((pool, blocks));
        // Nobody joins a marking that has ended; when all have left, nobody uses the job.
        pool.close();
        job.store(null_mut(), Ordering::Relaxed);
        let totals = *totals.lock();
        (mine, totals)
    }

    /// Gives memory back after a deep marking.
    pub(super) fn trim(&mut self) {
        self.each(MarkStacks::trim);
    }

    /// Calls `f` with the stacks of each helper.
    fn each(&mut self, mut f: impl FnMut(&mut MarkStacks)) {
        let mut at = self.last.as_ref();
        while let Some(worker) = at {
            // SAFETY: a helper uses its stacks only as a member of the pool, which has none outside `with_helpers`; that
            // borrows the workers, which are borrowed exclusively here.
            f(unsafe { &mut *worker.task.stacks.get() });
            at = worker.next.as_ref();
        }
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.shared.call.fetch_or(STOP, Ordering::Release);
        wake(&self.shared.call, i32::MAX);
        let mut at = self.last.take();
        while let Some(mut worker) = at {
            if let Some(thread) = worker.thread.take() {
                thread.join();
            }
            at = worker.next.take();
        }
    }
}

unsafe extern "C" fn entry(task: *mut c_void) -> *mut c_void {
    // SAFETY: `start_one` passes a task that outlives the thread; of it, only the stacks change.
    unsafe { &*task.cast::<WorkerTask>() }.run();
    null_mut()
}

impl WorkerTask {
    fn run(&self) {
        // SAFETY: what the helpers share lives until they have been joined.
        let shared = unsafe { &*self.shared };
        let mut seen = 0;
        loop {
            let now = shared.call.load(Ordering::Acquire);
            if now & STOP != 0 {
                return;
            }
            if now == seen {
                wait(&shared.call, seen);
                continue;
            }
            seen = now;
            if shared.pool.join() {
                self.mark(shared);
                shared.pool.leave();
            }
        }
    }

    /// Takes part in a marking, as a member of the pool.
    fn mark(&self, shared: &WorkersShared) {
        let began = thread_cpu_ns();
        // SAFETY: the job was stored before the pool was opened, and stays until all members have left.
        let job = unsafe { &*shared.job.load(Ordering::Relaxed) };
        let state = job.graph.state;
        state.marking_threads().begin_helping(self.number, thread_pointer());
        // SAFETY: this thread is a member of the pool, so the stacks are its own.
        let stacks = unsafe { &mut *self.stacks.get() };
        let marked = job.mark((&shared.pool, &shared.blocks), stacks, true, |_| ());
        state.marking_threads().end_helping(self.number);
        let mut totals = shared.totals.lock();
        totals.marked = totals.marked.plus(marked);
        totals.cpu_ns += thread_cpu_ns() - began;
        totals.workers += 1;
    }
}

impl Mapped for Workers {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        for_each_mapping_of(&[&self.shared, &self.shared.blocks], f);
        let mut next = self.last.as_ref();
        while let Some(worker) = next {
            worker.for_each_mapping(f);
            // SAFETY: no helper uses its stacks, for a marking has the workers borrowed as long as it lasts.
            unsafe { &*worker.task.stacks.get() }.for_each_mapping(f);
            next = worker.next.as_ref();
        }
    }
}
