//! How mutators get cells.
//!
//! | module | what it holds |
//! |---|---|
//! | `buffer` | a mutator's runs of free cells: the fast path |
//! | `cached` | what it keeps of each shape beside them: spans, and cells that were freed |
//! | `thread_cache` | what it keeps of all shapes: pages, an account, which of them are active |
//! | `runs` | where the next free cells of a span lie |
//! | `allocator` | the floor that all this stands on: spans that are swept, and shapes |
//! | `owner` | the slow path: next run, next span |
//! | `refill_from_central` | the central refill to what is shared, for several spans at once |
//! | `return_spans` | what happens to a mutator's spans when a cycle ends, and when it gives all back |
//! | `promote` | how a young collection is ended before it has looked at everything |
//! | `free` | objects that the program frees itself |
//! | `large` | objects with pages of their own |

pub(crate) mod alloc_buffer;
pub(crate) mod allocator;
mod cached_spans;
mod central_refill;
pub(crate) mod free;
pub(crate) mod large;
pub(crate) mod owner;
pub(crate) mod promote;
mod return_spans;
mod runs;
pub(crate) mod thread_cache;
