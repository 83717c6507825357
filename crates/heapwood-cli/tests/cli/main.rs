//! The tests of the command: each runs it and reads its output.

mod ab;
mod bench;
mod common;
mod doctor;
mod exec;
mod latency;
mod layout;
mod mistakes;
mod run;
mod rust;
mod signals;
mod trifles;
mod vm;
