//! Pictures of a heap's pages for those who study them: as they are now, as they were when most were in use, and as the
//! collection that freed most left them. The first of the latter two is looked for as collections begin, where a heap is
//! largest, the second as they end, counting as free what a sweep would free. Invariant: nothing is kept, or costs
//! anything, until somebody asks for it, and then the program goes on as it would have.

use crate::heap::Heap;
use core::sync::atomic::{AtomicBool, Ordering};
use heapwood_heap::Stopped;
use heapwood_os::Lock;
use heapwood_pages::Snapshot;

/// The samples to keep.
pub(crate) struct Watch {
    on: AtomicBool,
    kept: Lock<Kept>,
}

struct Kept {
    most_in_use: usize,
    peak: Option<Snapshot>,
    most_free: usize,
    collected: Option<Snapshot>,
}

impl Watch {
    pub(crate) fn new() -> Self {
        let kept = Kept { most_in_use: 0, peak: None, most_free: 0, collected: None };
        Watch { on: AtomicBool::new(false), kept: Lock::new(kept) }
    }

    fn is_on(&self) -> bool {
        self.on.load(Ordering::Relaxed)
    }

    /// A collection begins, or someone asks.
    pub(crate) fn before_marking(&self, heap: &Heap) {
        if !self.is_on() {
            return;
        }
        let in_use = heap.space().pages_in_use().0;
        let mut kept = self.kept.lock();
        if in_use > kept.most_in_use {
            kept.most_in_use = in_use;
            kept.peak = Some(heap.page_snapshot());
        }
    }

    /// A collection ends; the mutators are stopped, and nothing has been swept yet.
    pub(crate) fn after_marking(&self, world: &Stopped<'_>) {
        if !self.is_on() {
            return;
        }
        let sample = world.snapshot_if_swept();
        let free = sample.releasable_pages().0;
        let mut kept = self.kept.lock();
        if free > kept.most_free {
            kept.most_free = free;
            kept.collected = Some(sample);
        }
    }
}

impl Heap {
    /// The pages as they are now. Those that mutators have set aside count as in use.
    pub fn page_snapshot(&self) -> Snapshot {
        self.space().snapshot()
    }

    /// Keeps the samples of [`Heap::peak_page_snapshot`] and [`Heap::collected_page_snapshot`] from now on, while the world
    /// is stopped for collections.
    pub fn watch_pages(&self) {
        self.watch.on.store(true, Ordering::Relaxed);
    }

    /// The pages when most were in use, of the moments when collections began and this one; `None` if nobody watches.
    pub fn peak_page_snapshot(&self) -> Option<Snapshot> {
        self.watch.before_marking(self);
        self.watch.kept.lock().peak.clone()
    }

    /// The pages that the collection left that freed most, as if all that it found dead had been swept at once; `None`
    /// if nobody watches or there was no collection.
    pub fn collected_page_snapshot(&self) -> Option<Snapshot> {
        self.watch.kept.lock().collected.clone()
    }
}
