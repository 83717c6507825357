//! Stress: a collection at about every n-th allocation, at places that a seed gives: `HEAPWOOD_LIBGC_STRESS=N[,SEED]`. Where the
//! heap's own option `stress` collects at each, this lets programs of some seconds run in minutes. Invariant: without it nothing
//! here is called but a test of one word on the slow path.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use heapwood_gc::Mutator;

/// On average so many allocations come between two collections; 0: no stress.
static EVERY: AtomicU64 = AtomicU64::new(0);
static STATE: AtomicU64 = AtomicU64::new(1);
/// Allocations until the next collection.
static LEFT: AtomicU64 = AtomicU64::new(1);

/// Reads the variable's value.
pub(crate) fn set(text: &str) {
    let (every, seed) = text.split_once(',').unwrap_or((text, "1"));
    let (Ok(every), Ok(seed)) = (every.trim().parse::<u64>(), seed.trim().parse::<u64>()) else {
        crate::report::abort(format_args!(
            "HEAPWOOD_LIBGC_STRESS is {text:?}: it must be a number of allocations, and perhaps a comma and a seed"
        ));
    };
    STATE.store(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1, Relaxed);
    // Programs are not ready for their own callbacks before they have begun.
    LEFT.store(every.saturating_mul(2).max(1), Relaxed);
    EVERY.store(every, Relaxed);
}

/// Whether each allocation takes the slow path.
pub(crate) fn is_slow() -> bool {
    EVERY.load(Relaxed) != 0 || crate::objects::interior::is_strict()
}

/// An allocation: collects, if it is one of those.
#[inline]
pub(crate) fn step(mutator: &Mutator) {
    let every = EVERY.load(Relaxed);
    if every != 0 {
        step_of(mutator, every);
    }
}

#[cold]
fn step_of(mutator: &Mutator, every: u64) {
    if LEFT.fetch_sub(1, Relaxed) != 1 {
        return;
    }
    // xorshift64 (Marsaglia 2003); threads may use a number twice.
    let mut next = STATE.load(Relaxed);
    next ^= next << 13;
    next ^= next >> 7;
    next ^= next << 17;
    STATE.store(next, Relaxed);
    LEFT.store(1 + next % (2 * every - 1), Relaxed);
    // A thread that cannot collect here leaves it to the next.
    let _ = mutator.collect();
}
