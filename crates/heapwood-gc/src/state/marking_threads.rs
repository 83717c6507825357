//! The threads of a heap that mark at this moment: a trace function may ask whether it is called by a marking. Invariant: a
//! thread's pointer is here as long as it marks, and no longer.

use crate::options::Config;
use core::sync::atomic::{AtomicUsize, Ordering};
use heapwood_os::stack::thread_pointer;

/// The threads that mark.
pub(crate) struct MarkingThreads {
    /// The thread pointer of the collecting thread while it marks.
    marking: AtomicUsize,
    /// Those of its helpers.
    helping: [AtomicUsize; Config::MOST_MARK_THREADS as usize],
}

impl MarkingThreads {
    pub(super) fn new() -> Self {
        MarkingThreads {
            marking: AtomicUsize::new(0),
            helping: [const { AtomicUsize::new(0) }; Config::MOST_MARK_THREADS as usize],
        }
    }

    /// Whether the calling thread, whose pointer is `here`, marks now.
    #[inline(always)]
    pub(crate) fn is_marking(&self, here: usize) -> bool {
        self.marking.load(Ordering::Relaxed) == here
    }

    /// Runs `mark`; meanwhile the calling thread is the one that marks.
    pub(crate) fn while_marking<R>(&self, mark: impl FnOnce() -> R) -> R {
        self.marking.store(thread_pointer(), Ordering::Relaxed);
        let result = mark();
        self.marking.store(0, Ordering::Relaxed);
        result
    }

    /// Whether the calling thread, whose pointer is `here`, helps with a marking now.
    pub(crate) fn is_helping(&self, here: usize) -> bool {
        self.helping.iter().any(|helper| helper.load(Ordering::Relaxed) == here)
    }

    /// The calling thread, whose pointer is `here`, begins to help, as the `number`-th.
    pub(crate) fn begin_helping(&self, number: usize, here: usize) {
        self.helping[number].store(here, Ordering::Relaxed);
    }

    /// The `number`-th helper has ended.
    pub(crate) fn end_helping(&self, number: usize) {
        self.helping[number].store(0, Ordering::Relaxed);
    }

    /// In a forked child: nobody marks.
    pub(crate) fn forget_markers(&self) {
        self.marking.store(0, Ordering::Relaxed);
        self.helping.iter().for_each(|helper| helper.store(0, Ordering::Relaxed));
    }
}
