//! What can be said on the command line. Whatever is wrong with it is said here, before anything runs.

mod bench;
mod heap;
mod layout;
mod pages;

use crate::legible::{complain, escaped, legible};
use crate::output::written;
pub(crate) use bench::{NO_PEER, Subject};
use clap::builder::{PathBufValueParser, PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::{ContextKind, ContextValue};
use clap::{Parser, Subcommand};
pub(crate) use heap::HeapFlags;
use heapwood_workloads::Workload;
pub(crate) use layout::{Check, Layout, Show};
pub(crate) use pages::{Pages, Replay, Request, Simulate};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

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
    /// Try the page allocator on page samples of real heaps
    #[command(subcommand)]
    Pages(Pages),
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

    /// How much of it
    #[arg(help = n_help(), allow_negative_numbers = true, value_parser = parse_count)]
    pub(crate) n: Option<u64>,

    /// Write which pages of the heap are in use to FILE: when most were, at the end, and after the collection that freed
    /// most
    #[arg(long, value_name = "FILE", value_parser = PathBufValueParser::new().try_map(a_file))]
    pub(crate) page_sample: Option<PathBuf>,

    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,

    /// Print check values and figures as the peers do, and nothing else
    #[arg(long, conflicts_with = "json")]
    pub(crate) as_peer: bool,

    #[command(flatten, next_help_heading = "Options of the heap (HEAPWOOD=key=value,... sets them, too)")]
    pub(crate) heap: HeapFlags,
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
pub(crate) struct Bench {
    /// Which workload
    #[arg(value_name = "WORKLOAD", value_parser = bench::subjects())]
    pub(crate) subject: Subject,

    /// How much of it
    #[arg(help = n_help(), allow_negative_numbers = true, value_parser = parse_count)]
    pub(crate) n: Option<u64>,

    /// Compare with these only, separated by commas: a name such as java-serial, or a family such as java; none runs
    /// Heapwood alone [default: every peer that has the workload]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) peers: Option<Vec<String>>,

    /// How often each program runs, after the warm-up [default: 5, and 7 for pages and layout]
    #[arg(long, value_name = "K", allow_negative_numbers = true,
          value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) runs: Option<u32>,

    /// With pages: the sizes of the heaps, separated by commas [default: 4MiB,1GiB,16GiB,1TiB,16TiB]
    #[arg(long, value_name = "LIST", value_delimiter = ',', allow_hyphen_values = true,
          value_parser = bench::parse_heap)]
    pub(crate) heap: Option<Vec<usize>>,

    /// Run Heapwood a second time with the growth percentage at which its max RSS is that of PEER
    #[arg(long, value_name = "PEER")]
    pub(crate) equal_rss: Option<String>,

    /// Print one JSON object instead of tables
    #[arg(long)]
    pub(crate) json: bool,

    /// Draw a picture, too
    #[arg(long, value_name = "FILE.svg", value_parser = PathBufValueParser::new().try_map(a_picture))]
    pub(crate) plot: Option<PathBuf>,

    /// Where the peers' sources are [default: the folder peers of the sources that this command was built from]
    #[arg(long, value_name = "DIR")]
    pub(crate) peers_dir: Option<PathBuf>,

    /// Where the peers are built [default: the folder peers in the target folder]
    #[arg(long, value_name = "DIR")]
    pub(crate) build_dir: Option<PathBuf>,
}

#[derive(Parser)]
pub(crate) struct Doctor {
    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

/// The names of all workloads, each with its line of help.
fn workloads() -> impl TypedValueParser<Value = &'static Workload> {
    let names = heapwood_workloads::ALL.iter().map(|w| PossibleValue::new(w.name).help(w.about));
    PossibleValuesParser::new(names)
        .map(|name| Workload::find(&name).expect("the parser lets through only the names it was given"))
}

/// What N is, workload by workload.
fn sizes() -> String {
    let each =
        heapwood_workloads::ALL.iter().map(|w| format!("the {} of {} ({})", w.n.unit, w.name, w.n.usual));
    each.collect::<Vec<_>>().join(", ")
}

fn n_help() -> String {
    format!("How much of it: {}", sizes())
}

fn parse_count(text: &str) -> Result<u64, String> {
    match text.parse::<u64>() {
        Ok(0) => Err("it must be at least 1".into()),
        Ok(n) => Ok(n),
        Err(_) if text.starts_with('-') && text[1..].parse::<u64>().is_ok() => {
            Err("it must not be negative".into())
        }
        Err(_) if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) => {
            Err("it is larger than any number this program counts to".into())
        }
        Err(_) => Err(format!("it must be a whole number: {}", sizes())),
    }
}

/// A file for output, which a lone dash is not.
fn a_file(path: PathBuf) -> Result<PathBuf, &'static str> {
    match path.as_os_str() == "-" {
        true => {
            Err("it is not written to standard output: give the name of a file (./- for one of that name)")
        }
        false => Ok(path),
    }
}

/// A file for a picture: SVG is what is written, whatever its name says.
pub(crate) fn a_picture(path: PathBuf) -> Result<PathBuf, String> {
    let path = a_file(path)?;
    match path.extension() {
        Some(other) if !other.eq_ignore_ascii_case("svg") => {
            let svg = path.with_extension("svg");
            let svg = legible(svg.file_name().unwrap_or(svg.as_os_str()));
            Err(format!("pictures are written as SVG only: name it {svg}, or without an extension"))
        }
        _ => Ok(path),
    }
}

/// Says what the parser has to say instead of arguments, such as help or what is wrong with them.
pub(crate) fn answer(answer: clap::Error) -> ExitCode {
    let code = ExitCode::from(answer.exit_code() as u8);
    if answer.use_stderr() {
        // Without styles: a terminal could not tell them from those in an argument that the message repeats.
        complain(quoting(answer).render().to_string().trim_end());
    } else {
        written(answer.print().and_then(|()| std::io::stdout().flush()));
    }
    code
}

/// The error with what it repeats of the command line on one line and visible.
fn quoting(mut error: clap::Error) -> clap::Error {
    for kind in [ContextKind::InvalidArg, ContextKind::InvalidValue, ContextKind::InvalidSubcommand] {
        if let Some(ContextValue::String(given)) = error.get(kind)
            && let shown = escaped(given)
            && shown != *given
        {
            error.insert(kind, ContextValue::String(shown));
            // That would repeat it, too.
            error.remove(ContextKind::Suggested);
        }
    }
    error
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
    fn counts_say_what_is_wrong() {
        assert_eq!(parse_count("21"), Ok(21));
        assert!(parse_count("-1").unwrap_err().contains("negative"));
        assert!(parse_count("many").unwrap_err().contains("whole number"));
        assert!(parse_count("99999999999999999999999").unwrap_err().contains("larger"));
        assert!(parse_count("0").is_err() && parse_count("").is_err() && parse_count("1.5").is_err());
    }
}
