//! The command line of `heapwood bench vm`.

use clap::Parser;
use std::path::PathBuf;

pub(crate) const HELP: &str = "\
The virtual machine of crates/heapwood-c/examples/vm has fibers, maps, closures, NaN-boxed values and foreign objects. It is compiled \
with cc -O2 for each heap: Heapwood (pointers under a tag; and turned round, without a tag), its own mark-sweep collector, and libgc \
where that is installed. heapwood-old is the first without young collections. The programs run in turn (A B A B); each must print the \
same. A cell has the median CPU time of the process, that time divided by Heapwood's, and the largest memory.

Exit codes: 0 done, 1 a program failed or differs, 2 the command line is wrong, 130 interrupted.";

/// Compare a virtual machine on Heapwood, on its own collector and on libgc, program by program
#[derive(Parser)]
#[command(after_help = HELP)]
pub(crate) struct Vm {
    /// Run these programs only: trees,map [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) programs: Option<Vec<String>>,

    /// Runs of each program
    #[arg(long, value_name = "K", default_value_t = 5, allow_negative_numbers = true,
          value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) runs: u32,

    /// Divide the sizes of the programs by D
    #[arg(long, value_name = "D", default_value_t = 1, allow_negative_numbers = true,
          value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(crate) smaller: u64,

    /// The C library [default: libheapwood.a beside this command]
    #[arg(long, value_name = "FILE")]
    pub(crate) library: Option<PathBuf>,
}
