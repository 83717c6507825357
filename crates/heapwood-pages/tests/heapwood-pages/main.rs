//! The tests of the page allocator, one module a subject. `common` has the model that several of them compare with; the fuzz
//! target `pages` uses it, too.

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
