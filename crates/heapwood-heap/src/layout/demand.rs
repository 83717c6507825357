//! Which layouts have spans of their own. Those of few objects have none, of which most would be empty, but share spans of
//! their size class. A layout gets spans of its own once it has filled one within a cycle, and keeps to them as long as it
//! has any. Invariant: a layout's count is that of the objects that went to shared spans in this cycle, or fewer where threads
//! counted at once, up to those of a span; or [`OWN`], which only the end of a cycle takes back.

use crate::layout::shape_id::{MAX_SHAPES, ShapeId};
use core::ops::Range;
use core::sync::atomic::{AtomicU64, Ordering};
use heapwood_os::{KernelRef, MappedArray, OsError};

/// The layout has spans of its own.
const OWN: u32 = u32::MAX;

/// How many objects of each layout went to shared spans, in the low half of a word, and in which cycle in the high half.
pub(crate) struct Demand {
    counts: MappedArray<AtomicU64>,
}

impl Demand {
    pub(crate) fn new(kernel: KernelRef) -> Result<Self, OsError> {
        Ok(Demand { counts: MappedArray::new(kernel, MAX_SHAPES)? })
    }

    /// Makes room for the counts of shapes with these numbers.
    pub(crate) fn commit(&self, shapes: Range<usize>) -> Result<(), OsError> {
        self.counts.commit(shapes)
    }

    fn count(&self, id: ShapeId) -> &AtomicU64 {
        // SAFETY: the counts of registered shapes are committed.
        unsafe { &*self.counts.at(id.index()) }
    }

    /// A cycle has begun, in which the layout has spans of its own or not.
    pub(crate) fn begin_cycle(&self, id: ShapeId, cycle: u32, has_spans: bool) {
        self.count(id).store(count_in(cycle, if has_spans { OWN } else { 0 }), Ordering::Relaxed);
    }

    /// Whether it is known of the layout what it has in this cycle.
    pub(crate) fn has_begun(&self, id: ShapeId, cycle: u32) -> bool {
        self.count(id).load(Ordering::Relaxed) >> 32 == cycle as u64
    }

    /// Whether the layout's next object goes to a shared span; counts it if so, up to `cells`, which fill a span, if that
    /// matters.
    pub(crate) fn shares(&self, id: ShapeId, cycle: u32, cells: Option<usize>) -> bool {
        let count = self.count(id);
        let so_far = count.load(Ordering::Relaxed) as u32;
        if so_far == OWN {
            return false;
        }
        let Some(cells) = cells else { return true };
        let more = if so_far as usize + 1 >= cells { OWN } else { so_far + 1 };
        // If another thread counted meanwhile, this object is not: what may not happen is that its OWN is taken back.
        let (seen, more) = (count_in(cycle, so_far), count_in(cycle, more));
        let _ = count.compare_exchange(seen, more, Ordering::Relaxed, Ordering::Relaxed);
        true
    }
}

fn count_in(cycle: u32, objects: u32) -> u64 {
    (cycle as u64) << 32 | objects as u64
}
