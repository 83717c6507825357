//! The `heapwood` command.
//!
//! | module | content |
//! |---|---|
//! | `args` | the command line |
//! | `settings` | the settings that `bench --ab` compares |
//! | `run` | `heapwood run`: a workload on a heap of its own |
//! | `room` | the check that a workload fits into memory |
//! | `figures` | the cost of a run, as text and JSON |
//! | `bench` | `heapwood bench`: a workload on Heapwood and its peers |
//! | `exec` | `heapwood exec`: a program of libgc on Heapwood |
//! | `layout` | `heapwood layout`: programs that describe the pointers of a type |
//! | `doctor` | `heapwood doctor`: the limits of this kernel and process |
//! | `process` | starting, measuring and ending programs |
//!
//! Messages, output, sizes and tables are those of `heapwood-report`. Exit codes: 0 done, 1 the run failed, 2 the command
//! line is wrong, 128 + n signal n ended it; `exec` ends as its program does.

mod args;
mod bench;
mod doctor;
mod exec;
mod figures;
mod layout;
mod memory;
mod process;
mod room;
mod run;
mod settings;

use std::process::ExitCode;

fn main() -> ExitCode {
    heapwood_report::program::main("heapwood", |args: args::Args| {
        match args.command {
            args::Command::Exec(exec) => return exec::run(&exec),
            args::Command::Run(run) => run::run(&run),
            args::Command::Bench(bench) => bench::run(&bench),
            args::Command::Layout(args::Layout::Show(show)) => layout::run(&show),
            args::Command::Doctor(doctor) => doctor::run(&doctor),
        }
        .map(|()| ExitCode::SUCCESS)
    })
}
