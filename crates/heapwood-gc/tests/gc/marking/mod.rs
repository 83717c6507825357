//! What is hard to mark.

mod bounded_stack;
mod parallel;
mod procedures;
