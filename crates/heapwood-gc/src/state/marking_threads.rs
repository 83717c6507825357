//! The threads that mark for a heap at this moment, so that calls from trace functions are rejected. Invariant: a
//! thread's pointer is here exactly as long as it marks.

use crate::settings::options::Config;
use core::sync::atomic::{AtomicUsize, Ordering};
use heapwood_os::threads::stack::thread_pointer;

/// The threads that mark.
pub(crate) struct MarkingThreads {
    /// The thread pointer of the collecting thread while it marks.
    marking: AtomicUsize,
    /// The thread pointers of its helpers.
    helping: [AtomicUsize; Config::MOST_MARK_THREADS as usize],
    /// The thread pointer of the one that marks beside the program.
    beside: AtomicUsize,
}

impl MarkingThreads {
    pub(super) fn new() -> Self {
        MarkingThreads {
            marking: AtomicUsize::new(0),
            helping: [const { AtomicUsize::new(0) }; Config::MOST_MARK_THREADS as usize],
            beside: AtomicUsize::new(0),
        }
    }

    /// Whether the calling thread, whose pointer is `here`, marks now.
    #[inline(always)]
    pub(crate) fn is_marking(&self, here: usize) -> bool {
        self.marking.load(Ordering::Relaxed) == here
    }

    /// Runs `mark`, and registers the calling thread as the marking one meanwhile. Calls of one thread may nest.
    pub(crate) fn while_marking<R>(&self, mark: impl FnOnce() -> R) -> R {
        let outer = self.marking.load(Ordering::Relaxed);
        self.marking.store(thread_pointer(), Ordering::Relaxed);
        let result = mark();
        self.marking.store(outer, Ordering::Relaxed);
        result
    }

    /// Runs `mark`, and registers the calling thread as the one that marks beside the program meanwhile. A mutator may be
    /// the marking one at the same time, for its barrier.
    pub(crate) fn while_marking_beside<R>(&self, mark: impl FnOnce() -> R) -> R {
        self.beside.store(thread_pointer(), Ordering::Relaxed);
        let result = mark();
        self.beside.store(0, Ordering::Relaxed);
        result
    }

    /// Whether the calling thread, whose pointer is `here`, is a helper of a marking now, or marks beside the program.
    pub(crate) fn is_helping(&self, here: usize) -> bool {
        self.helping.iter().chain([&self.beside]).any(|helper| helper.load(Ordering::Relaxed) == here)
    }

    /// Registers the calling thread, whose pointer is `here`, as helper `number`.
    pub(crate) fn begin_helping(&self, number: usize, here: usize) {
        self.helping[number].store(here, Ordering::Relaxed);
    }

    /// Removes helper `number`.
    pub(crate) fn end_helping(&self, number: usize) {
        self.helping[number].store(0, Ordering::Relaxed);
    }

    /// In a forked child: no thread marks.
    pub(crate) fn forget_markers(&self) {
        self.marking.store(0, Ordering::Relaxed);
        self.beside.store(0, Ordering::Relaxed);
        self.helping.iter().for_each(|helper| helper.store(0, Ordering::Relaxed));
    }
}
