//! Allocation by mutators.
//!
//! | module | contents |
//! |---|---|
//! | `alloc_buffer` | a mutator's run of free cells of one shape: the fast path |
//! | `shared_cell` | a word of it that other threads may load |
//! | `chain` | cells linked through their first words |
//! | `cached_spans` | per shape: cached spans, and cells that the program freed |
//! | `thread_cache` | per mutator: pages, an account, the set of active buffers |
//! | `runs` | the search for runs of free cells in a span |
//! | `allocator` | the shared base: the sweeper and the shapes |
//! | `owner` | the slow path: next run, next span |
//! | `central_refill` | the refill from the central lists, several spans at once |
//! | `return_spans` | a mutator's spans at a stop, at the end of a cycle, and at a flush |
//! | `promote` | en-masse promotion, the early end of a young collection |
//! | `recently_freed` | per mutator: the cells that the program freed lately, by page |
//! | `find` | from an address to the object there, whose ever it is |
//! | `free` | objects that the program frees itself |
//! | `large` | objects with pages of their own |

pub(crate) mod alloc_buffer;
pub(crate) mod allocator;
mod cached_spans;
mod central_refill;
mod chain;
pub(crate) mod find;
pub(crate) mod free;
pub(crate) mod large;
pub(crate) mod owner;
pub(crate) mod promote;
mod recently_freed;
mod return_spans;
mod runs;
mod shared_cell;
pub(crate) mod thread_cache;
