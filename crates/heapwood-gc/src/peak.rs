//! Pictures of a heap's pages for those who study them: as they are now, and as they were when most were in use. That is
//! looked for at the start of every collection, where a heap is largest. Invariant: nothing is kept, or costs anything,
//! until somebody asks for it; a picture is taken from memory of the program's, never from inside an allocation.

use crate::heap::Heap;
use core::sync::atomic::{AtomicBool, Ordering};
use heapwood_os::Lock;
use heapwood_pages::Sample;

/// The largest sample so far.
pub(crate) struct Peak {
    watched: AtomicBool,
    largest: Lock<Largest>,
}

struct Largest {
    in_use: usize,
    sample: Option<Sample>,
}

impl Peak {
    pub(crate) const fn new() -> Self {
        Peak { watched: AtomicBool::new(false), largest: Lock::new(Largest { in_use: 0, sample: None }) }
    }

    /// Compares the heap with what it was before; the mutators are stopped, or it does not matter.
    pub(crate) fn look(&self, heap: &Heap) {
        if !self.watched.load(Ordering::Relaxed) {
            return;
        }
        let in_use = heap.space().pages().in_use().0;
        let mut largest = self.largest.lock();
        if in_use > largest.in_use {
            *largest = Largest { in_use, sample: Some(heap.page_sample()) };
        }
    }
}

impl Heap {
    /// The pages as they are now. Those that mutators have set aside count as in use.
    pub fn page_sample(&self) -> Sample {
        self.space().pages().sample()
    }

    /// Keeps a sample of the largest heap from now on, at a few microseconds a collection.
    pub fn watch_peak(&self) {
        self.peak.watched.store(true, Ordering::Relaxed);
    }

    /// The pages when most were in use, of the moments when collections began and this one; `None` if nobody watches.
    pub fn peak_page_sample(&self) -> Option<Sample> {
        self.peak.look(self);
        self.peak.largest.lock().sample.clone()
    }
}
