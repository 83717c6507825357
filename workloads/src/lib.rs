//! The benchmark programs of Heapwood, each a plain function over the Rust crate.
//!
//! | module | program |
//! |---|---|
//! | [`trees`] | binary trees, as the Benchmarks Game defines them |
//! | [`gcbench`] | Ellis, Kovac and Boehm's: trees top down and bottom up beside a long-lived tree and array |
//! | [`churn`] | random replacement in a table of a million objects |
//! | [`mixed`] | a cache of documents of mixed sizes whose contents change over time |
//! | [`replacements`] | what the last two have in common |
//! | [`mark`] | a static graph, collected in full |
//! | [`random`] | the random numbers they share |
//! | [`protocol`] | what they print to be compared, and what is understood of that |
//! | [`workload`] | what they are to those who run them; [`ALL`] lists them |

pub mod churn;
pub mod gcbench;
pub mod mark;
pub mod mixed;
pub mod protocol;
pub mod random;
pub mod replacements;
pub mod trees;
pub mod workload;

pub use workload::{Figure, Line, N, OutOfRangeError, Workload};

/// Every workload, in the order they are shown in.
pub const ALL: &[&Workload] =
    &[&trees::WORKLOAD, &gcbench::WORKLOAD, &churn::WORKLOAD, &mixed::WORKLOAD, &mark::WORKLOAD];
