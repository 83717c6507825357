//! Arenas.

mod at_the_limit;
mod faults;
mod lifetime;
mod stale;

use heapwood_gc_testing::Values;

/// Values of eight words, the first of which is a pointer.
fn cells() -> Values {
    Values::new(8, 8, [0b1, 0, 0, 0])
}
