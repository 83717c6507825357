//! Collecting: one collection as a list of phases, and who may collect.
//!
//! | file | what it holds |
//! |---|---|
//! | `run` | one collection, as the list of its phases |
//! | `cycle` | what the phases of one collection have found |
//! | `phases` | the phases |
//! | `plan` | what a pause does, decided once after the stop |
//! | `cause` | why there is a collection |
//! | `collector` | what collections of a heap need, and who may collect |
//! | `client` | a client's part in it |
//! | `hook` | a function of the program that is called in each pause |
//! | `look` | a stop that only looks |
//! | `session` | whether there is a concurrent marking |
//! | `concurrent` | a concurrent marking: its start, its slices beside the program, its end |
//! | `concurrent_rule` | which full collections mark so |
//! | `concurrent_work` | what collections note for them |
//! | `turns` | whose turn it is: the marker's or a collection's |
//!
//! Invariant: one collection runs at a time, on a thread whose mutators are stopped, or which has none.

mod cause;
mod client;
mod collector;
mod concurrent;
mod concurrent_rule;
mod concurrent_work;
mod cycle;
mod hook;
mod look;
mod phases;
mod plan;
mod run;
mod session;
mod turns;

pub(crate) use cause::Cause;
pub(crate) use collector::{Collector, CollectorTurn, Work};
pub use hook::{CollectionHook, CollectionKind, CollectionMoment};
pub(crate) use look::HeapTable;
pub(crate) use plan::PauseKind;
