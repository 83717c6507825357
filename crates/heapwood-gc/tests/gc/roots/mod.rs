//! What keeps objects alive, and what does not.

mod dead_data;
mod displacements;
mod libraries;
