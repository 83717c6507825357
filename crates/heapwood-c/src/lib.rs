//! The C interface: the functions that `include/heapwood.h` declares, over the collector. The header is the reference
//! for users; here stands how each is done. Nothing in the allocation path uses the standard collections, no
//! thread-local variable is read, and nothing unwinds into C: arguments are checked before anything else, and a
//! panic, which would be a bug of this library, ends the process at the `extern "C"` boundary.
//!
//! | module | what it holds |
//! |---|---|
//! | [`status`] | statuses |
//! | [`error`] | why something is refused, and the status that goes with it |
//! | [`error_report`] | status and sentence, as C is told of a refusal |
//! | [`options`] | structs that begin with their size |
//! | [`handle`] | what stands behind a heap's handle |
//! | [`heap`] | heaps: creating, destroying |
//! | [`threads`] | attaching, detaching, polling, blocking regions |
//! | [`stacks`] | stacks that threads switch to |
//! | [`types`], [`type_table`] | types as C describes them, and the table of them |
//! | [`trace`] | what trace functions call |
//! | [`alloc`] | allocation's slow paths, arrays, looking up |
//! | [`arena`] | arenas, but for the inline functions |
//! | [`barrier`] | stores of pointers |
//! | [`roots`] | registered roots and handles |
//! | [`control`] | collecting, statistics, the version |

pub mod alloc;
pub mod arena;
pub mod barrier;
pub mod control;
pub mod error;
pub mod error_report;
pub mod handle;
pub mod heap;
pub mod options;
pub mod roots;
pub mod stacks;
pub mod status;
pub mod threads;
pub mod trace;
pub mod type_table;
pub mod types;

#[cfg(test)]
mod generated;
#[cfg(test)]
mod header;
