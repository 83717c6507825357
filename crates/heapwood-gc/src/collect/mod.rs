//! Collecting: one collection as a list of phases, and who may collect.
//!
//! | file | what it holds |
//! |---|---|
//! | `run` | one collection, as the list of its phases |
//! | `phases` | the phases, a file each |
//! | `plan` | what a pause does, decided once after the stop |
//! | `cause` | why there is a collection |
//! | `collector` | what collections of a heap need, and who may collect |
//! | `session` | whether there is a concurrent marking |
//! | `concurrent` | a concurrent marking, in steps that somebody drives |
//!
//! Invariant: one collection runs at a time, on a thread whose mutators are stopped, or which has none.

mod cause;
mod collector;
mod concurrent;
mod phases;
mod plan;
mod run;
mod session;

pub(crate) use cause::Cause;
pub(crate) use collector::{Collector, TryCollect, Work};
