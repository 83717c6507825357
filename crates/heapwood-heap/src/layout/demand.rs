//! The choice of layouts with spans of their own. Layouts of few objects share spans of their size class, since their
//! own would be mostly empty. A layout gets own spans once it has filled one span within a cycle, and keeps to them as
//! long as it has any. Invariant: a layout's count is [`OWN`], which only the end of a cycle resets, or its objects in
//! shared spans in this cycle, up to those of a span. (Threads that count at once may lose a count.)

use crate::layout::shape_id::{MAX_SHAPES, ShapeId};
use core::ops::Range;
use core::sync::atomic::{AtomicU64, Ordering};
use heapwood_os::{KernelRef, Mapped, MappedArray, OsError};

/// The layout has spans of its own.
const OWN: u32 = u32::MAX;

/// For each layout, its objects in shared spans in the low half of a word, and the cycle in the high half.
pub(crate) struct Demand {
    counts: MappedArray<AtomicU64>,
}

impl Demand {
    pub(crate) fn new(kernel: KernelRef) -> Result<Self, OsError> {
        Ok(Demand { counts: MappedArray::new(kernel, MAX_SHAPES)? })
    }

    /// Commits the counts of these shapes.
    pub(crate) fn commit(&self, shapes: Range<usize>) -> Result<(), OsError> {
        self.counts.commit(shapes)
    }

    fn count(&self, id: ShapeId) -> &AtomicU64 {
        // SAFETY: the counts of registered shapes are committed.
        unsafe { &*self.counts.at(id.index()) }
    }

    /// Begins a cycle for the layout, with or without spans of its own.
    pub(crate) fn begin_cycle(&self, id: ShapeId, cycle: u32, has_spans: bool) {
        self.count(id).store(count_in(cycle, if has_spans { OWN } else { 0 }), Ordering::Relaxed);
    }

    /// Whether the layout's count is of this cycle.
    pub(crate) fn has_begun(&self, id: ShapeId, cycle: u32) -> bool {
        self.count(id).load(Ordering::Relaxed) >> 32 == cycle as u64
    }

    /// Whether the layout's next object goes to a shared span; counts it if so, up to the `cells` of a span, unless
    /// `cells` is `None`.
    pub(crate) fn shares(&self, id: ShapeId, cycle: u32, cells: Option<usize>) -> bool {
        let count = self.count(id);
        let so_far = count.load(Ordering::Relaxed) as u32;
        if so_far == OWN {
            return false;
        }
        let Some(cells) = cells else { return true };
        let more = if so_far as usize + 1 >= cells { OWN } else { so_far + 1 };
        // If another thread counted meanwhile, this object is not counted: a store must not reset that thread's OWN.
        let (seen, more) = (count_in(cycle, so_far), count_in(cycle, more));
        let _ = count.compare_exchange(seen, more, Ordering::Relaxed, Ordering::Relaxed);
        true
    }
}

fn count_in(cycle: u32, objects: u32) -> u64 {
    (cycle as u64) << 32 | objects as u64
}

impl Mapped for Demand {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        self.counts.for_each_mapping(f);
    }
}
