//! The command line. Every error in it is reported here, before anything runs.

use clap::{Parser, Subcommand};
use heapwood_report::CommandError;
use heapwood_report::arguments::a_picture;
use heapwood_report::output::{json, line};
use heapwood_report::size::{exact, parse_size};
use serde::Serialize;
use std::fmt;
use std::path::PathBuf;

/// The experiments of the documents behind Heapwood's design: benchmarks of single parts, and simulations on samples of
/// real heaps. Users of the library or the command do not need it.
#[derive(Parser)]
#[command(name = "heapwood-eval", version, arg_required_else_help = true, after_help = HELP)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const HELP: &str = "\
All compared work is measured in turn, in rounds after one that only warms up. The tables have the median with the least \
and the most. Run it on an idle machine: cargo run -p heapwood-eval --release -- pages

Exit codes: 0 done, 1 something could not be measured, read or written, 2 the command line is wrong.";

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Measure the page allocator alone, on heaps that are only tables
    #[command(after_help = PAGES_HELP)]
    Pages(Pages),
    /// Allocate from page samples until no page is left, with the page cache and without it
    #[command(after_help = REPLAY_HELP)]
    Replay(Replay),
    /// Simulate orders of returning free pages to the kernel, and the pages that page caches add to a heap
    #[command(after_help = SIMULATE_HELP)]
    Simulate(Simulate),
    /// Measure layouts alone: the cost of describing an object's pointers
    #[command(after_help = LAYOUTS_HELP)]
    Layouts(Layouts),
    /// Measure a lock around every allocation, compared with runs of cells that belong to the thread
    #[command(after_help = ALLOCATION_HELP)]
    Allocation(Allocation),
    /// Simulate programs under the policies of the collector: the number of their collections, and the cost
    #[command(after_help = POLICY_HELP)]
    Policy(Policy),
}

const PAGES_HELP: &str = "\
In nanoseconds an operation: allocations of 1 to 1024 pages never used, without the lock, with it, and through a page \
cache; frees from a full heap; a checkerboard; and a heap with 90 % in use. At the end, the effect of the heap's size. No \
page is touched. The tables of 16 TiB take about 600 MiB, three times; a heap without enough memory is named and skipped.

Exit codes: 0 done, 1 no heap could be made, 2 the command line is wrong.";

const LAYOUTS_HELP: &str = "\
In nanoseconds an object, for the types of Go's SetType benchmarks: PtrK is K pointers, NodeK is K words and then two \
pointers, Dead has the pointers first; slices have 32 elements, PtrSlice 1024. It measures allocation, programs decoded \
into bits, masks copied, an older recursive form, and finding the pointers by a nest of loops. Below are long programs, in \
bits a nanosecond. Published measurements of others are marked as quoted.

Exit codes: 0 done, 1 two forms of a type differ or no heap could be made, 2 the command line is wrong.";

const REPLAY_HELP: &str = "\
`heapwood run NAME --page-sample FILE` makes a page sample, with up to three moments of a heap; all are replayed. A file \
above 256 MiB is refused. Each pass allocates from a new allocator made of the sample, until no run is left; a small \
sample is repeated until about 100 us are timed. A cache that cannot serve any more is flushed, and the pass continues. \
The table has allocations, ns each (median, least and most of all passes), acquisitions of the lock for each, and the \
pages left free. mix draws sizes from 1 to 16 pages, mostly small; a size without a free run is replaced by smaller ones.

Exit codes: 0 done, 1 a sample cannot be read or contradicts itself, 2 the command line is wrong.";

const SIMULATE_HELP: &str = "\
Order of release: three policies release all free memory of a sample, in simulated time: a release has a fixed cost and \
a cost for each page.
  highest-address-first  the highest run, up to 2 MiB at once
  huge-pages-first       free huge pages anywhere, then as above
  heapwood               the product's order: the highest chunk, huge pages in it whole
Caches: mutators in turn free and allocate runs, each with a page cache, at 90 % of the sample's pages, and again \
without caches. The table has the pages in caches, and the growth of the highest page in use.

The same file gives the same result everywhere.

Exit codes: 0 done, 1 a sample cannot be read or contradicts itself or has no such moment, or the picture cannot be \
written, 2 the command line is wrong.";

