//! Policy: when a heap is collected, and how large it may become.
//!
//! | file | what it decides |
//! |---|---|
//! | `goal` | the size at which the next full collection is due, and whether one is worth it near a limit |
//! | `growth` | how much larger than what is alive the heap may become |
//! | `nursery` | whether there are young collections, and when |
//! | `share` | how much of the time collections may take near a limit |
//!
//! Invariant: a decision changes only when a collection ends, or when the program sets an option.

mod goal;
mod growth;
mod nursery;
mod share;

pub(crate) use goal::{Bounds, GoalPacer};
pub(crate) use growth::{Growth, Spent};
pub(crate) use nursery::{Efficiency, NextCollection, Nursery};
