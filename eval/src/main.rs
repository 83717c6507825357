//! What evaluates the designs behind Heapwood. Each subcommand asks the questions of one of the documents that they come
//! from, of the part alone, and prints one report: tables for people, JSON for machines.
//!
//! | module | what it holds |
//! |---|---|
//! | `args` | what can be said on the command line, and where reports go |
//! | `timing` | rounds, stretches and passes: how everything here is timed |
//! | `attached` | a heap with this thread's mutator |
//! | `draw` | random sizes, always the same |
//! | `pages` | `pages`: the page allocator on heaps that are tables only |
//! | `moments` | the samples of the files that were named |
//! | `replay` | `replay`: allocation out of samples, timed until nothing is left |
//! | `simulate` | `simulate`: orders of release, and what caches add |
//! | `layouts` | `layouts`: what it costs to say where pointers are |
//! | `decode` | `decode`: how fast programs become bits |
//! | `forms` | `forms`: ways for an object to say where its pointers are |
//! | `types` | `types`: marking and allocation by the form of a layout |
//! | `shared` | `shared`: what it costs to share a word or a lock |
//! | `stops` | `stops`: what a stop costs by itself |
//! | `allocation` | `allocation`: a lock around every allocation beside memory of the thread's own |
//! | `limit` | `limit`: what the last percents of a limit cost |

mod allocation;
mod args;
mod attached;
mod decode;
mod draw;
mod forms;
mod layouts;
mod limit;
mod moments;
mod pages;
mod replay;
mod shared;
mod simulate;
mod stops;
mod timing;
mod types;

use args::{Args, Command};
use std::process::ExitCode;

fn main() -> ExitCode {
    heapwood_report::program::main("heapwood-eval", |Args { command }: Args| {
        let (name, output) = command.output();
        output.check(name)?;
        match &command {
            Command::Pages(args) => pages::run(args),
            Command::Replay(args) => replay::run(args),
            Command::Simulate(args) => simulate::run(args),
            Command::Layouts(args) => layouts::run(args),
            Command::Decode(args) => decode::run(args),
            Command::Forms(args) => forms::run(args),
            Command::Types(args) => types::run(args),
            Command::Shared(args) => shared::run(args),
            Command::Stops(args) => stops::run(args),
            Command::Limit(args) => limit::run(args),
            Command::Allocation(args) => allocation::run(args),
        }
    })
}
