//! Collecting: when, and how.
//!
//! | file | what it holds |
//! |---|---|
//! | `collector` | what collections of a heap need, and who may collect |
//! | `cause` | why there is a collection, and of what |
//! | `halt` | how the world stops: the order of locks, and what has to be known |
//! | `cycle` | one collection, from the sweep before it to the resume |
//! | `pace` | when the next is due |
//! | `growth` | how much larger than what is alive the heap may become |
//! | `nursery` | whether there are young collections, and when |
//! | `stepped` | a full marking that goes on while mutators run, in steps (feature `stepped`) |
//! | `share` | how much of the time collections may take near a limit |
//! | `room` | what the process leaves a heap: addresses and memory |
//!
//! Invariant: one collection runs at a time, on a thread whose mutators are stopped, or which has none.

mod cause;
mod collector;
mod cycle;
mod growth;
mod halt;
mod nursery;
mod pace;
mod room;
mod share;
mod stepped;

pub(crate) use cause::Cause;
pub(crate) use collector::{Collector, Tried, Work};
pub(crate) use pace::Pacer;
pub(crate) use room::{Room, hold_margin, window};
