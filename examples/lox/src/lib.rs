//! The frontend of a Lox-like language: text becomes bytecode. It makes no objects, so all machines share it as a library.
//!
//! | file | content |
//! |---|---|
//! | `scanner` | text to tokens |
//! | `compiler` | tokens to bytecode, in one pass |
//! | `compiler/function` | the function that is compiled: its variables, its code |
//! | `compiler/statements`, `compiler/expressions` | the grammar |
//! | `program` | bytecode, functions, constants |
//! | `natives` | functions that the machine provides |
//! | `hash` | the hash of maps |
//! | `number` | numbers as text |
//! | `command` | the command line of each machine |
//!
//! `src/machine` is the machine and `src/door` what it needs from each way to manage memory; `src/bin` puts one of each together.
#![forbid(unsafe_code)]

pub mod command;
mod compiler;
pub mod hash;
pub mod natives;
pub mod number;
pub mod program;
mod scanner;

pub use compiler::compile;
