//! The command line of `heapwood bench rust`.

use clap::Parser;

pub(crate) const HELP: &str = "\
A Lox-like virtual machine (examples/lox) runs its programs, and two small programs (examples/small) run beside it, in each way to use \
the crate: on a plain heap, in a session, and where the collector scans the blocks of the ordinary allocator; and with counted memory, Rc, to \
compare. The small ones run with other collectors for Rust, too: \
gc-arena, dumpster and boa_gc, of peers/rust-gc. cargo builds them all in release mode; it needs crates.io once for the last three, \
which are else named as skipped. The programs run in turn (A B A B); each must print the same. A cell has the median CPU time of the \
process, that time divided by the plain heap's, and the largest memory.

Exit codes: 0 done, 1 a program failed or differs, 2 the command line is wrong, 130 interrupted.";

/// Compare the ways to use Heapwood in Rust with each other, with Rc and with other collectors for Rust
#[derive(Parser)]
#[command(after_help = HELP)]
pub(crate) struct Rust {
    /// Run these programs only: lox-trees,tables [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) programs: Option<Vec<String>>,

    /// Runs of each program
    #[arg(long, value_name = "K", default_value_t = 5, allow_negative_numbers = true,
          value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) runs: u32,

    /// Divide the sizes of the programs by D; depths are less by its binary logarithm
    #[arg(long, value_name = "D", default_value_t = 1, allow_negative_numbers = true,
          value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(crate) smaller: u64,

    /// Print one JSON object instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}
