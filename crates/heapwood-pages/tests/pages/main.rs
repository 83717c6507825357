//! The tests of the page allocator, in one program. A newcomer finds them by module:
//!
//! | module | what it tests |
//! |---|---|
//! | [`model`] | random programs against the naive model of [`common`] |
//! | [`exhaustive`] | every state of tiny geometries |
//! | [`boundaries`] | runs at the ends of words, blocks, levels and of the address range |
//! | [`batch`] | many runs freed at once |
//! | [`cache`], [`long_cache`] | the pages that a thread keeps |
//! | [`shared`] | threads that share an allocator |
//! | [`scavenger`], [`paced_work`] | memory that goes back, a piece at a time |
//! | [`refusal`] | kernels that refuse |
//! | [`snapshot`] | what an allocator tells of its pages |

mod batch;
mod boundaries;
mod cache;
mod common;
mod exhaustive;
mod long_cache;
mod model;
mod paced_work;
mod refusal;
mod scavenger;
mod shared;
mod snapshot;
