//! What the oracles share: the kinds of objects that their programs make, and the graph as the program of one thread means it.

pub mod graph;
pub mod kinds;
