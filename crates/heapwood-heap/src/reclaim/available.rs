//! A set of shapes: those with spans (or freed cells) on the central lists, one bit each. The holder of the central
//! lock writes it. Mutators read it without the lock, so that a mutator whose shape has nothing there takes new pages
//! at once. Invariant: none beyond timing. A stale set bit costs one central refill, a stale clear bit one new span.

use crate::layout::shape_id::{MAX_SHAPES, ShapeId, WELL_KNOWN};
use heapwood_os::threads::sync::{AtomicU64, Ordering};

/// Words of a set of all shapes.
pub(crate) const WORDS: usize = MAX_SHAPES / 64;

/// Words kept by a heap. Under loom the models use well-known shapes only.
const KEPT: usize = if cfg!(loom) { WELL_KNOWN.div_ceil(64) as usize } else { WORDS };

/// A set of shapes, one bit each.
pub(crate) struct Available([AtomicU64; KEPT]);

impl Available {
    /// The empty set.
    pub(crate) fn none() -> Self {
        Available(core::array::from_fn(|_| AtomicU64::new(0)))
    }

    /// Whether the shape is in the set.
    #[inline]
    pub(crate) fn has(&self, shape: ShapeId) -> bool {
        self.0[shape.index() / 64].load(Ordering::Relaxed) >> (shape.index() % 64) & 1 == 1
    }

    /// Adds or removes the shape. The caller holds the lock, so this needs no read-modify-write.
    pub(crate) fn set(&self, shape: ShapeId, some: bool) {
        let (word, bit) = (&self.0[shape.index() / 64], 1 << (shape.index() % 64));
        let old = word.load(Ordering::Relaxed);
        let new = if some { old | bit } else { old & !bit };
        if new != old {
            word.store(new, Ordering::Relaxed);
        }
    }

    /// Replaces the set.
    pub(crate) fn set_all(&self, shapes: &[u64; WORDS]) {
        self.0.iter().zip(shapes).for_each(|(word, &bits)| word.store(bits, Ordering::Relaxed));
    }
}
