//! Arenas, as programs use them. Their memory is the space's (`heapwood-heap/arenas`); docs/design/arenas.md has the whole design.
//!
//! | file | contents |
//! |---|---|
//! | `entry` | what a thread calls: open, allocate, empty, close |
//! | `heap_values` | values that no arena can hold, which live in the heap |
//! | `release` | memory that arenas have given up goes back to the kernel |
//! | `log` | the callers that opened and closed arenas, for verify mode |
//!
//! Invariant: one thread uses an arena at a time.

pub(crate) mod entry;
mod heap_values;
pub(crate) mod log;
pub(crate) mod release;
