//! What can be said to `heapwood pages`.

use clap::builder::{PathBufValueParser, TypedValueParser};
use clap::{Parser, Subcommand};
use std::fmt;
use std::path::PathBuf;

#[derive(Subcommand)]
pub(crate) enum Pages {
    /// Allocate out of page samples until nothing is left, with the page cache and without it
    #[command(after_help = REPLAY_HELP)]
    Replay(Replay),
    /// Simulate in which order free pages go back to the kernel, and what page caches add to a heap
    #[command(after_help = SIMULATE_HELP)]
    Simulate(Simulate),
}

const REPLAY_HELP: &str = "\
A page sample is made by `heapwood run NAME --page-sample FILE` and holds up to three moments of a heap; all are \
replayed; a file above 256 MiB is refused. Each pass allocates, from an allocator made anew from the sample, until no run is left; a small sample is \
repeated until about 100 us are timed. A cache that cannot serve any more is given back, and the pass goes on. Shown: \
allocations, ns each (median, least and most of all passes), how often the lock was taken for each, and the pages left \
free. mix draws sizes from 1 to 16 pages, small ones more often; where a size is not to be had any more, it goes on \
with smaller ones.

Exit codes: 0 done, 1 a sample cannot be read or contradicts itself, 2 the command line is wrong.";

const SIMULATE_HELP: &str = "\
Order of release: four policies release all free memory of a sample, and time is simulated: a release costs a call and \
something for each page, both measured here at the start or set. Idle: nothing else happens. Busy: between releases a \
program frees and allocates runs, first fit, at constant live size.
  highest-address-first  the highest run, up to 2 MiB at once
  huge-pages-first       free huge pages wherever they are, then as above
  densest-last           the chunk with the fewest pages in use, huge pages in it whole
  heapwood               what this heap does: the highest chunk, huge pages in it whole
Caches: mutators take turns freeing and allocating runs, each with a page cache, at 90 % of the sample's pages, and \
again without caches. Shown is what the caches hold, and how much higher the highest page in use lies.

With both costs set, the same file gives the same result.

Exit codes: 0 done, 1 a sample cannot be read or contradicts itself or has no such moment, or the picture cannot be \
written, 2 the command line is wrong.";

#[derive(Parser)]
pub(crate) struct Replay {
    /// Page samples, as heapwood run NAME --page-sample FILE writes them
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,

    /// How many pages to allocate at once, separated by commas: numbers, or mix
    #[arg(long, value_name = "LIST", value_delimiter = ',', allow_hyphen_values = true,
          default_value = "1,2,4,8,15,16,32,64,mix", value_parser = parse_request)]
    pub(crate) pages: Vec<Request>,

    /// How many passes are timed
    #[arg(long, value_name = "K", default_value_t = 7, allow_negative_numbers = true,
          value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) runs: u32,

    /// Print one JSON object instead of tables
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Parser)]
pub(crate) struct Simulate {
    /// Page samples, as heapwood run NAME --page-sample FILE writes them
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,

    /// Which moment of each sample
    #[arg(long, value_name = "NAME", default_value = "collected")]
    pub(crate) moment: String,

    /// How many mutators share a heap, separated by commas
    #[arg(long, value_name = "LIST", value_delimiter = ',', allow_hyphen_values = true,
          default_value = "1,2,4,8,16,32,64,128,256", value_parser = parse_mutators)]
    pub(crate) mutators: Vec<usize>,

    /// How many runs the busy program frees and allocates in a millisecond of CPU spent releasing
    #[arg(long, value_name = "N", default_value_t = 1000, allow_negative_numbers = true,
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) steps_per_ms: u32,

    /// What a release costs, whatever its size, in nanoseconds [default: measured]
    #[arg(long, value_name = "NS", requires = "cost_page_ns", allow_hyphen_values = true, value_parser = parse_cost)]
    pub(crate) cost_base_ns: Option<f64>,

    /// What each page of a release costs, in nanoseconds [default: measured]
    #[arg(long, value_name = "NS", requires = "cost_base_ns", allow_hyphen_values = true, value_parser = parse_cost)]
    pub(crate) cost_page_ns: Option<f64>,

    /// Print one JSON object instead of tables
    #[arg(long)]
    pub(crate) json: bool,

    /// Draw a picture, too
    #[arg(long, value_name = "FILE.svg", value_parser = PathBufValueParser::new().try_map(super::a_picture))]
    pub(crate) plot: Option<PathBuf>,
}

/// How many pages a replay allocates at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    Pages(usize),
    /// Drawn, small ones more often.
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

/// As many pages as 48 bits of addresses have.
const MOST_PAGES: usize = 1 << 35;
const MOST_MUTATORS: usize = 4096;

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

fn parse_cost(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(ns) if (0.001..=1e9).contains(&ns) => Ok(ns),
        _ => Err("it must be a number of nanoseconds from 0.001 to 1000000000".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_say_what_they_are_of() {
        assert_eq!(parse_request("16"), Ok(Request::Pages(16)));
        assert_eq!(parse_request("mix"), Ok(Request::Mix));
        assert_eq!(parse_mutators("256"), Ok(256));
        assert_eq!(parse_cost("250.5"), Ok(250.5));
        for wrong in ["", "0", "-1", "some", "1.5", "99999999999999999999"] {
            assert!(parse_request(wrong).unwrap_err().contains("number of pages"), "{wrong}");
            assert!(parse_mutators(wrong).unwrap_err().contains("number of mutators"), "{wrong}");
        }
        for wrong in ["", "0", "-1", "NaN", "inf", "1e10"] {
            assert!(parse_cost(wrong).unwrap_err().contains("nanoseconds"), "{wrong}");
        }
    }
}