const ALLOCATION_HELP: &str = "\
The programs rand-large, rand-small and tree1. Each thread does the whole work, with a lock around every allocation:
  none       no lock, on one thread
  owned      no lock, since every thread has its own memory: on one thread it equals none, so the two show the noise
  mutex      the standard library's
  monitor    the same mutex made lazily, behind an indirection and a virtual call
A thread that waits for a lock counts as stopped, so that the holder can collect. With every lock, each thread has its \
own runs of cells: this measures the lock, without the cache lines that a shared free list would move.

The document's sizes: heapwood-eval allocation --iterations 1000,10000 --depth 18. The warm-up uses the smallest size of each \
program.

Exit codes: 0 done, 1 threads found different things or could not be had, 2 the command line is wrong.";

/// The number of measured rounds, after the warm-up.
#[derive(clap::Args)]
pub(crate) struct Runs<const USUAL: u32> {
    /// Number of measured rounds, after one that warms up
    #[arg(id = "runs", long = "runs", value_name = "K", default_value_t = USUAL, allow_negative_numbers = true,
          value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) k: u32,
}

/// The output of a report.
#[derive(clap::Args)]
pub(crate) struct Output {
    /// Print one JSON object instead of tables
    #[arg(long)]
    json: bool,
}

impl Output {
    /// Prints a report.
    pub(crate) fn show(&self, report: &(impl Serialize + fmt::Display)) -> Result<(), CommandError> {
        if self.json {
            return json(report);
        }
        line(format_args!("{}", report.to_string().trim_end()));
        Ok(())
    }
}

#[derive(Parser)]
pub(crate) struct Pages {
    /// The sizes of the heaps, separated by commas
    #[arg(long, value_name = "LIST", value_delimiter = ',', allow_hyphen_values = true,
          default_value = "4MiB,1GiB,16GiB,1TiB,16TiB", value_parser = parse_heap)]
    heap: Vec<usize>,
    #[command(flatten)]
    pub(crate) runs: Runs<7>,
    #[command(flatten)]
    pub(crate) output: Output,
}

impl Pages {
    /// The sizes of the heaps, without repetitions.
    pub(crate) fn heaps(&self) -> Vec<usize> {
        let mut heaps = Vec::new();
        for &bytes in &self.heap {
            if !heaps.contains(&bytes) {
                heaps.push(bytes);
            }
        }
        heaps
    }
}

#[derive(Parser)]
pub(crate) struct Replay {
    /// Page samples, as heapwood run NAME --page-sample FILE writes them
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,

    /// Pages to allocate at once, separated by commas: numbers, or mix
    #[arg(long, value_name = "LIST", value_delimiter = ',', allow_hyphen_values = true,
          default_value = "1,2,4,8,15,16,32,64,mix", value_parser = parse_request)]
    pub(crate) pages: Vec<Request>,
    #[command(flatten)]
    pub(crate) runs: Runs<7>,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Parser)]
pub(crate) struct Simulate {
    /// Page samples, as heapwood run NAME --page-sample FILE writes them
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,

    /// The moment of each sample
    #[arg(long, value_name = "NAME", default_value = "collected")]
    pub(crate) moment: String,

    /// Numbers of mutators that share a heap, separated by commas
    #[arg(long, value_name = "LIST", value_delimiter = ',', allow_hyphen_values = true,
          default_value = "1,2,4,8,16,32,64,128,256", value_parser = parse_mutators)]
    pub(crate) mutators: Vec<usize>,

    /// Also draw a picture
    #[arg(long, value_name = "FILE.svg", value_parser = a_picture())]
    pub(crate) plot: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Parser)]
pub(crate) struct Layouts {
    #[command(flatten)]
    pub(crate) runs: Runs<7>,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Parser)]
pub(crate) struct Allocation {
    /// The number of times that rand-large and rand-small overwrite their tables, separated by commas
    #[arg(long, value_name = "LIST", value_delimiter = ',', allow_hyphen_values = true, default_value = "1000",
          value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(crate) iterations: Vec<u64>,

    /// The depths of tree1, separated by commas
    #[arg(long, value_name = "LIST", value_delimiter = ',', allow_hyphen_values = true, default_value = "15",
          value_parser = clap::value_parser!(u32).range(6..=24))]
    pub(crate) depth: Vec<u32>,

    /// Numbers of threads, separated by commas
    #[arg(long, value_name = "LIST", value_delimiter = ',', allow_hyphen_values = true, default_value = "1,2,4",
          value_parser = parse_threads)]
    pub(crate) threads: Vec<usize>,
    #[command(flatten)]
    pub(crate) runs: Runs<3>,
    #[command(flatten)]
    pub(crate) output: Output,
}

