//! What the library exports, under libgc's names. Invariant: all of it is made from the list.

#[macro_use]
mod list;

pub(crate) mod debug;
pub(crate) mod defaults;
pub(crate) mod rest;
mod symbols;
pub(crate) mod types;
pub(crate) mod variables;
