//! Policy: when a heap is collected, how large it may become, and what runs in the background. Each file is a state machine
//! that is told what was observed and decides; none reads a clock, takes a lock or asks the kernel.
//!
//! | file | what it decides |
//! |---|---|
//! | `growth` | how much larger than what is alive the heap may become |
//! | `goal` | the size at which the next full collection is due |
//! | `nursery` | whether there are young collections, and when |
//! | `pace` | how much may be allocated while a marking goes on beside the program |
//! | `help` | whether workers help with a marking |
//! | `idle` | when an idle heap is collected |
//! | `release` | which memory goes back to the kernel |
//! | `start` | when a concurrent marking starts |
//! | `tunables` | the constants of all of them, and of background work |
//!
//! docs/design/policy.md shows how they act on each other; `heapwood-eval policy` plays programs through them.
//! Invariant: the same observations lead to the same decisions.

mod goal;
mod growth;
mod help;
mod idle;
mod nursery;
mod pace;
mod release;
mod start;
mod tunables;

pub(crate) use goal::{Bounds, GoalPacer};
pub use growth::{Growth, Spent};
pub(crate) use help::HelpPolicy;
pub(crate) use idle::{IdlePolicy, IdleSample};
pub use nursery::{Efficiency, NextCollection, Nursery};
pub(crate) use pace::MarkPace;
pub(crate) use release::{Release, ReleasePolicy};
pub use start::{MarkCycle, StartPolicy};
pub(crate) use tunables::goal::LEAST_BUDGET;
pub(crate) use tunables::nursery::LEAST_BUDGET_OF_YOUNG;
pub(crate) use tunables::{background, idle as idle_limits, pace as pace_limits, start as start_limits};
