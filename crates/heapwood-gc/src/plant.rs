//! Planted errors, for tests of the tests only (feature `plant`): a heap can be told to lose an edge now and then,
//! to skip a root, or to free an object that lives. A test suite that does not notice is worth nothing.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use heapwood_heap::{ObjectRef, Stopped};

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Planted {
    /// The marker drops edges.
    LoseMark = 1,
    /// Root slots, frame slots and handles are skipped.
    MissRoot = 2,
    /// Allocation bits of survivors are cleared when marking ends.
    WrongFree = 3,
    /// The last pointer of an element that a program describes is not seen.
    ShortProgram = 4,
    /// The last pointer bit of an object in a mixed span is not seen.
    ShortBits = 5,
}

/// The error planted in one heap: none at first.
#[derive(Debug, Default)]
pub struct Plant {
    what: AtomicU32,
    every: AtomicU64,
    turn: AtomicU64,
    fired: AtomicU64,
}

impl Plant {
    /// Lets every `every`-th occasion for `what` go wrong, counted over all collections from now on.
    pub fn set(&self, what: Planted, every: u64) {
        self.turn.store(0, Ordering::Relaxed);
        self.every.store(every.max(1), Ordering::Relaxed);
        self.what.store(what as u32, Ordering::Relaxed);
    }

    /// How often something has gone wrong.
    pub fn fired(&self) -> u64 {
        self.fired.load(Ordering::Relaxed)
    }

    /// Whether it is this that goes wrong.
    pub(crate) fn is(&self, what: Planted) -> bool {
        self.what.load(Ordering::Relaxed) == what as u32
    }

    /// Whether this occasion for `what` is one that goes wrong.
    pub(crate) fn strikes(&self, what: Planted) -> bool {
        if !self.is(what) {
            return false;
        }
        let turn = self.turn.fetch_add(1, Ordering::Relaxed) + 1;
        let strikes = turn.is_multiple_of(self.every.load(Ordering::Relaxed));
        self.fired.fetch_add(strikes as u64, Ordering::Relaxed);
        strikes
    }

    /// Goes through the survivors of a marking that has just ended.
    pub(crate) fn free_survivors(&self, world: &Stopped<'_>) {
        if self.what.load(Ordering::Relaxed) != Planted::WrongFree as u32 {
            return;
        }
        world.for_each_span(|_, span| {
            let bytes = span.object_bytes();
            for cell in (span.cells_start()..span.cells_start() + span.cells() * bytes).step_by(bytes) {
                if world.is_allocated(ObjectRef::new(cell)) && self.strikes(Planted::WrongFree) {
                    world.forget_allocated(ObjectRef::new(cell));
                }
            }
        });
    }
}
