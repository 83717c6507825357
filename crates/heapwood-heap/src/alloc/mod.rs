//! How mutators get cells.
//!
//! | module | what it holds |
//! |---|---|
//! | `bump` | a mutator's runs of free cells: the fast path |
//! | `home` | what it keeps of each shape beside them: spans, and cells that were freed |
//! | `thread_cache` | what it keeps of all shapes: pages, an account, which of them are active |
//! | `runs` | where the next free cells of a span lie |
//! | `allocator` | the floor that all this stands on: spans that are swept, and shapes |
//! | `owner` | the slow path: next run, next span |
//! | `visit` | the visit to what is shared, for several spans at once |
//! | `hand_back` | what happens to a mutator's spans when a cycle ends, and when it gives all back |
//! | `promote` | how a young collection is ended before it has looked at everything |
//! | `free` | objects that the program frees itself |
//! | `large` | objects with pages of their own |

pub(crate) mod allocator;
pub(crate) mod bump;
pub(crate) mod free;
mod hand_back;
mod home;
pub(crate) mod large;
pub(crate) mod owner;
pub(crate) mod promote;
mod runs;
pub(crate) mod thread_cache;
mod visit;
