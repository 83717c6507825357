//! The entry points of programs: what a thread calls on its mutator that may reach the collector. They are methods of
//! [`Mutator`](crate::Mutator), but need the whole heap, and so lie above it.

pub(crate) mod allocate;
pub(crate) mod attach;
pub(crate) mod chains;
mod collections_off;
mod deferral;
pub(crate) mod free;
mod hook;
pub(crate) mod marking;
mod memory;
pub(crate) mod tickets;
