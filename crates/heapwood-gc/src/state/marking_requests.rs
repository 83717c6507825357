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
/// Bit of the word: a marking is active, and nobody marks.
const ACTIVE: u32 = 8;

/// Bit of the word: the thread is here.
const SERVED: u32 = 16;

/// What the marker is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MarkingRequest {
    /// To mark.
    Begin,
    /// To go on with the marking that is active. If somebody has ended it meanwhile, there is nothing to do.
    GoOn,
    /// To mark if the program waits for that.
    IfAsked,
}

/// The requests for concurrent markings of one heap.
#[derive(Default)]
pub(crate) struct MarkingRequests {
    word: AtomicU32,
}

impl MarkingRequests {
    /// Asks for a concurrent marking.
    pub(crate) fn start(&self) {
        self.request(WANTED);
    }

    /// Asks for the rest of the marking that is active.
    pub(crate) fn go_on(&self) {
        self.request(ACTIVE);
    }

    /// The program has asked for a full collection. One that begins meanwhile may be it.
    pub(crate) fn ask(&self) {
        self.request(ASKED);
    }

    fn request(&self, bit: u32) {
        if self.word.fetch_or(bit, Ordering::AcqRel) & bit == 0 {
            wake(&self.word, 1);
        }
    }

    /// Whether a marking is wanted, or the rest of one, that the marker has not begun.
    pub(crate) fn is_wanted(&self) -> bool {
        self.word.load(Ordering::Relaxed) & (WANTED | ACTIVE) != 0
    }

    /// The marker thread takes requests from now on.
    pub(crate) fn serve(&self) {
        self.word.fetch_or(SERVED, Ordering::Relaxed);
    }

    /// Whether a marker thread takes requests.
    pub(crate) fn is_served(&self) -> bool {
        self.word.load(Ordering::Relaxed) & SERVED != 0
    }

    /// In a forked child: the thread is not here.
    pub(crate) fn forget_thread(&self) {
        self.word.fetch_and(!SERVED, Ordering::Relaxed);
    }

    /// Waits for a request, and takes all that there are: the one that wants most. `None` if the thread is to end.
    pub(crate) fn next(&self) -> Option<MarkingRequest> {
        loop {
            let now = self.word.load(Ordering::Acquire);
            if now & STOP != 0 {
                return None;
            }
            if now & (WANTED | ACTIVE | ASKED) != 0 {
                let taken = self.word.fetch_and(!(WANTED | ACTIVE | ASKED), Ordering::AcqRel);
                return Some(match taken {
                    _ if taken & WANTED != 0 => MarkingRequest::Begin,
                    _ if taken & ACTIVE != 0 => MarkingRequest::GoOn,
                    _ => MarkingRequest::IfAsked,
                });
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
