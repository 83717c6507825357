//! How mutators get cells.
//!
//! | module | what it holds |
//! |---|---|
//! | `bump` | a mutator's runs of free cells: the fast path |
//! | `thread_cache` | what a mutator keeps beside them: pages, an account, which of them are active |
//! | `runs` | where the next free cells of a span lie |
//! | `allocator` | the floor that all this stands on: spans that are swept, and shapes |
//! | `owner` | the slow path: next run, next span, and giving all back |
//! | `large` | objects with pages of their own |

pub(crate) mod allocator;
pub(crate) mod bump;
pub(crate) mod large;
pub(crate) mod owner;
mod runs;
pub(crate) mod thread_cache;
