//! The entry points of programs: what a thread calls on its mutator that may reach the collector. They are methods of
//! [`Mutator`](crate::Mutator), but need the whole heap, and so lie above it.

pub(crate) mod allocate;
pub(crate) mod arena;
pub(crate) mod attach;
pub(crate) mod chains;
mod collections_off;
pub(crate) mod ephemeron;
pub(crate) mod external;
mod external_memory;
pub(crate) mod finalize;
pub(crate) mod free;
mod held;
mod hook;
pub(crate) mod link;
pub(crate) mod marking;
mod memory;
mod shade_all;
pub(crate) mod tickets;
mod told;
pub(crate) mod weak_table;
