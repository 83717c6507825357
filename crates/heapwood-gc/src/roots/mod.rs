//! Roots: what keeps objects alive from outside the heap.
//!
//! | module | roots |
//! |---|---|
//! | [`table`] | global slots (precise) and ranges (ambiguous), registered by the client |
//! | [`handles`] | slots the heap owns and hands out |
//!
//! Frames and stacks belong to a mutator and are found there.

pub mod handles;
pub mod table;

pub use handles::{Handle, HandleError, Handles, MAX_HANDLES};
pub use table::{RootError, RootToken, Roots};
