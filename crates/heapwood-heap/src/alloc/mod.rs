//! Allocation by mutators.
//!
//! | module | contents |
//! |---|---|
//! | `alloc_buffer` | a mutator's run of free cells of one shape: the fast path |
//! | `thread_cache` | per mutator: pages, an account, the set of active buffers; per shape: cached spans, freed cells |
//! | `runs` | the search for runs of free cells in a span |
//! | `owner` | the slow path: next run, next span |
//! | `central_refill` | the refill from the central lists, several spans at once |
//! | `return_spans` | a mutator's spans at a stop, at the end of a cycle, and at a flush |
//! | `promote` | en-masse promotion, the early end of a young collection |
//! | `recently_freed` | per mutator: the cells that the program freed lately, by page |
//! | `find` | from an address to the object there, whose ever it is |
//! | `free`, `reuse` | objects that the program frees itself, and their cells |
//! | `large` | objects with pages of their own |

pub(crate) mod alloc_buffer;
mod central_refill;
pub(crate) mod find;
pub(crate) mod free;
pub(crate) mod large;
pub(crate) mod owner;
pub(crate) mod promote;
mod recently_freed;
mod return_spans;
mod reuse;
mod runs;
pub(crate) mod thread_cache;
