//! Looking at a heap, from outside and from inside.
//!
//! | file | what it holds |
//! |---|---|
//! | [`stats`] | the figures: one list |
//! | `histogram` | durations, so that quantiles can be told |
//! | `record` | what collections did and how long it took, as they tell it |
//! | `phases` | the phase clock |
//! | `tracing` | what is told on standard error unasked: a line a collection (`trace_line`), totals at the end (`at_exit`) |
//! | `verify` | the checks of verify mode |
//! | `arena_log` | who opened and closed arenas: for verify mode |
//! | `precise_walk`, `slots` | what precise roots lead to, and where the pointers of an object are: for verify mode, and for what takes them away |
//! | `snapshot` | snapshots of the pages, for those who study heaps (feature `inspect`) |
//!
//! Invariant: nothing of a heap depends on what is seen here.

mod arena_log;
mod at_exit;
mod histogram;
mod phases;
mod precise_walk;
mod record;
mod slots;
mod slow_thread;
mod snapshot;
pub mod stats;
mod trace_line;
mod tracing;
mod verify;

pub(crate) use arena_log::ArenaLog;
pub(crate) use phases::{Moment, Times};
pub(crate) use record::Record;
pub(crate) use slots::for_each_slot;
pub(crate) use slow_thread::report_slow_thread;
pub(crate) use snapshot::PageSnapshots;
pub(crate) use stats::Stats;
pub(crate) use trace_line::RootBytes;
pub(crate) use tracing::{TracedCollection, Tracing};
pub(crate) use verify::Verify;
