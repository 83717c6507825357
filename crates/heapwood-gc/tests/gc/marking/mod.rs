//! Graphs that are hard to mark.

mod bounded_stack;
mod lists;
mod mark_stack;
mod parallel;
mod procedures;
mod programs;
mod tagged;
mod words;
