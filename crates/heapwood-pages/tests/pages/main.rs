//! The tests of the page allocator.
//!
//! | module | subject |
//! |---|---|
//! | [`model`] | random programs against the naive model of [`common`] |
//! | [`exhaustive`] | every state of tiny geometries |
//! | [`boundaries`] | runs at the ends of words, chunks, levels and of the address range |
//! | [`batch`] | many runs freed at once |
//! | [`cache`], [`long_cache`] | the page caches of a thread |
//! | [`shared`] | threads that share an allocator |
//! | [`scavenger`], [`paced_work`] | releasing memory |
//! | [`refusal`] | kernels that refuse |
//! | [`residency`] | what the kernel has in memory, by the state of the page |
//! | [`snapshot`] | snapshots of pages |

mod batch;
mod boundaries;
mod cache;
mod common;
mod exhaustive;
mod long_cache;
mod model;
mod paced_work;
mod refusal;
mod residency;
mod scavenger;
mod shared;
mod snapshot;