const POLICY_HELP: &str = "\
A trace is a heap's output on standard error: HEAPWOOD=trace=1 heapwood run trees 18 2> trees.trace. Without a file the \
built-in programs are simulated, which once showed defects. Nothing is measured: a program has the same report everywhere.";

#[derive(Parser)]
pub(crate) struct Policy {
    /// Traces of programs
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) output: Output,
}

impl Allocation {
    /// The command for the same measurement.
    pub(crate) fn command(&self) -> String {
        let list = |numbers: &[String]| numbers.join(",");
        let [iterations, depth, threads] = [
            self.iterations.iter().map(u64::to_string).collect::<Vec<_>>(),
            self.depth.iter().map(u32::to_string).collect(),
            self.threads.iter().map(usize::to_string).collect(),
        ];
        format!(
            "heapwood-eval allocation --iterations {} --depth {} --threads {} --runs {}",
            list(&iterations),
            list(&depth),
            list(&threads),
            self.runs.k
        )
    }
}

/// The pages that a replay allocates at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    Pages(usize),
    /// Random, mostly small.
    Mix,
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Request::Pages(count) => write!(f, "{count}"),
            Request::Mix => write!(f, "mix"),
        }
    }
}

/// The pages of a 48-bit address space.
const MOST_PAGES: usize = 1 << 35;
const MOST_MUTATORS: usize = 4096;
const MOST_THREADS: usize = 256;

/// A chunk of pages.
const LEAST_HEAP: usize = 4 << 20;
/// The maximum of any heap.
const MOST_HEAP: usize = heapwood_heap::MAX_RESERVATION;

fn parse_heap(text: &str) -> Result<usize, String> {
    let bytes = parse_size(text)?;
    if bytes < LEAST_HEAP || !bytes.is_multiple_of(LEAST_HEAP) {
        return Err(format!("a heap has one or more chunks of {}", exact(LEAST_HEAP)));
    }
    if bytes > MOST_HEAP {
        return Err(format!("a heap has at most {}", exact(MOST_HEAP)));
    }
    Ok(bytes)
}

fn parse_request(text: &str) -> Result<Request, String> {
    match text.parse() {
        _ if text == "mix" => Ok(Request::Mix),
        Ok(count @ 1..=MOST_PAGES) => Ok(Request::Pages(count)),
        _ => Err(format!("each is a number of pages from 1 to {MOST_PAGES}, or mix, such as 1,2,16,mix")),
    }
}

fn parse_mutators(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(count @ 1..=MOST_MUTATORS) => Ok(count),
        _ => Err(format!("each is a number of mutators from 1 to {MOST_MUTATORS}, such as 1,8,64")),
    }
}

fn parse_threads(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(count @ 1..=MOST_THREADS) => Ok(count),
        _ => Err(format!("each is a number of threads from 1 to {MOST_THREADS}, such as 1,2,4")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn wrong_heap_sizes_name_the_cause() {
        assert_eq!(parse_heap("4MiB"), Ok(4 << 20));
        assert_eq!(parse_heap("16TiB"), Ok(1 << 44));
        for wrong in ["0", "1MiB", "5MiB", "4194305"] {
            assert!(parse_heap(wrong).unwrap_err().contains("chunks of 4 MiB"), "{wrong}");
        }
        assert!(parse_heap("17TiB").unwrap_err().contains("at most 16 TiB"));
        assert!(parse_heap("lots").is_err() && parse_heap("-4MiB").is_err() && parse_heap("").is_err());
    }

    #[test]
    fn wrong_lists_name_their_unit() {
        assert_eq!(parse_request("16"), Ok(Request::Pages(16)));
        assert_eq!(parse_request("mix"), Ok(Request::Mix));
        assert_eq!(parse_mutators("256"), Ok(256));
        assert_eq!(parse_threads("256"), Ok(256));
        assert!(parse_threads("257").is_err());
        for wrong in ["", "0", "-1", "some", "1.5", "99999999999999999999"] {
            assert!(parse_request(wrong).unwrap_err().contains("number of pages"), "{wrong}");
            assert!(parse_mutators(wrong).unwrap_err().contains("number of mutators"), "{wrong}");
            assert!(parse_threads(wrong).unwrap_err().contains("number of threads"), "{wrong}");
        }
    }
}
