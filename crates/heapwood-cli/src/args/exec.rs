//! The command line of `heapwood exec`.

use clap::Parser;
use std::ffi::OsString;
use std::path::PathBuf;

/// A program of libgc on Heapwood.
#[derive(Parser)]
pub(crate) struct Exec {
    /// Print the functions and variables of libgc that PROGRAM and its libraries import, and what they do here; run nothing
    #[arg(long, value_name = "PROGRAM", conflicts_with_all = ["compare", "program"])]
    pub(crate) check: Option<PathBuf>,

    /// Run N pairs, in turn on Heapwood and on the system's libgc, compare outputs, and print medians
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) compare: Option<u32>,

    /// Lines of output that this extended regular expression matches are not compared
    #[arg(long, value_name = "REGEX", requires = "compare")]
    pub(crate) ignore: Option<String>,

    /// The library, instead of the libgc.so.1 or libgc.so beside this command, in ../lib or ../lib/heapwood
    #[arg(long, value_name = "FILE", env = "HEAPWOOD_LIBGC")]
    pub(crate) library: Option<PathBuf>,

    /// Print no summary when the program has ended
    #[arg(long, conflicts_with = "compare")]
    pub(crate) quiet: bool,

    /// The program and its arguments
    #[arg(last = true, required_unless_present = "check", value_name = "PROGRAM")]
    pub(crate) program: Vec<OsString>,
}

pub(crate) const HELP: &str = "\
The program, which was linked with libgc.so.1 or opens it, is run as it is; LD_LIBRARY_PATH leads it to Heapwood's library. \
The command looks at the mappings of each process that makes a heap. If no process has loaded the library, or one has \
another libgc.so.1, it fails. It refuses a program that is set-user-ID, linked statically, or led to another libgc.so.1 by \
an RPATH. Programs that it starts are on Heapwood, too.

Exit codes: that of the program (128 + n if signal n ended it); 1 it did not run on Heapwood, or outputs differ; 2 the \
command line is wrong.";
