//! The command line of `heapwood bench`.

use super::workload::What;
use crate::settings::{self, Ab, prefetch};
use clap::Parser;
use heapwood_report::arguments::a_picture;
use std::path::PathBuf;

pub(crate) const HELP: &str = "\
Peers are built into the target folder first. A peer without its toolchain is skipped and named, with the package to \
install; so are, with --threads, peers that cannot do the whole work on each of several threads. All programs run in \
turn (A B C, A B C, ..) after a round that only warms up. Each must print the same check values, or nothing is \
compared. Times, memory and faults are the operating system's, for each process. The tables have the median with the \
least and the most, each program's value over the first one's in the same round, and a p value: the probability of such a \
difference by chance (Mann-Whitney U test). 30 runs are enough for small differences.

Programs have their usual environment: HEAPWOOD=percent=60 and GOGC=70 are for Heapwood and Go, PEER_HEAP_MIB for the heap of \
Java, to compare them at equal memory.

Exit codes: 0 done, 1 a program failed or differs, 2 the command line is wrong, 130 interrupted.";

/// The name for no peer.
pub(crate) const NO_PEER: &str = "none";

#[derive(Parser)]
pub(crate) struct Bench {
    #[command(flatten)]
    pub(crate) what: What,

    /// Compare with these only, separated by commas: a name such as java-serial, or a family such as java; none runs
    /// Heapwood alone [default: every peer that has the workload]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) peers: Option<Vec<String>>,

    #[arg(long, value_name = "KEY=A,B", value_parser = settings::parse, help = AB, long_help = ab_help(),
          conflicts_with_all = ["peers", "peers_dir"])]
    pub(crate) ab: Option<Ab>,

    /// Runs of each program, after the warm-up
    #[arg(long, value_name = "K", default_value_t = 5, allow_negative_numbers = true,
          value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) runs: u32,

    /// Print one JSON object instead of tables
    #[arg(long)]
    pub(crate) json: bool,

    /// Also draw a picture
    #[arg(long, value_name = "FILE.svg", value_parser = a_picture())]
    pub(crate) plot: Option<PathBuf>,

    /// Folder of the peers' sources [default: peers in the sources that this command was built from]
    #[arg(long, value_name = "DIR")]
    pub(crate) peers_dir: Option<PathBuf>,

    /// Folder to build the peers in [default: peers in the target folder]
    #[arg(long, value_name = "DIR")]
    pub(crate) build_dir: Option<PathBuf>,
}

const AB: &str =
    "Compare Heapwood with itself: KEY, an option of the heap or prefetch, set to A and to B, in turn";

fn ab_help() -> String {
    format!(
        "{AB}. Options are those of heapwood run and of the variable HEAPWOOD, such as percent=100,200 or huge_pages=on,off; \
         the variable's other options hold for both. For a setting of the build, cargo builds the command twice from its \
         sources, beside the peers: {}",
        prefetch::help()
    )
}

impl Bench {
    /// The requested peers, if not all.
    pub(crate) fn peers(&self) -> Option<Vec<String>> {
        let names = self.peers.as_ref()?.iter().map(|name| name.trim().to_string());
        Some(names.filter(|name| !matches!(name.as_str(), NO_PEER | "")).collect())
    }
}
