//! How a concurrent marking is asked for: the marker thread sleeps on a word. Invariant: a request that comes while the marker
//! works is seen before it sleeps again.

use core::sync::atomic::{AtomicU32, Ordering};
use heapwood_os::threads::futex::{wait, wake};

/// Bit of the word: a marking is wanted.
const WANTED: u32 = 1;
/// Bit of the word: the thread is to end.
const STOP: u32 = 2;
/// Bit of the word: the program has asked for a full collection.
const ASKED: u32 = 4;

/// The requests for concurrent markings of one heap.
#[derive(Default)]
pub(crate) struct MarkingRequests {
    word: AtomicU32,
}

impl MarkingRequests {
    /// Asks for a concurrent marking.
    pub(crate) fn start(&self) {
        if self.word.fetch_or(WANTED, Ordering::AcqRel) & WANTED == 0 {
            wake(&self.word, 1);
        }
    }

    /// The program has asked for a full collection. One that begins meanwhile may be it.
    pub(crate) fn ask(&self) {
        if self.word.fetch_or(ASKED, Ordering::AcqRel) & ASKED == 0 {
            wake(&self.word, 1);
        }
    }

    /// Whether a marking is wanted that the marker has not begun.
    pub(crate) fn is_wanted(&self) -> bool {
        self.word.load(Ordering::Relaxed) & WANTED != 0
    }

    /// Waits for a request, and takes it: whether a marking is wanted in any case, or only if the program waits for one; `None`
    /// if the thread is to end.
    pub(crate) fn next(&self) -> Option<bool> {
        loop {
            let now = self.word.load(Ordering::Acquire);
            if now & STOP != 0 {
                return None;
            }
            if now & (WANTED | ASKED) != 0 {
                let taken = self.word.fetch_and(!(WANTED | ASKED), Ordering::AcqRel);
                return Some(taken & WANTED != 0);
            }
            wait(&self.word, now);
        }
    }

    /// Ends the marker thread.
    pub(crate) fn stop(&self) {
        self.word.fetch_or(STOP, Ordering::AcqRel);
        wake(&self.word, 1);
    }

    /// Whether the marker thread is to end.
    #[inline]
    pub(crate) fn stops(&self) -> bool {
        self.word.load(Ordering::Relaxed) & STOP != 0
    }
}
