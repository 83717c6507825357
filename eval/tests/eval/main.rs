//! The tests of the experiments: each runs the program and reads its output.

mod allocation;
mod common;
mod layouts;
mod pages;
mod samples;
mod trifles;
