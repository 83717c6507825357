//! Marking: from the roots to everything that can be reached, with one expected cache miss an object, hidden. Invariant: the
//! files are one marker, whose fields they share; who marks sees what went in and what was found.
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
//! | `flagged` | which spans have to be scanned again then |
//! | `tracer` | what a type's own trace function sees |

mod ambiguous;
mod flagged;
mod overflow;
mod programs;
mod queue;
mod ring;
mod scan;
mod stack;
mod tracer;

pub(crate) use flagged::FlaggedSpans;
pub(crate) use queue::{Marked, Marker};
pub(crate) use stack::MarkStacks;
pub use tracer::Tracer;
