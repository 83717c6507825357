//! Observation of a heap: statistics, traces, verify mode, snapshots.
//!
//! | file | contents |
//! |---|---|
//! | [`stats`] | the statistics: one list |
//! | [`memory_parts`] | the parts of a heap's memory: one list |
//! | `memory_account` | an account of them |
//! | `histogram` | durations, for quantiles |
//! | `record` | the statistics of collections |
//! | `phases` | the moments of a collection, and its phases |
//! | `tracing` | a line on standard error for each collection (`trace_line`) |
//! | `slow_thread` | the report of a thread that does not stop |
//! | `verify` | the checks of verify mode |
//! | `second_marking` | what a concurrent marking must have marked, and floating garbage, for verify mode |
//! | `unnamed_words` | pointers that a layout forgets, for verify mode |
//! | `walk` | the words of roots, and a walk over the objects that they reach, for verify mode |
//! | `slots` | the pointer slots of an object, for verify mode and for emptying arenas |
//! | `snapshot` | snapshots of the pages |
//!
//! Invariant: nothing of a heap depends on its observation.

mod histogram;
mod memory_account;
pub mod memory_parts;
mod phases;
mod record;
mod second_marking;
mod slots;
mod slow_thread;
mod snapshot;
pub mod stats;
mod trace_line;
mod tracing;
mod unnamed_words;
mod verify;
mod walk;

pub use memory_account::MemoryAccount;
pub(crate) use phases::{AwaitedThread, Moment, Times};
pub(crate) use record::{ConcurrentTotals, Record};
pub(crate) use second_marking::Floating;
pub(crate) use slots::{for_each_slot, shape_of};
pub(crate) use slow_thread::SlowThreads;
pub(crate) use snapshot::PageSnapshots;
pub(crate) use stats::Stats;
pub(crate) use trace_line::{RootBytes, TracedCollection};
pub(crate) use tracing::Tracing;
pub(crate) use verify::Verify;
