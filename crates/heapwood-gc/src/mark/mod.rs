//! Marking: from the roots to everything that can be reached, with one expected cache miss an object, hidden.
//!
//! | module | what it holds |
//! |---|---|
//! | [`queue`] | the marking loop: a bounded stack of edges feeds a ring of edges, and that a ring of objects |
//! | `ring` | what waits for its memory, oldest out first |
//! | [`scan`] | finding the edges of an object, by scan kind |
//! | [`programs`] | the same for types that a program describes |
//! | [`ambiguous`] | words that may or may not be pointers |
//! | [`stack`] | the bounded stacks |
//! | [`overflow`] | what happens when they are full |
//! | [`tracer`] | what a type's own trace function sees |

pub mod ambiguous;
pub mod overflow;
pub mod programs;
pub mod queue;
mod ring;
pub mod scan;
pub mod stack;
pub mod tracer;

pub use queue::Marker;
pub use stack::MarkStacks;
