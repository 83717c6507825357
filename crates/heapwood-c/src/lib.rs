//! The C interface: the functions that `include/heapwood.h` declares, over the collector. The header is the reference
//! for users; here stands how each is done. Nothing in the allocation path uses the standard collections, no
//! thread-local variable is read, and nothing unwinds into C: arguments are checked before anything else, and a
//! panic, which would be a bug of this library, ends the process at the `extern "C"` boundary.
//!
//! | module | what it holds |
//! |---|---|
//! | [`status`] | outcomes as C sees them |
//! | [`refusal`] | why something is refused |
//! | [`options`] | structs that begin with their size |
//! | [`heap`] | heaps: creating, destroying |
//! | [`threads`] | attaching, detaching, polling, blocking regions |
//! | [`types`] | types and the table of them |
//! | [`trace`] | what trace functions call |
//! | [`alloc`] | allocation's slow paths, arrays, looking up |
//! | [`barrier`] | stores of pointers |
//! | [`roots`] | registered roots and handles |
//! | [`control`] | collecting, statistics, the version |
//! | [`placed`] | values behind opaque handles, in mapped memory |

pub mod alloc;
pub mod barrier;
pub mod control;
pub mod heap;
pub mod options;
pub mod placed;
pub mod refusal;
pub mod roots;
pub mod status;
pub mod threads;
pub mod trace;
pub mod types;

#[cfg(test)]
mod generated;
#[cfg(test)]
mod header;
