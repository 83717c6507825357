//! The memory that a heap holds and does not need. Invariant: it is released in slices of work, and between two slices
//! signals stop the thread and the process forks.

use crate::heap::Heap;
use crate::policy::ReleasePolicy;
use crate::process::record;
use heapwood_heap::Sweeping;
use heapwood_pages::Effort;

/// The memory of a heap.
#[derive(Clone, Copy)]
pub struct HeapMemory<'h>(&'h Heap);

impl Heap {
    /// The memory that it holds and does not need.
    #[inline(always)]
    pub fn memory(&self) -> HeapMemory<'_> {
        HeapMemory(self)
    }
}

impl<'h> HeapMemory<'h> {
    /// Returns the memory of all free pages to the kernel now; the result is the number of bytes that may have been
    /// released. Only objects that a collection found dead are free: collect first. Threads go on meanwhile; their
    /// cached pages (up to half a MiB each) stay.
    pub fn release_free(self) -> usize {
        let released = self.release_all();
        self.0.background.job().figures().count_released(released);
        released
    }

    /// After a collection of a heap whose own thread is not there: gives back a part of the memory that is too much for this goal.
    pub(crate) fn release_at_collection(self, goal: usize) {
        let memory = self.0.space().memory();
        let mut left = ReleasePolicy::at_collection(memory.resident_outside_arenas(), goal);
        while left > 0
            && let Some((bytes, true)) = self.slice_of_work(|| memory.release_some(Effort::Full))
        {
            self.0.background.job().figures().count_released(bytes);
            left = left.saturating_sub(bytes);
        }
    }

    /// Sweeps all unswept spans, and waits for other threads that sweep.
    pub fn finish_sweep(self) {
        let space = self.0.space();
        while self.slice_of_work(|| space.sweep_some(Sweeping::Collector)) {}
        self.slice_of_work(|| space.finish_sweep());
    }

    /// Calls `f` in a slice of work: no signal stops the thread, and the process does not fork. Between two slices both
    /// may happen.
    fn slice_of_work<R>(self, f: impl FnOnce() -> R) -> R {
        let no_fork = self.0.state.fork_gate().no_fork();
        let _no_preempt = record().no_preempt_in_slice(&no_fork);
        f()
    }

    fn release_all(self) -> usize {
        let space = self.0.space();
        self.finish_sweep();
        let release = || self.slice_of_work(|| space.memory().release_some(Effort::Full));
        core::iter::from_fn(release).map_while(|(bytes, given)| given.then_some(bytes)).sum()
    }
}
