//! What a heap does in a thread of its own: it gives memory back.
//!
//! | file | what it holds |
//! |---|---|
//! | `scavenger` | the thread |
//! | `wakeup` | how collections wake it, and its heap ends it |
//!
//! Invariant: the thread knows the space, the goal and the wakeup, and no collector.

mod scavenger;
mod wakeup;

pub(crate) use scavenger::{Background, Scavenger};
