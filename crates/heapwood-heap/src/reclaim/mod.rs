//! The state that mutators share, and the way from dead objects to free cells and free pages.
//!
//! | module | contents |
//! |---|---|
//! | `available` | the set of shapes with spans on the central lists, read without the lock |
//! | `clock` | the time that sweeping and page recovery take |
//! | `central` | the state behind one lock: the span lists of each shape, the budget |
//! | `sweep_gate` | who sweeps for all, and whether anything is unswept, read without the lock |
//! | `sweeper` | lazy sweeping, and the pages that it frees |
//! | `large` | sweeping and freeing of large objects |
//! | `empty_spans` | free pages on their way back to the page allocator |
//! | `run_owners` | the mutators that may have runs of free cells |

pub(crate) mod available;
pub(crate) mod central;
pub(crate) mod clock;
pub(crate) mod empty_spans;
mod large;
pub(crate) mod run_owners;
mod sweep_gate;
pub(crate) mod sweeper;
