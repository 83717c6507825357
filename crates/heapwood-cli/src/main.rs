//! The `heapwood` command.
//!
//! | module | what it holds |
//! |---|---|
//! | `args` | what can be said on the command line |
//! | `size` | sizes as people write them |
//! | `run` | `heapwood run`: a workload on a heap of its own |
//! | `input` | files that are read whole |
//! | `room` | whether there is room for a workload |
//! | `output` | lines for standard output |
//! | `legible` | messages on standard error, and the names in them |
//! | `figures` | what a run cost, for people and for machines |
//! | `bench` | `heapwood bench`: a workload side by side with its peers |
//! | `pages` | `heapwood pages`: the page allocator on samples of real heaps |
//! | `layout` | `heapwood layout`: programs that say where the pointers of a type are |
//! | `doctor` | `heapwood doctor`: what this kernel and process allow |
//! | `failure` | messages and exit codes |
//!
//! Exit codes: 0 done, 1 the run failed, 2 the command line is wrong, 128 + n signal n ended it.

mod args;
mod bench;
mod doctor;
mod failure;
mod figures;
mod input;
mod layout;
mod legible;
mod output;
mod pages;
mod room;
mod run;
mod size;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    heapwood_os::signals::restore_broken_pipe();
    let args = match args::Args::try_parse() {
        Ok(args) => args,
        Err(answer) => return args::answer(answer),
    };
    let outcome = match args.command {
        args::Command::Run(run) => run::run(&run),
        args::Command::Bench(bench) => bench::run(&bench),
        args::Command::Pages(command) => pages::run(&command),
        args::Command::Layout(command) => layout::run(&command),
        args::Command::Doctor(doctor) => doctor::run(&doctor),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            legible::complain(format_args!("heapwood: {}", failure.message));
            failure.code()
        }
    }
}
