//! What can be said on the command line. Whatever is wrong with it is said here, before anything runs.

mod bench;
mod layout;
mod workload;

pub(crate) use bench::{Bench, NO_PEER};
use clap::{Parser, Subcommand};
use heapwood_report::arguments::a_file;
use heapwood_report::size::{exact, parse_size, show};
use heapwood_workloads::Workload;
pub(crate) use layout::{Check, Layout, Show};
use std::path::PathBuf;
use workload::{parse_count, workloads};

/// A garbage-collected heap: run workloads on it and see what it does.
#[derive(Parser)]
#[command(name = "heapwood", version, arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Run a workload and print what it cost
    Run(Run),
    /// Run a workload side by side with the same program on other memory managers
    #[command(after_help = bench::HELP)]
    Bench(Bench),
    /// Print or check programs, which say where the pointers of a type are
    #[command(subcommand)]
    Layout(Layout),
    /// Say what this kernel and process allow, what follows for a heap, and what to set
    #[command(after_help = DOCTOR_HELP)]
    Doctor(Doctor),
}

const DOCTOR_HELP: &str = "\
One line a finding: ok, note (a heap may want it otherwise) or warning (it costs time or memory, or may end \
the program), and below the last two what follows and what to set. Nothing on the system is changed.

Exit codes: 0 whatever is found, 2 the command line is wrong.";

#[derive(Parser)]
pub(crate) struct Run {
    /// Which workload
    #[arg(value_parser = workloads())]
    pub(crate) workload: &'static Workload,

    /// How much of it, as said of the workload
    #[arg(allow_negative_numbers = true, value_parser = parse_count)]
    pub(crate) n: Option<u64>,

    /// Allocate this many percent of what is alive before collecting again
    #[arg(long, value_name = "PERCENT", default_value_t = heapwood::Config::DEFAULT.percent, allow_negative_numbers = true,
          value_parser = clap::value_parser!(u32).range(1..=heapwood::Config::MAX_PERCENT as i64))]
    pub(crate) percent: u32,

    /// Let the heap grow to at most SIZE, such as 64MiB
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true, value_parser = parse_limit)]
    pub(crate) limit: Option<usize>,

    /// Reserve SIZE of addresses for the heap, such as 64MiB [default: four times the machine's memory, less under
    /// ulimit -v or with --limit]
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true, value_parser = parse_reserve)]
    pub(crate) reserve: Option<usize>,

    /// Start no thread that gives memory which is not needed back to the kernel
    #[arg(long)]
    pub(crate) no_background_release: bool,

    /// Check everything after every collection (slow)
    #[arg(long)]
    pub(crate) verify: bool,

    /// Write which pages of the heap are in use to FILE: when most were, at the end, and after the collection that freed
    /// most
    #[arg(long, value_name = "FILE", value_parser = a_file())]
    pub(crate) page_sample: Option<PathBuf>,

    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,

    /// Print check values and figures as the peers do, and nothing else
    #[arg(long, hide = true, conflicts_with = "json")]
    pub(crate) as_peer: bool,
}

/// How a run is shown.
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

fn parse_reserve(text: &str) -> Result<usize, String> {
    let (least, most) = (heapwood_heap::MIN_WINDOW, heapwood_heap::MAX_WINDOW);
    let bytes = parse_size(text)?;
    match (least..=most).contains(&bytes) {
        true => Ok(bytes),
        false => Err(format!("a heap takes from {} to {} of addresses", exact(least), exact(most))),
    }
}

fn parse_limit(text: &str) -> Result<usize, String> {
    let bytes = parse_size(text)?;
    if bytes < heapwood::Config::MIN_LIMIT {
        return Err(format!("a heap needs at least {}", show(heapwood::Config::MIN_LIMIT as u64)));
    }
    Ok(bytes)
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
