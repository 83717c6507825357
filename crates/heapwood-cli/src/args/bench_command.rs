//! `heapwood bench WORKLOAD` and `heapwood bench latency`. The second measures what no workload with an N does, so it is a
//! subcommand with arguments of its own, and takes none of the first's.

use super::bench::Bench;
use super::latency::Latency;
use clap::{ArgMatches, Args, Command, CommandFactory, Error, FromArgMatches};

/// What to measure.
pub(crate) enum BenchCommand {
    Workload(Box<Bench>),
    Latency(Box<Latency>),
}

const LATENCY: &str = "latency";

impl Args for BenchCommand {
    fn augment_args(command: Command) -> Command {
        Bench::augment_args(command)
            .subcommand(Latency::command().name(LATENCY))
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
            _ => Bench::from_arg_matches(matches).map(|args| BenchCommand::Workload(Box::new(args))),
        }
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
