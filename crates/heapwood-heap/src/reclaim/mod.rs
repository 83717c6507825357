//! What mutators share, and how dead objects become free cells and pages again.
//!
//! | module | what it holds |
//! |---|---|
//! | `available` | which shapes have spans on lists, to be read without the lock |
//! | `clock` | how long sweeping and page recovery take |
//! | `central` | the state behind one lock: the lists of spans of each shape, the budget |
//! | `sweeper` | lazy sweeping, and the pages that it frees |
//! | `large` | sweeping and freeing of large objects |
//! | `empty_spans` | pages on their way back to the page allocator |

pub(crate) mod available;
pub(crate) mod central;
pub(crate) mod clock;
pub(crate) mod empty_spans;
mod large;
pub(crate) mod sweeper;
