//! Policy: how much of the heap's memory a mutator may cache, how many spans a refill brings, how much a mutator sweeps,
//! and by how much the heap grows. Pure functions of what was observed: none reads a clock, takes a lock or asks the
//! kernel.
//!
//! | file | what it decides |
//! |---|---|
//! | `refill` | a mutator's share of the unused bytes, its credit until the next refill, the spans of a refill, and its part of the sweeping |
//! | `growth` | how far the heap grows, and pages near a limit |
//! | `tunables` | the constants of all of them |
//!
//! The policies of collections are in `heapwood-gc/src/policy`. Invariant: the same observations lead to the same
//! decisions.

pub(crate) mod growth;
pub(crate) mod refill;
mod tunables;

pub(crate) use tunables::{arenas, external};
