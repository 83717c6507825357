//! The C interface: the functions that `include/heapwood.h` declares, over the collector. The header is the reference
//! for users. The allocation path uses no standard collections and reads no thread-local variable. Nothing unwinds into
//! C: arguments are checked first, and a panic, which would be a bug of this library, ends the process at the `extern
//! "C"` boundary.
//!
//! | module | content |
//! |---|---|
//! | [`status`] | statuses |
//! | [`error`] | errors and their statuses |
//! | [`error_report`] | an error as C gets it: a status and a sentence |
//! | [`options`] | structs that begin with their size |
//! | [`handle`] | the target of a heap's handle |
//! | [`finalize`] | finalisers of data outside the heap |
//! | [`hook`] | a function that is called in each pause, and the epoch |
//! | [`heap`] | heaps: creating, destroying |
//! | [`threads`] | attaching, detaching, polling, blocking regions |
//! | [`stacks`] | stacks that threads switch to |
//! | [`types`], [`type_table`] | types as C describes them, and the table of them |
//! | [`trace`] | the functions that trace functions call |
//! | [`alloc`] | slow paths of allocation, arrays, lookup |
//! | [`arena`] | arenas, except the inline functions |
//! | [`barrier`] | stores of pointers |
//! | [`check`] | pointers that a program is about to follow, and who is told of mistakes |
//! | [`external`] | memory outside the heap that its objects own |
//! | [`weak`] | weak references and ephemerons |
//! | [`weak_table`] | weak tables |
//! | [`link`] | links |
//! | [`roots`] | registered roots and handles |
//! | [`control`] | collecting, statistics, the version |
//! | [`memory`] | where the memory is |

pub mod alloc;
pub mod arena;
pub mod barrier;
pub mod check;
pub mod control;
pub mod error;
pub mod error_report;
pub mod external;
pub mod finalize;
pub mod handle;
pub mod heap;
pub mod hook;
pub mod link;
pub mod memory;
pub mod options;
pub mod roots;
pub mod stacks;
pub mod status;
pub mod threads;
pub mod trace;
pub mod type_table;
pub mod types;
pub mod weak;
pub mod weak_table;

#[cfg(test)]
mod generated;
#[cfg(test)]
mod header;
