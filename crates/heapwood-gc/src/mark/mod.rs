//! Marking: from the roots to everything that can be reached, with one expected cache miss an object, hidden. Invariant: the
//! files up to `tracer` are one marker, whose fields they share; who marks sees what went in and what was found.
//!
//! | file | what it holds |
//! |---|---|
//! | `queue` | the marking loop: a bounded stack of edges feeds a ring of edges, and that a ring of objects |
//! | `ring` | what waits for its memory, oldest out first |
//! | `scan` | finding the edges of an object, by scan kind |
//! | `programs` | the same for types that a program describes |
//! | `ambiguous` | words that may or may not be pointers |
//! | `stack` | the bounded stacks |
//! | `overflow` | what happens when they are full |
//! | `rescan` | which spans have to be scanned again then |
//! | `tracer` | what a type's own trace function sees |
//! | `shading` | what the write barrier tells a concurrent marking |
//! | `session` | a concurrent marking, in steps that somebody drives |
//! | `roots` | roots, as a marker takes them |
//! | `mode` | who marks what until when: what the loop is compiled for |
//! | `bits` | how marks are set, by one thread or several |
//! | `marker_pool` | how several markers hand edges over and learn of the end |
//! | `blocks` | the blocks of edges that they hand over |
//! | `work_sharing` | when a marker hands edges over, and receives some |
//! | `workers` | the threads that help |
//! | `marking` | whether they do |

mod ambiguous;
mod bits;
mod blocks;
mod marker_pool;
mod marking;
mod mode;
mod overflow;
mod programs;
mod queue;
mod rescan_set;
mod ring;
mod roots;
mod scan;
mod session;
mod shading;
mod stack;
mod tracer;
mod work_sharing;
mod workers;

pub(crate) use marking::Marking;
pub(crate) use queue::MarkTotals;
pub(crate) use session::MarkSession;
pub(crate) use shading::Shading;
pub use tracer::Tracer;
