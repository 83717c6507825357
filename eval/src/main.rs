//! The experiments of the documents that Heapwood's design comes from. Each subcommand repeats the experiments of one
//! document on one part, and prints one report: tables for people, JSON for machines.
//!
//! | subcommand | document |
//! |---|---|
//! | `pages`, `replay`, `simulate` | Knyszek and Clements, "Proposal: Scaling the Go page allocator" (2019) |
//! | `layouts` | Cox, Go commit 512f75e8, "replace GC programs with simpler encoding, faster decoder" (2015) |
//! | `policy` | none: it plays programs through the policies of the collector |
//! | `allocation` | D's "GC optimizations, round 3" (2012) |
//!
//! Experiments on whole programs are in the command `heapwood`: binary trees in arenas, Malloc, the treap, D's
//! programs.
//!
//! | module | content |
//! |---|---|
//! | `args` | the command line, and the output of reports |
//! | `timing` | rounds, stretches and passes: the timing of all experiments |
//! | `draw` | random sizes with a fixed seed |
//! | `pages` | `pages`: the page allocator on heaps that are only tables |
//! | `moments` | the samples of the named files |
//! | `replay` | `replay`: timed allocation from samples until no page is left |
//! | `simulate` | `simulate`: orders of release, and the pages that caches add |
//! | `layouts` | `layouts`: the cost of describing an object's pointers |
//! | `policy` | `policy`: programs under the policies of the collector |
//! | `allocation` | `allocation`: a lock around every allocation, compared with memory of the thread |

mod allocation;
mod args;
mod draw;
mod layouts;
mod moments;
mod pages;
mod policy;
mod replay;
mod simulate;
mod timing;

use args::{Args, Command};
use std::process::ExitCode;

fn main() -> ExitCode {
    heapwood_report::program::main("heapwood-eval", |Args { command }: Args| match &command {
        Command::Pages(args) => pages::run(args),
        Command::Replay(args) => replay::run(args),
        Command::Simulate(args) => simulate::run(args),
        Command::Layouts(args) => layouts::run(args),
        Command::Allocation(args) => allocation::run(args),
        Command::Policy(args) => policy::run(args),
    })
}
