//! What is known of the central lists without their lock: the shapes that have something there, whether anything is unswept, and
//! who sweeps for all. Invariant: only the holder of the lock changes it, but for the leaving of the gate.

use crate::layout::shape_id::{MAX_SHAPES, ShapeId, WELL_KNOWN};
use heapwood_os::threads::sync::{AtomicU32, AtomicU64, Ordering, yield_now};

/// Words of a set of all shapes.
pub(crate) const WORDS: usize = MAX_SHAPES / 64;

/// Words kept by a heap. Under loom the models use well-known shapes only.
const KEPT: usize = if cfg!(loom) { WELL_KNOWN.div_ceil(64) as usize } else { WORDS };

/// A set of shapes, one bit each: those with spans on the central lists, or with freed cells. A mutator whose shape has nothing
/// there takes new pages at once. A stale set bit costs one central refill, a stale clear bit one new span.
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

/// Set while only the collector may sweep; the bits above count those inside.
const CLOSED: u32 = 1;
const ONE: u32 = 2;

/// The gate of those who sweep batches for all: how many do so now, and whether only the collector may. Both are one word, so
/// that who closes the gate knows all that are inside. Beside it stands whether anything is unswept, so that nobody takes the
/// central lock to learn that nothing is. After [`close`](SweepGate::close) has returned, nobody is inside until
/// [`open`](SweepGate::open).
pub(crate) struct SweepGate {
    word: AtomicU32,
    /// 1 if nothing is unswept in this cycle. The holder of the central lock writes it.
    all_taken: AtomicU32,
}

impl SweepGate {
    /// An open gate with nobody inside.
    pub(crate) fn new() -> Self {
        SweepGate { word: AtomicU32::new(0), all_taken: AtomicU32::new(0) }
    }

    /// Goes inside; false if the gate is closed. Whoever is inside [leaves](Self::leave) when its batches are back on the lists.
    /// The caller holds the central lock, so with that lock held those inside are those that sweep.
    pub(crate) fn enter(&self) -> bool {
        let is_open = self.word.fetch_add(ONE, Ordering::AcqRel) & CLOSED == 0;
        if !is_open {
            self.leave();
        }
        is_open
    }

    /// Goes inside though the gate is closed: the thread that has closed it.
    pub(crate) fn enter_closed(&self) {
        self.word.fetch_add(ONE, Ordering::AcqRel);
    }

    /// Leaves.
    pub(crate) fn leave(&self) {
        self.word.fetch_sub(ONE, Ordering::AcqRel);
    }

    /// Closes the gate, and waits until nobody is inside.
    pub(crate) fn close(&self) {
        self.word.fetch_or(CLOSED, Ordering::AcqRel);
        while self.is_anyone_inside() {
            yield_now();
        }
    }

    /// Opens the gate.
    pub(crate) fn open(&self) {
        self.word.fetch_and(!CLOSED, Ordering::AcqRel);
    }

    /// Whether a thread is inside.
    pub(crate) fn is_anyone_inside(&self) -> bool {
        self.word.load(Ordering::Acquire) >= ONE
    }

    /// Whether all that was unswept when this cycle began has been taken. Those who took it may still sweep, and are inside if
    /// they do it for all.
    pub(crate) fn are_all_taken(&self) -> bool {
        self.all_taken.load(Ordering::Acquire) != 0
    }

    /// Notes that; the caller holds the central lock.
    pub(crate) fn set_all_taken(&self, all: bool) {
        self.all_taken.store(all as u32, Ordering::Release);
    }
}
