//! Pictures of a heap's pages for those who study them: as they are now, as they were when most were in use, and as the
//! collection that freed most left them. The first of the latter two is looked for as collections begin, where a heap is
//! largest, the second as they end, counting as free what a sweep would free. Invariant: nothing is kept, or costs
//! anything, until somebody asks for it, and then the program goes on as it would have.

use core::sync::atomic::{AtomicBool, Ordering};
use heapwood_heap::{Space, Stopped};
use heapwood_os::Lock;
use heapwood_pages::Snapshot;

/// The snapshots to keep.
pub(crate) struct PageSnapshots {
    on: AtomicBool,
    kept: Lock<Kept>,
}

struct Kept {
    most_in_use: usize,
    peak: Option<Snapshot>,
    most_free: usize,
    collected: Option<Snapshot>,
}

impl PageSnapshots {
    pub(crate) fn new() -> Self {
        let kept = Kept { most_in_use: 0, peak: None, most_free: 0, collected: None };
        PageSnapshots { on: AtomicBool::new(false), kept: Lock::new(kept) }
    }

    /// Keeps some from now on.
    pub(crate) fn keep(&self) {
        self.on.store(true, Ordering::Relaxed);
    }

    fn is_on(&self) -> bool {
        self.on.load(Ordering::Relaxed)
    }

    /// A collection begins, or someone asks.
    pub(crate) fn before_marking(&self, space: &Space) {
        if !self.is_on() {
            return;
        }
        let in_use = space.pages_in_use().0;
        let mut kept = self.kept.lock();
        if in_use > kept.most_in_use {
            kept.most_in_use = in_use;
            kept.peak = Some(space.snapshot());
        }
    }

    /// A collection ends; the mutators are stopped, and nothing has been swept yet.
    pub(crate) fn after_marking(&self, world: &Stopped<'_>) {
        if !self.is_on() {
            return;
        }
        let snapshot = world.snapshot_if_swept();
        let free = snapshot.releasable_pages().0;
        let mut kept = self.kept.lock();
        if free > kept.most_free {
            kept.most_free = free;
            kept.collected = Some(snapshot);
        }
    }

    pub(crate) fn peak(&self) -> Option<Snapshot> {
        self.kept.lock().peak.clone()
    }

    pub(crate) fn collected(&self) -> Option<Snapshot> {
        self.kept.lock().collected.clone()
    }
}
