//! `heapwood bench WORKLOAD`, `heapwood bench latency`, `heapwood bench vm` and `heapwood bench rust`. The others measure what no workload
//! with an N does, so they are subcommands with arguments of their own, and take none of the first's.

use super::bench::Bench;
use super::latency::Latency;
use super::rust::Rust;
use super::vm::Vm;
use clap::{ArgMatches, Args, Command, CommandFactory, Error, FromArgMatches};

/// What to measure.
pub(crate) enum BenchCommand {
    Workload(Box<Bench>),
    Latency(Box<Latency>),
    Vm(Vm),
    Rust(Rust),
}

const LATENCY: &str = "latency";
const VM: &str = "vm";
const RUST: &str = "rust";

impl Args for BenchCommand {
    fn augment_args(command: Command) -> Command {
        Bench::augment_args(command)
            .subcommand(Latency::command().name(LATENCY))
            .subcommand(Vm::command().name(VM))
            .subcommand(Rust::command().name(RUST))
            .subcommand_negates_reqs(true)
            .args_conflicts_with_subcommands(true)
            .disable_help_subcommand(true)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for BenchCommand {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        match matches.subcommand() {
            Some((LATENCY, of_latency)) => {
                Latency::from_arg_matches(of_latency).map(|args| BenchCommand::Latency(Box::new(args)))
            }
            Some((VM, of_vm)) => Vm::from_arg_matches(of_vm).map(BenchCommand::Vm),
            Some((RUST, of_rust)) => Rust::from_arg_matches(of_rust).map(BenchCommand::Rust),
            _ => Bench::from_arg_matches(matches).map(|args| BenchCommand::Workload(Box::new(args))),
        }
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
