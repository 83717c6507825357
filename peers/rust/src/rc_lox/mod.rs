//! Heapwood's machine for Lox over `Rc`, as one writes it without a collector: the same loop and stack; the compiler, and the places of fields and methods, are shared.
//! Counts do not free a cycle, which leaks: an instance that leads to itself, a local function or class that names itself. The last
//! reference to a chain of objects drops them by recursion, so a chain must not be too long for the thread's stack.
//!
//! | file | what is in it |
//! |---|---|
//! | `value` | values, what is equal, and what `print` shows |
//! | `objects` | closures, classes and instances; lists and maps by index |
//! | `machine` | what a machine has beside its stack, its functions, and messages |
//! | `run` | the loop over the instructions |
#![forbid(unsafe_code)]

mod machine;
mod objects;
mod run;
mod value;

use crate::Report;
use heapwood_workloads::lox::programs;

/// Runs the workload's programs one after the other.
pub(crate) fn run(n: u64, report: Report<'_>) {
    for (name, program) in programs::all(n) {
        let mut print = |printed: &str| report(programs::line(name, printed));
        let ran = machine::Machine::new(&program, &mut print).run();
        ran.unwrap_or_else(|error| panic!("{name}.lox, {error}"));
    }
}
