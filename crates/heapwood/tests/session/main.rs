//! The tests of the safe door, one module a subject. They are what a program may be: without unsafe code.
#![forbid(unsafe_code)]

mod collections;
mod common;
mod gc_arena;
mod generated;
mod limits;
mod modes;
mod nested;
mod owned;
mod shapes;
mod threads;
mod ui;
mod weak;
