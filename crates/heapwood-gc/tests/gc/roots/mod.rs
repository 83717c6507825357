//! What keeps objects alive, and what does not.

mod dead_data;
mod displacements;
pub(crate) mod functions;
pub(crate) mod held;
mod intervals;
mod libraries;
