//! The workload, its size, and its threads.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use heapwood_report::CommandError;
use heapwood_report::legible::legible;
use heapwood_workloads::{OutOfRangeError, ThreadsOutOfRangeError, Workload};
use std::fmt;

/// The workload to run.
#[derive(clap::Args)]
pub(crate) struct What {
    /// The workload
    #[arg(value_parser = workloads())]
    workload: &'static Workload,

    /// Size; the unit depends on the workload
    #[arg(allow_negative_numbers = true, value_parser = parse_count)]
    n: Option<u64>,

    /// Run on T threads. Each does the whole work, and all must have the same results. With --arena and --share they
    /// share the work. For pipe T is the number of pairs of threads [default: 1; conalloc: 4]
    #[arg(long, value_name = "T", allow_hyphen_values = true, value_parser = parse_threads)]
    threads: Option<u64>,

    /// Share the work among the threads (trees): each takes the next free line of the table
    #[arg(long)]
    share: bool,

    /// Use arenas (trees): Heapwood's by default. KIND small-pages, huge-pages (2 MiB at a time) or early-return (also
    /// returned after 8 MiB) is an arena of the document on arenas, to repeat its table; bump is a bump arena for this
    /// program
    #[arg(long, value_name = "KIND", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    arena: Option<String>,
}

impl What {
    /// The workload, in arenas or not, shared by its threads or not.
    pub(crate) fn workload(&self) -> Result<&'static Workload, CommandError> {
        let workload = self.in_arenas()?;
        if !self.share {
            return Ok(workload);
        }
        workload.sharing().ok_or_else(|| {
            CommandError::usage(format!(
                "the threads of {} each do the whole work; --share needs trees, whose lines they can share",
                workload.name
            ))
        })
    }

    fn in_arenas(&self) -> Result<&'static Workload, CommandError> {
        let Some(kind) = &self.arena else { return Ok(self.workload) };
        let name = self.workload.name;
        if self.workload.in_arenas("").is_none() {
            return Err(CommandError::usage(format!(
                "{name} has no version in arenas; use --arena with trees"
            )));
        }
        self.workload.in_arenas(kind).ok_or_else(|| {
            CommandError::usage(format!(
                "there are no arenas of the kind {}: it is small-pages, huge-pages, early-return or bump, or --arena alone for Heapwood's",
                legible(kind)
            ))
        })
    }

    /// The command's arguments for this size.
    pub(crate) fn spelled(&self, size: Size) -> String {
        let arena = match self.arena.as_deref() {
            None => String::new(),
            Some("") => " --arena".into(),
            Some(kind) => format!(" --arena={kind}"),
        };
        let share = if self.share { " --share" } else { "" };
        format!("{} {size}{arena}{share}", self.workload.name)
    }

    /// The numbers, if they are in the workload's range, or its defaults.
    pub(crate) fn size(&self) -> Result<Size, CommandError> {
        let n: Result<u64, OutOfRangeError> = self.workload()?.check(self.n);
        let threads: Result<u32, ThreadsOutOfRangeError> = self.workload()?.check_threads(self.threads);
        Ok(Size { n: n.map_err(CommandError::usage)?, threads: threads.map_err(CommandError::usage)? })
    }
}

/// The size of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) n: u64,
    /// The threads, each of which does all of that.
    pub(crate) threads: u32,
}

/// The arguments after the workload in a command.
impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Size { n, threads } = self;
        match threads {
            1 => write!(f, "{n}"),
            _ => write!(f, "{n} --threads {threads}"),
        }
    }
}

/// The names of all workloads, each with its line of help and what N is.
fn workloads() -> impl TypedValueParser<Value = &'static Workload> {
    let names = heapwood_workloads::ALL.iter().map(|w| {
        PossibleValue::new(w.name).help(format!("{}; N: {} [default: {}]", w.about, w.n.unit, w.n.usual))
    });
    let called_by_flags = heapwood_workloads::IN_ARENAS.iter().chain(heapwood_workloads::SHARED);
    let hidden = called_by_flags.map(|w| PossibleValue::new(w.name).hide(true));
    PossibleValuesParser::new(names.chain(hidden))
        .map(|name| Workload::find(&name).expect("the parser accepts only these names"))
}

/// The meaning of N, by workload.
fn sizes() -> String {
    let each =
        heapwood_workloads::ALL.iter().map(|w| format!("the {} of {} ({})", w.n.unit, w.name, w.n.usual));
    each.collect::<Vec<_>>().join(", ")
}

fn parse_count(text: &str) -> Result<u64, String> {
    parse(text, || format!("it must be a whole number: {}", sizes()))
}

fn parse_threads(text: &str) -> Result<u64, String> {
    parse(text, || "it must be a whole number of threads".into())
}

fn parse(text: &str, no_number: impl Fn() -> String) -> Result<u64, String> {
    match text.parse::<u64>() {
        Ok(0) => Err("it must be at least 1".into()),
        Ok(n) => Ok(n),
        Err(_) if text.starts_with('-') && text[1..].parse::<u64>().is_ok() => {
            Err("it must not be negative".into())
        }
        Err(_) if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) => {
            Err("it must be below 2^64".into())
        }
        Err(_) => Err(no_number()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_counts_name_the_cause() {
        assert_eq!(parse_count("21"), Ok(21));
        assert!(parse_count("-1").unwrap_err().contains("negative"));
        assert!(parse_count("many").unwrap_err().contains("whole number"));
        assert!(parse_count("99999999999999999999999").unwrap_err().contains("below 2^64"));
        assert!(parse_count("0").is_err() && parse_count("").is_err() && parse_count("1.5").is_err());
        assert!(parse_threads("two").unwrap_err().contains("whole number of threads"));
    }

    #[test]
    fn a_size_is_shown_as_it_is_typed() {
        assert_eq!(Size { n: 18, threads: 1 }.to_string(), "18");
        assert_eq!(Size { n: 18, threads: 2 }.to_string(), "18 --threads 2");
    }
}
