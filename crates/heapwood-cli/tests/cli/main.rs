//! The tests of the command: each runs it and reads its output.

mod ab;
mod bench;
mod common;
mod doctor;
mod exec;
mod layout;
mod mistakes;
mod run;
mod signals;
mod trifles;
