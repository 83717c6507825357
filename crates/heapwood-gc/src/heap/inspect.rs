//! What tests, tools and programs learn about a heap: its statistics, snapshots of its pages, checks of its tables.
//! Invariant: nothing here changes what a collection finds.

use crate::collect::CollectorTurn;
use crate::heap::Heap;
use crate::observe::Stats;
use crate::process::record;
use core::ops::Deref;
use core::sync::atomic::{AtomicUsize, Ordering};
use heapwood_heap::Stopped;
use heapwood_heap::ValidationError;
use heapwood_pages::{PAGE_SIZE, PageCount, Snapshot};

/// A heap that no collector or marker touches, and its stopped space.
pub struct QuietHeap<'h> {
    /// Dropped first.
    world: Stopped<'h>,
    _turn: CollectorTurn<'h>,
}

impl<'h> Deref for QuietHeap<'h> {
    type Target = Stopped<'h>;

    fn deref(&self) -> &Stopped<'h> {
        &self.world
    }
}

/// The statistics, snapshots and checks of a heap.
#[derive(Clone, Copy)]
pub struct HeapInspector<'h>(&'h Heap);

impl Heap {
    /// Its statistics, snapshots and checks.
    #[inline(always)]
    pub fn inspect(&self) -> HeapInspector<'_> {
        HeapInspector(self)
    }
}

impl<'h> HeapInspector<'h> {
    /// Logs from now on where signals interrupt its threads, in a ring of entries.
    pub fn log_interruptions(self, ring: &'static [AtomicUsize]) {
        assert!(!ring.is_empty());
        self.0.state.interruptions().note_into(ring);
    }

    /// The number of log entries.
    pub fn interruptions(self) -> usize {
        self.0.state.interruptions().noted()
    }

    /// The pages as they are now. Pages that mutators have cached count as in use.
    pub fn page_snapshot(self) -> Snapshot {
        let _no_preempt = record().no_preempt();
        self.0.space().memory().snapshot()
    }

    /// Keeps the snapshots of [`HeapInspector::peak_page_snapshot`] and [`HeapInspector::collected_page_snapshot`] from
    /// now on, at collections, while the world is stopped.
    pub fn keep_page_snapshots(self) {
        let _no_preempt = record().no_preempt();
        self.0.collector.snapshots().keep(self.0.kernel, self.0.space());
    }

    /// The pages when most were in use, at the beginning of a collection or now; `None` if none are kept, or the kernel
    /// gave no memory for them.
    pub fn peak_page_snapshot(self) -> Option<Snapshot> {
        let _no_preempt = record().no_preempt();
        self.0.collector.snapshots().before_marking(self.0.space());
        self.0.collector.snapshots().peak(self.reservation_pages())
    }

    /// The pages after the collection that freed most, as if all dead objects had been swept at once; `None` if none
    /// are kept, or there was no collection, or no memory for them.
    pub fn collected_page_snapshot(self) -> Option<Snapshot> {
        let _no_preempt = record().no_preempt();
        self.0.collector.snapshots().collected(self.reservation_pages())
    }

    fn reservation_pages(self) -> PageCount {
        PageCount(self.0.space().reservation_bytes() / PAGE_SIZE)
    }

    /// The stopped space, for a look at its objects and spans. No collection begins, and no marker marks beside it, until
    /// the result is dropped.
    ///
    /// # Safety
    /// 1. Meanwhile no other thread uses the heap, and this one does not allocate, store or collect.
    pub unsafe fn stopped(self) -> QuietHeap<'h> {
        let turn = self.collector_turn();
        // SAFETY: contract 1; the heap's own threads collect and mark only in their turn.
        QuietHeap { world: unsafe { self.0.space().stopped() }, _turn: turn }
    }

    /// Waits for the end of a collection that is under way, and for the marker; neither begins again while the result is held.
    fn collector_turn(self) -> CollectorTurn<'h> {
        record().elsewhere(None, |_| self.0.collector.turn())
    }

    /// Whether the heap's tables, lists and bits agree.
    ///
    /// # Errors
    /// The first thing found wrong.
    ///
    /// # Safety
    /// 1. Meanwhile no other thread uses the heap.
    pub unsafe fn is_valid(self) -> Result<(), ValidationError> {
        let _turn = self.collector_turn();
        let _no_preempt = record().no_preempt();
        let members = self.0.collector.registry().lock();
        members.owners().for_each(|owner| owner.publish());
        // SAFETY: contract 1, and this thread does nothing else meanwhile.
        unsafe { self.0.space().stopped() }.is_valid(members.owners())
    }

    /// The statistics at this moment.
    pub fn stats(self) -> Stats {
        let _no_preempt = record().no_preempt();
        let (figures, arenas) = (self.0.space().stats(), self.0.space().arenas().bytes());
        let (finalizers, finalizers_queued, finalized) = self.0.state.finalizers().counts();
        let mut stats = Stats {
            weak_cleared: self.0.state.ephemerons().cleared(),
            collections_off: self.0.space().collections_off(),
            own_thread: self.0.background.is_here().into(),
            finalizers,
            finalizers_queued,
            finalized,
            finalizer_circles: self.0.state.finalizers().circles(),
            collections: self.0.state.cycles().collections(),
            live_bytes: self.0.state.cycles().live(),
            goal_bytes: self.0.state.cycles().goal().load(Ordering::Relaxed),
            allocated_bytes: figures.total_allocated,
            in_use_bytes: figures.in_use,
            arenas: self.0.space().arenas().count(),
            arena_bytes: arenas.in_use,
            arena_free_bytes: arenas.free + arenas.quarantined,
            committed_bytes: figures.grown,
            external_bytes: self.0.space().external().told(),
            backed_bytes: figures.resident,
            span_lock_acquisitions: figures.span_lock_acquisitions,
            page_lock_acquisitions: figures.page_lock_acquisitions,
            shared_rmws: figures.shared_rmws,
            small_bytes: figures.small_allocated,
            threads: self.0.collector.registry().attached_now(),
            ..Stats::default()
        };
        self.0.collector.add_to_stats(self.0.space(), &mut stats);
        self.0.state.pace_waiters().add_to_stats(&mut stats);
        self.0.background.job().figures().add_to_stats(&mut stats);
        stats
    }
}
