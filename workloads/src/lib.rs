//! The benchmark programs of Heapwood, each a plain function over the Rust door.
//!
//! | module | program |
//! |---|---|
//! | [`trees`] | binary trees, as the Benchmarks Game defines them |
//! | [`churn`] | random replacement in a table of a million objects |
//! | [`mark`] | a static graph, collected in full |
//! | [`random`] | the random numbers they share |

pub mod churn;
pub mod mark;
pub mod random;
pub mod trees;
