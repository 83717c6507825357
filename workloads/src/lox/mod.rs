//! Lox: a virtual machine for the language of Robert Nystrom's "Crafting Interpreters", with lists and maps beside its closures and classes.
//! One source runs in both kinds of heaps: it is generic over [`heapwood::Access`].
//!
//! | module | what it is |
//! |---|---|
//! | [`front`] | text becomes a program, without a heap: what a machine over another memory manager shares |
//! | [`places`] | where fields and methods are, remembered; machines share that, too |
//! | [`machine`] | runs a program, in either kind of heap |
//! | [`plain`] | in a heap without a session |
//! | [`session`] | in a session, without `unsafe` |
//! | [`programs`] | the programs of the workload |
//!
//! A program that keeps more than there is memory for ends the process; all its other mistakes are a [`front::LoxError`].
//!
//! The language: Lox as in the book without `clock`, and `[1, 2]`, `{"key": 1}`, `a[i]`, `a[i] = v`, `%`, and the functions of
//! [`front::Native`]. A map has nil for a key that it does not have. The example `lox` runs a file.

pub mod front;
pub mod machine;
pub mod places;
pub mod plain;
pub mod programs;
pub mod session;

use crate::workload::{Line, N, Threads, Workload};
use heapwood::{Config, Mutator};
use session::RunError;

/// This program, to those who run it.
pub const WORKLOAD: Workload = Workload {
    name: "lox",
    about: "A virtual machine for Lox that runs programs with closures, classes, lists and maps",
    n: N { unit: "rounds", usual: 100, most: 1_000_000 },
    threads: Threads::USUALLY_ONE,
    least_bytes: |_| programs::LEAST_BYTES,
    figures: &[],
    shared: None,
    run,
};

/// Runs the programs one after the other in a heap without a session. Reports each line that they print.
pub fn run(m: &Mutator, n: u64, report: &mut dyn FnMut(Line)) {
    for (name, program) in programs::all(n) {
        let ran = plain::run(m, &program, &mut |printed| report(programs::line(name, printed)));
        ran.unwrap_or_else(|error| panic!("{name}.lox, {error}"));
    }
}

/// The same in sessions, one for each program.
///
/// # Errors
/// There is no heap.
pub fn run_in_session(n: u64, config: Config, report: &mut dyn FnMut(Line)) -> Result<(), RunError> {
    for (name, program) in programs::all(n) {
        session::run(config, &program, &mut |printed| report(programs::line(name, printed)))?;
    }
    Ok(())
}
