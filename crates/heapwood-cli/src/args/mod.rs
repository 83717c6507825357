//! The command line. Every error in it is reported here, before anything runs.

mod bench;
mod exec;
mod heap;
mod layout;
mod workload;

pub(crate) use bench::{Bench, NO_PEER};
use clap::{Parser, Subcommand};
pub(crate) use exec::Exec;
pub(crate) use heap::HeapFlags;
use heapwood_report::arguments::a_file;
pub(crate) use layout::{Layout, Show};
use std::path::PathBuf;
pub(crate) use workload::{Size, What};

/// A garbage-collected heap: run workloads on it and measure it.
#[derive(Parser)]
#[command(name = "heapwood", version, arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Run an unmodified program of libgc, the Boehm collector, on Heapwood
    #[command(after_help = exec::HELP)]
    Exec(Exec),
    /// Run a workload and print its cost
    Run(Run),
    /// Run a workload side by side with the same program on other memory managers
    #[command(after_help = bench::HELP)]
    Bench(Box<Bench>),
    /// Print layout programs, which describe the pointers of a type
    #[command(subcommand)]
    Layout(Layout),
    /// Report the limits of this kernel and process, their effect on a heap, and what to set
    #[command(after_help = DOCTOR_HELP)]
    Doctor(Doctor),
}

const DOCTOR_HELP: &str = "\
One line a finding: ok, note (another setting may be better) or warning (it costs time or memory, or may end the \
program). Notes and warnings have the consequence and the remedy below. The command changes nothing on the system.

Exit codes: 0 for any findings, 2 the command line is wrong.";

#[derive(Parser)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) what: What,

    /// Write the heap's pages in use to FILE: at the peak, at the end, and after the collection that freed most
    #[arg(long, value_name = "FILE", value_parser = a_file())]
    pub(crate) page_sample: Option<PathBuf>,

    /// Print where the heap's memory was when it was largest, as looked at ten times a second, and is at the end
    #[arg(long)]
    pub(crate) memory: bool,

    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,

    /// Print only check values and figures, as the peers do
    #[arg(long, hide = true, conflicts_with = "json")]
    pub(crate) as_peer: bool,

    #[command(flatten, next_help_heading = "Options of the heap (HEAPWOOD=key=value,... sets them, too)")]
    pub(crate) heap: HeapFlags,
}

/// The output format of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Format {
    Text,
    Json,
    Peer,
}

impl Run {
    pub(crate) fn format(&self) -> Format {
        match (self.json, self.as_peer) {
            (true, _) => Format::Json,
            (_, true) => Format::Peer,
            _ => Format::Text,
        }
    }
}

#[derive(Parser)]
pub(crate) struct Doctor {
    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Args::command().debug_assert();
    }
}
