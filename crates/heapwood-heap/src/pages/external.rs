//! The bytes outside the heap that its objects own, as the program tells: buffers, mapped files, what a library has allocated.
//! They count against the heap's limit and against the budget of a cycle like pages, and have none.
//!
//! What counts against a budget is what the level has risen by since its lowest point in the cycle: a collection finds dead
//! objects, and the program gives back their bytes afterwards. If all of the level counted, a heap would get room for them a second time,
//! with each collection more (docs/design/finalization.md). Entries of links and finalisers count with them: a program of small
//! objects that have one each would fill memory with entries before it has filled its budget with objects. Invariant: what the program
//! has told is the sum of what was added less the sum of what was given back, exactly: no thread keeps a part of it.

use crate::error::Refusal;
use crate::marks::Collection;
use crate::policy::external::{LEAST_STEP, STEP_PART};
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The most bytes there can be.
const MOST: usize = isize::MAX as usize;

/// The level of one heap, and its lowest points. Its orders are relaxed: nothing is published by it, and a collection reads it
/// in a stop.
#[derive(Default)]
pub struct External {
    /// What the program has told.
    told: AtomicUsize,
    /// What the heap's entries of links and finalisers take.
    entries: AtomicUsize,
    /// The level when the cycle began, and the lowest since; and since the last full collection.
    began: AtomicUsize,
    lowest: AtomicUsize,
    lowest_since_full: AtomicUsize,
    /// Whoever reaches this level looks at the budget, and again after so many bytes.
    look_at: AtomicUsize,
    step: AtomicUsize,
}

/// How the bytes outside the heap have changed in a cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExternalChange {
    /// What they have fallen by, below their level when the last collection ended: since that found dead objects.
    pub fell: usize,
    /// What they have risen by since they were fewest.
    pub rose: usize,
}

impl External {
    /// The bytes that the program has told.
    pub fn told(&self) -> usize {
        self.told.load(Relaxed)
    }

    /// All bytes now.
    pub fn level(&self) -> usize {
        self.told().saturating_add(self.entries.load(Relaxed))
    }

    /// Sets what entries take.
    pub fn set_entries(&self, bytes: usize) {
        if bytes < self.entries.swap(bytes, Relaxed) {
            self.fell();
        }
    }

    /// The change in this cycle.
    pub fn change(&self) -> ExternalChange {
        let lowest = self.lowest.load(Relaxed);
        ExternalChange {
            fell: self.began.load(Relaxed).saturating_sub(lowest),
            rose: self.level().saturating_sub(lowest),
        }
    }

    /// What they have risen by since they were fewest after the last full collection.
    pub fn rose_since_full(&self) -> usize {
        self.level().saturating_sub(self.lowest_since_full.load(Relaxed))
    }

    /// Whether so many more can be counted.
    pub(crate) fn check(&self, bytes: usize) -> Result<(), Refusal> {
        self.more(self.told(), bytes).map(|_| ())
    }

    fn more(&self, level: usize, bytes: usize) -> Result<usize, Refusal> {
        let more = level.checked_add(bytes).filter(|&more| more <= MOST);
        more.ok_or(Refusal::BeyondMemory { bytes, level })
    }

    /// Whether the budget is to be looked at before so many more are added.
    pub(crate) fn is_to_look(&self, bytes: usize) -> bool {
        self.level().saturating_add(bytes) > self.look_at.load(Relaxed)
    }

    /// The budget was looked at before so many more are added, and then has `left` bytes.
    pub(crate) fn looked(&self, bytes: usize, left: usize) {
        let step = LEAST_STEP.max(left / STEP_PART);
        self.step.store(step, Relaxed);
        self.look_at.store(self.level().saturating_add(bytes).saturating_add(step), Relaxed);
    }

    /// Adds bytes.
    ///
    /// # Errors
    /// There would be more than memory can hold.
    pub(crate) fn add(&self, bytes: usize) -> Result<(), Refusal> {
        let mut level = self.told();
        loop {
            let more = self.more(level, bytes)?;
            match self.told.compare_exchange_weak(level, more, Relaxed, Relaxed) {
                Ok(_) => break,
                Err(now) => level = now,
            }
        }
        Ok(())
    }

    /// Takes bytes away.
    ///
    /// # Errors
    /// There are fewer.
    pub fn give_back(&self, bytes: usize) -> Result<(), Refusal> {
        let mut level = self.told();
        loop {
            let less = level.checked_sub(bytes).ok_or(Refusal::MoreThanAdded { bytes, level })?;
            match self.told.compare_exchange_weak(level, less, Relaxed, Relaxed) {
                Ok(_) => break,
                Err(now) => level = now,
            }
        }
        self.fell();
        Ok(())
    }

    /// The level has fallen.
    fn fell(&self) {
        let level = self.level();
        for (mark, to) in [
            (&self.lowest, level),
            (&self.lowest_since_full, level),
            (&self.look_at, level.saturating_add(self.step.load(Relaxed))),
        ] {
            if to < mark.load(Relaxed) {
                mark.fetch_min(to, Relaxed);
            }
        }
    }

    /// Begins the cycle after a marking, with a budget in bytes. All mutators are stopped.
    pub(crate) fn begin_cycle(&self, after: Collection, budget: usize) {
        let level = self.level();
        self.began.store(level, Relaxed);
        self.lowest.store(level, Relaxed);
        if after == Collection::Full {
            self.lowest_since_full.store(level, Relaxed);
        }
        self.looked(0, budget);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_level_is_exact_and_refuses_what_cannot_be() {
        let external = External::default();
        external.add(100).unwrap();
        external.give_back(40).unwrap();
        assert_eq!(external.level(), 60);
        assert_eq!(external.give_back(61), Err(Refusal::MoreThanAdded { bytes: 61, level: 60 }));
        for bytes in [MOST - 59, MOST, usize::MAX] {
            let refused = Err(Refusal::BeyondMemory { bytes, level: 60 });
            assert_eq!((external.check(bytes), external.add(bytes)), (refused, refused));
        }
        assert_eq!(external.level(), 60, "nothing has changed");
        external.add(MOST - 60).unwrap();
        external.give_back(MOST).unwrap();
        assert_eq!(external.level(), 0);
    }

    #[test]
    fn threads_add_and_give_back_at_once() {
        let external = External::default();
        std::thread::scope(|scope| {
            for i in 1..=2 {
                let external = &external;
                scope.spawn(move || {
                    for _ in 0..10_000 {
                        external.add(3 * i).unwrap();
                        external.give_back(2 * i).unwrap();
                    }
                });
            }
        });
        assert_eq!(external.level(), 30_000);
    }
}
