//! How long a mutator has been in a blocking region, so that an idle mutator's cached memory goes back to its heap. The
//! thread counts its regions; the heap's own thread samples the count now and then, and a mutator that two samples find
//! in the same region is idle. Invariant: the fields of samples are used only under the registry's lock.

use core::cell::Cell;
use core::sync::atomic::{AtomicU32, Ordering};

/// The blocking regions of a mutator.
pub(crate) struct Regions {
    /// The number of the last region.
    count: AtomicU32,
    /// The region in which the last sample found it; 0 for none.
    seen: Cell<u32>,
    /// The region in which its cached memory was returned.
    emptied: Cell<u32>,
    /// The number of the last sample.
    look: Cell<u32>,
}

/// The result of sampling a mutator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// It was sampled before under this number, or has nothing to return.
    Nothing,
    /// It is newly in the region.
    Recent,
    /// The previous sample found it in the same region.
    Idle,
}

impl Regions {
    pub(crate) const fn new() -> Self {
        Regions { count: AtomicU32::new(0), seen: Cell::new(0), emptied: Cell::new(0), look: Cell::new(0) }
    }

    /// Its thread begins a region.
    pub(super) fn begin(&self) {
        // 0 means none.
        let next = self.count.load(Ordering::Relaxed).wrapping_add(1).max(1);
        self.count.store(next, Ordering::Relaxed);
    }

    /// Takes the sample with this number (not 0); `is_blocked` tells whether the mutator is in a region now.
    pub(crate) fn look(&self, number: u32, is_blocked: bool) -> Found {
        if self.look.replace(number) == number {
            return Found::Nothing;
        }
        let now = if is_blocked { self.count.load(Ordering::Relaxed) } else { 0 };
        match self.seen.replace(now) {
            _ if now == 0 || now == self.emptied.get() => Found::Nothing,
            before if before == now => Found::Idle,
            _ => Found::Recent,
        }
    }

    /// Its cached memory was returned in the region that was sampled.
    pub(crate) fn emptied(&self) {
        self.emptied.set(self.seen.get());
    }
}
