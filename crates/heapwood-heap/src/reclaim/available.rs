//! Which shapes have something for mutators on the shared lists: a bit for each. It is written under the
//! lock of the lists and read without it, so that a mutator that needs a span of a shape which has none goes straight for a
//! new one. Invariant: none but of timing: a bit too many costs a central refill, and one too few a span, until it is set again.

use crate::layout::shape_id::{MAX_SHAPES, ShapeId, WELL_KNOWN};
use heapwood_os::sync::{AtomicU64, Ordering};

/// The words of a set of shapes.
pub(crate) const WORDS: usize = MAX_SHAPES / 64;

/// The words of those of a heap; models use shapes that every heap knows.
const KEPT: usize = if cfg!(loom) { WELL_KNOWN.div_ceil(64) as usize } else { WORDS };

/// The bits.
pub(crate) struct Available([AtomicU64; KEPT]);

impl Available {
    /// No shape has any.
    pub(crate) fn none() -> Self {
        Available(core::array::from_fn(|_| AtomicU64::new(0)))
    }

    /// Whether the shape has some.
    #[inline]
    pub(crate) fn has(&self, shape: ShapeId) -> bool {
        self.0[shape.index() / 64].load(Ordering::Relaxed) >> (shape.index() % 64) & 1 == 1
    }

    /// The shape has some, or none. The caller holds the lock, so this needs no read-modify-write.
    pub(crate) fn set(&self, shape: ShapeId, some: bool) {
        let (word, bit) = (&self.0[shape.index() / 64], 1 << (shape.index() % 64));
        let old = word.load(Ordering::Relaxed);
        let new = if some { old | bit } else { old & !bit };
        if new != old {
            word.store(new, Ordering::Relaxed);
        }
    }

    /// Exactly these shapes have some.
    pub(crate) fn set_all(&self, shapes: &[u64; WORDS]) {
        self.0.iter().zip(shapes).for_each(|(word, &bits)| word.store(bits, Ordering::Relaxed));
    }
}
