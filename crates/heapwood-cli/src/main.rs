//! The `heapwood` command.
//!
//! | module | what it holds |
//! |---|---|
//! | `args` | what can be said on the command line |
//! | `settings` | what two runs can be compared by |
//! | `run` | `heapwood run`: a workload on a heap of its own |
//! | `room` | whether there is room for a workload |
//! | `figures` | what a run cost, for people and for machines |
//! | `bench` | `heapwood bench`: a workload side by side with its peers |
//! | `layout` | `heapwood layout`: programs that say where the pointers of a type are |
//! | `doctor` | `heapwood doctor`: what this kernel and process allow |
//! | `system` | what is asked of the operating system beside what heaps ask |
//!
//! Messages, output, sizes and tables are those of `heapwood-report`. Exit codes: 0 done, 1 the run failed, 2 the command
//! line is wrong, 128 + n signal n ended it.

mod args;
mod bench;
mod doctor;
mod figures;
mod layout;
mod room;
mod run;
mod settings;
mod system;

use std::process::ExitCode;

fn main() -> ExitCode {
    heapwood_report::program::main("heapwood", |args: args::Args| match args.command {
        args::Command::Run(run) => run::run(&run),
        args::Command::Bench(bench) => bench::run(&bench),
        args::Command::Layout(command) => layout::run(&command),
        args::Command::Doctor(doctor) => doctor::run(&doctor),
    })
}
