//! How long a mutator has been in a blocking region, so that what one has cached that does nothing goes back to its heap.
//! Its thread counts its regions; the heap's own thread looks now and then, and one that is in the same region twice is
//! idle. Invariant: what is remembered of looks is used under the registry's lock only.

use core::cell::Cell;
use core::sync::atomic::{AtomicU32, Ordering};

/// The blocking regions of a mutator.
pub(crate) struct Regions {
    /// The number of the last.
    count: AtomicU32,
    /// The region that the last look found it in; 0 for none.
    seen: Cell<u32>,
    /// The region in which what it had cached went back.
    emptied: Cell<u32>,
    /// The number of that look.
    look: Cell<u32>,
}

/// What a look at a mutator in a blocking region finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// It was looked at in this look before, or has nothing to give back.
    Nothing,
    /// It has not been in the region for long.
    Recent,
    /// It was in the region at the last look, too.
    Idle,
}

impl Regions {
    pub(crate) const fn new() -> Self {
        Regions { count: AtomicU32::new(0), seen: Cell::new(0), emptied: Cell::new(0), look: Cell::new(0) }
    }

    /// Its thread begins one.
    pub(super) fn begin(&self) {
        // 0 is none.
        let next = self.count.load(Ordering::Relaxed).wrapping_add(1).max(1);
        self.count.store(next, Ordering::Relaxed);
    }

    /// What look `number` (not 0) finds, if it is in a region now.
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

    /// What it had cached has gone back, in the region that was seen.
    pub(crate) fn emptied(&self) {
        self.emptied.set(self.seen.get());
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn one_that_is_in_a_region_for_two_looks_is_emptied_once() {
        let regions = Regions::new();
        assert_eq!(regions.look(1, false), Found::Nothing);
        regions.begin();
        assert_eq!([regions.look(2, true), regions.look(2, true)], [Found::Recent, Found::Nothing]);
        regions.begin();
        assert_eq!(regions.look(3, true), Found::Recent, "another region");
        assert_eq!(regions.look(4, false), Found::Nothing, "it runs");
        assert_eq!(regions.look(5, true), Found::Recent, "it ran at the last look");
        assert_eq!(regions.look(6, true), Found::Idle);
        assert_eq!(regions.look(7, true), Found::Idle, "it was not emptied");
        regions.emptied();
        assert_eq!(regions.look(8, true), Found::Nothing);
        regions.begin();
        assert_eq!([regions.look(9, true), regions.look(10, true)], [Found::Recent, Found::Idle]);
    }
}
