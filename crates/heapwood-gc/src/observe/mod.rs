//! Looking at a heap, from outside and from inside.
//!
//! | file | what it holds |
//! |---|---|
//! | [`stats`] | the figures: one list |
//! | `histogram` | durations, so that quantiles can be told |
//! | `record` | what collections did and how long it took, as they tell it |
//! | `verify` | the checks of verify mode |
//! | `snapshot` | snapshots of the pages, for those who study heaps (feature `inspect`) |
//!
//! Invariant: nothing of a heap depends on what is seen here.

mod histogram;
mod record;
#[cfg(feature = "inspect")]
mod snapshot;
pub mod stats;
mod verify;

pub(crate) use record::{Record, Times};
#[cfg(feature = "inspect")]
pub(crate) use snapshot::PageSnapshots;
pub(crate) use stats::Stats;
pub(crate) use verify::Verify;
