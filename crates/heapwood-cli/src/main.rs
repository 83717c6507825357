//! The `heapwood` command.
//!
//! | module | what it holds |
//! |---|---|
//! | `args` | what can be said on the command line |
//! | `size` | sizes as people write them |
//! | `run` | `heapwood run`: a workload on a heap of its own |
//! | `output` | lines for standard output |
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
mod layout;
mod output;
mod pages;
mod run;
mod size;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    heapwood_os::signals::restore_broken_pipe();
    let args = args::Args::parse();
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
            eprintln!("heapwood: {}", failure.message);
            failure.code()
        }
    }
}
