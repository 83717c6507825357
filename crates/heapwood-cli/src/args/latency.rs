//! The command line of `heapwood bench latency`.

use clap::Parser;
use heapwood_report::arguments::{a_file, a_picture};
use heapwood_report::size::parse_size;
use std::path::PathBuf;

pub(crate) const HELP: &str = "\
The program is a cache of entries of three 64-byte nodes: one step in four replaces an entry, one in four swaps a child \
of two entries, the others read one. Each thread has a cache of its own, all together --live bytes of nodes, and reads \
the clock every 4 steps. A gap is the time between two readings. A gap of 20 us or more counts as time without the \
mutator: the minimum mutator utilisation (MMU) of a window is the least share of any such window that is left.

Peers get Heapwood's memory: Go the GOGC at which its max RSS is equal (or --gogc), Java a heap of Heapwood's max RSS \
(a JVM has memory beside it). libgc and mimalloc take what they take. The programs run in turn (A B A B). Each must have \
the same checksum after its first 200,000 steps, which are not measured. Filling the cache is not measured either. \
Before each run memory is touched and given back, so that no program pays for what the host of a virtual machine must find. \
Tables have medians of the runs; the longest gap and the MMU are those of the worst run.

Where heaps have the option concurrent, Heapwood runs with it (auto) and without (off).

Exit codes: 0 done, 1 a program failed or differs, 2 the command line is wrong, 130 interrupted.";

/// Measure the gaps that threads see in their own work, beside other memory managers
#[derive(Parser)]
#[command(after_help = HELP)]
pub(crate) struct Latency {
    /// Sizes of the cache: 256MiB,1GiB
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "256MiB",
          allow_hyphen_values = true, value_parser = live)]
    pub(crate) live: Vec<u64>,

    /// Numbers of threads
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "1",
          allow_hyphen_values = true, value_parser = threads)]
    pub(crate) threads: Vec<u32>,

    /// Numbers of frames beneath which each thread runs, each with a node
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "0",
          allow_hyphen_values = true, value_parser = depth)]
    pub(crate) depth: Vec<u64>,

    /// Seconds of each run
    #[arg(long, value_name = "SECONDS", default_value = "10", allow_hyphen_values = true, value_parser = millis)]
    pub(crate) seconds: u64,

    /// Runs of each program
    #[arg(long, value_name = "K", default_value_t = 3, allow_negative_numbers = true,
          value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) runs: u32,

    /// Compare with these only, separated by commas; none runs Heapwood alone [default: all peers]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) peers: Option<Vec<String>>,

    /// Run Go with this GOGC, instead of the one of equal max RSS
    #[arg(long, value_name = "PERCENT", allow_negative_numbers = true,
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) gogc: Option<u32>,

    /// Also write a line for each run to FILE
    #[arg(long, value_name = "FILE.tsv", value_parser = a_file())]
    pub(crate) tsv: Option<PathBuf>,

    /// Also draw gaps, CPU time and memory over the size of the cache
    #[arg(long, value_name = "FILE.svg", value_parser = a_picture())]
    pub(crate) svg: Option<PathBuf>,

    /// Folder of the peers' sources [default: peers in the sources that this command was built from]
    #[arg(long, value_name = "DIR")]
    pub(crate) peers_dir: Option<PathBuf>,

    /// Folder to build the peers in [default: peers in the target folder]
    #[arg(long, value_name = "DIR")]
    pub(crate) build_dir: Option<PathBuf>,

    /// Run once in this process, and print only the record, as the peers do
    #[arg(long, hide = true)]
    pub(crate) as_peer: bool,
}

const MOST_SECONDS: f64 = 86_400.0;

fn live(text: &str) -> Result<u64, String> {
    match parse_size(text)? as u64 {
        bytes if bytes < 1 << 20 => Err("it must be at least 1MiB".into()),
        bytes if bytes > 1 << 40 => Err("it must be at most 1TiB".into()),
        bytes => Ok(bytes),
    }
}

fn threads(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(n @ 1..=1024) => Ok(n),
        _ => Err("it must be a whole number of threads, 1 to 1024".into()),
    }
}

fn depth(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(n @ 0..=100_000_000) => Ok(n),
        _ => Err("it must be a whole number of frames, 0 to 100000000".into()),
    }
}

/// Milliseconds, of seconds.
fn millis(text: &str) -> Result<u64, String> {
    match text.parse::<f64>() {
        Ok(s) if (0.001..=MOST_SECONDS).contains(&s) => Ok((s * 1e3).round() as u64),
        _ => Err("it must be a number of seconds, 0.001 to 86400".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_milliseconds() {
        assert_eq!(["10", "0.2", "0.001"].map(|text| millis(text).unwrap()), [10_000, 200, 1]);
        for wrong in ["0", "-1", "nan", "inf", "ten", "86401"] {
            assert!(millis(wrong).is_err(), "{wrong}");
        }
    }
}
