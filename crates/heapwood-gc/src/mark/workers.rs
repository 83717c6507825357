//! The threads that mark beside the one that collects. A heap starts them when a collection is first worth it, and they
//! sleep between collections. The thread that comes too late for a marking finds it closed and sleeps on, so nobody waits for a
//! thread that the kernel does not run.
//!
//! Invariants: a worker uses the heap only between joining a pool and leaving it, and a collection ends after all have left;
//! workers end before their heap does; a forked child has none, does not look at what they share, and starts its own when it is
//! worth it.

use super::blocks::Blocks;
use super::marker_pool::MarkerPool;
use super::mode::{Composed, Full, Together, Unlimited};
use super::queue::{Graph, MarkTotals, Marker};
use super::stack::MarkStacks;
use crate::pause::Pause;
use core::cell::UnsafeCell;
use core::ffi::c_void;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use heapwood_heap::Collection;
use heapwood_os::clock::thread_cpu_ns;
use heapwood_os::futex::{wait, wake};
use heapwood_os::stack::thread_pointer;
use heapwood_os::{KernelRef, Lock, MappedBox, OsError, Pagemap, Thread};

/// Bytes of a worker's stack, on which trace functions run.
const STACK: usize = 256 << 10;
/// The workers are to end.
const STOP: u32 = 1;
/// What a marking adds.
const MARKING: u32 = 2;
/// Blocks for each marker: one that it fills or empties, and some on their way.
const BLOCKS_EACH: usize = 4;

type TogetherMode<'h> = Composed<Together<'h>, Full, Unlimited>;

/// What the collector and its workers share.
struct WorkersShared {
    pool: MarkerPool,
    blocks: Blocks,
    /// Changes with each marking; workers sleep on it.
    call: AtomicU32,
    /// What is marked: valid while the pool is open, and until all have left.
    job: AtomicPtr<Job<'static>>,
    totals: Lock<HelperTotals>,
}

/// What is marked.
struct Job<'h>(Graph<'h>);

/// The totals of the workers in a marking, and their CPU time.
#[derive(Clone, Copy, Default)]
struct HelperTotals {
    marked: MarkTotals,
    cpu_ns: u64,
    /// How many took part.
    workers: usize,
}

/// What a thread works with.
struct WorkerTask {
    shared: *const WorkersShared,
    /// Which worker it is.
    number: usize,
    stacks: MarkStacks,
}

/// A thread.
struct MarkWorker {
    task: UnsafeCell<WorkerTask>,
    thread: Option<Thread>,
    /// Those that were started before.
    next: Option<MappedBox<MarkWorker>>,
}

/// The workers of one heap.
pub(super) struct Workers {
    /// The one that was started last.
    last: Option<MappedBox<MarkWorker>>,
    shared: MappedBox<WorkersShared>,
    started: usize,
}

// SAFETY: the pointers lead to mapped memory that stays until the threads have ended; the tasks are their threads' alone.
unsafe impl Send for Workers {}

impl Workers {
    /// Starts N threads, or as many as the kernel grants. Each has stacks by `stacks`.
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
        // With fewer than it wants a heap goes on.
        while all.started < workers && all.start_one(kernel, stacks()).is_ok() {}
        Ok(all)
    }

    fn start_one(&mut self, kernel: KernelRef, stacks: Result<MarkStacks, OsError>) -> Result<(), OsError> {
        let task = WorkerTask { shared: &raw const *self.shared, number: self.started, stacks: stacks? };
        let worker = MarkWorker { task: UnsafeCell::new(task), thread: None, next: None };
        let mut worker = MappedBox::new(kernel, worker)?;
        let argument = worker.task.get().cast();
        // SAFETY: the task stays where it is, and what it points to, until the thread has been joined (`drop`). What unwinds
        // out of it ends the process.
        worker.thread = Some(unsafe { kernel.start_thread(c"heapwood-marker", STACK, entry, argument) }?);
        worker.next = self.last.take();
        self.last = Some(worker);
        self.started += 1;
        Ok(())
    }

    fn is_one(&self, so: impl FnOnce(&Thread) -> bool) -> bool {
        self.last.as_ref().and_then(|worker| worker.thread.as_ref()).is_some_and(so)
    }

    /// Whether there are any: the process may be a forked child, which has none.
    pub(super) fn are_here(&self) -> bool {
        self.is_one(Thread::is_here)
    }

    /// Whether the process is a forked child, and they are another's.
    pub(super) fn are_gone(&self) -> bool {
        self.is_one(|thread| !thread.is_here())
    }

    /// Marks with at most N workers; the calling thread takes part, and scans the roots. Returns how many threads marked, too.
    pub(super) fn mark(
        &self,
        graph: Graph<'_>,
        pause: &Pause<'_>,
        stacks: &mut MarkStacks,
        most: usize,
    ) -> (MarkTotals, u64) {
        let WorkersShared { pool, blocks, call, job, totals } = &*self.shared;
        let this = Job(graph);
        *totals.lock() = HelperTotals::default();
        job.store((&raw const this).cast_mut().cast(), Ordering::Relaxed);
        pool.open();
        call.fetch_add(MARKING, Ordering::Release);
        wake(call, most.min(i32::MAX as usize) as i32);
        let pagemap = Pagemap::new();
        let mut marker = Marker::new(graph, stacks, &pagemap, mode(pool, blocks, false));
        pause.scan_roots(Collection::Full, &mut marker);
        let mine = marker.drain();
        // Nobody joins a marking that has ended; when all have left, nobody uses the job.
        pool.close();
        job.store(null_mut(), Ordering::Relaxed);
        let totals = *totals.lock();
        let (helpers_cpu_ns, helpers) = (totals.cpu_ns, totals.workers as u32);
        (MarkTotals { helpers_cpu_ns, helpers, ..mine.plus(totals.marked) }, totals.workers as u64 + 1)
    }
}

fn mode<'h>(pool: &'h MarkerPool, blocks: &'h Blocks, waits: bool) -> TogetherMode<'h> {
    Composed { team: Together::new(pool, blocks, waits), scope: Full, limit: Unlimited }
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
    // SAFETY: `start_one` passes a task that outlives the thread and is used by nobody else.
    unsafe { &mut *task.cast::<WorkerTask>() }.run();
    null_mut()
}

impl WorkerTask {
    fn run(&mut self) {
        // SAFETY: what the workers share lives until they have been joined.
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
                self.stacks.trim();
            }
        }
    }

    /// Takes part in a marking, as a member of the pool.
    fn mark(&mut self, shared: &WorkersShared) {
        let began = thread_cpu_ns();
        // SAFETY: the job was stored before the pool was opened, and stays until all members have left.
        let Job(graph) = unsafe { &*shared.job.load(Ordering::Relaxed) };
        let state = graph.state;
        state.marking_threads().begin_helping(self.number, thread_pointer());
        let pagemap = Pagemap::new();
        let mode = mode(&shared.pool, &shared.blocks, true);
        let marked = Marker::new(*graph, &mut self.stacks, &pagemap, mode).drain();
        state.marking_threads().end_helping(self.number);
        let mut totals = shared.totals.lock();
        totals.marked = totals.marked.plus(marked);
        totals.cpu_ns += thread_cpu_ns() - began;
        totals.workers += 1;
    }
}
