//! The state that mutators share, and the way from dead objects to free cells and free pages.
//!
//! | module | contents |
//! |---|---|
//! | `clock` | the time that sweeping and page recovery take |
//! | `central` | the state behind one lock: the span lists of each shape |
//! | `budget` | beside them: the budget, and the counters of allocation |
//! | `hints` | what is known of them without the lock: which shapes have something, who sweeps for all |
//! | `sweeper` | lazy sweeping |
//! | `large` | sweeping and freeing of large objects |
//! | `empty_spans` | free pages on their way back to the page allocator |
//! | `run_owners` | the mutators that may have runs of free cells |

pub(crate) mod budget;
pub(crate) mod central;
pub(crate) mod clock;
pub(crate) mod empty_spans;
mod hints;
mod large;
pub(crate) mod run_owners;
pub(crate) mod sweeper;
