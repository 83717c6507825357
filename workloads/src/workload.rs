//! The description of a workload: a name, its sizes, and a function that reports its results. [`ALL`](crate::ALL) lists
//! them. A new workload is a file and an entry there.

use crate::threads_error::ThreadsError;
use heapwood::Mutator;
use serde_json::{Map, Value, json};
use std::fmt;

/// A benchmark program.
pub struct Workload {
    /// Its name on the command line.
    pub name: &'static str,
    /// A description of one line.
    pub about: &'static str,
    /// The meaning of N.
    pub n: N,
    /// The threads that may each do the whole work.
    pub threads: Threads,
    /// The minimum of bytes that one thread keeps alive at once, for an N within its range.
    pub least_bytes: fn(u64) -> u128,
    /// The figures that it measures, in the order of its lines.
    pub figures: &'static [Figure],
    /// Runs it on several threads that share the work, if it can.
    pub shared: Option<Share>,
    /// Runs it for an N within its range. Reports each line when it is known.
    pub run: fn(&Mutator, u64, &mut dyn FnMut(Line)),
}

/// Runs a workload for an N within its range on N threads that share the work, including the calling one. Reports each
/// line.
pub type Share = fn(&Mutator, u32, u64, &mut dyn FnMut(Line)) -> Result<(), ThreadsError>;

/// The meaning of a workload's N.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct N {
    /// The unit, such as "depth".
    pub unit: &'static str,
    /// The default.
    pub usual: u64,
    /// The maximum; the minimum is 1.
    pub most: u64,
}

/// The threads that a workload may run on, each doing the whole work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Threads {
    /// The default.
    pub usual: u32,
    /// The maximum; the minimum is 1.
    pub most: u32,
}

impl Threads {
    /// One thread only: it measures the heap as a whole.
    pub const ONE: Threads = Threads { usual: 1, most: 1 };
    /// One by default, more on request.
    pub const USUALLY_ONE: Threads = Threads { usual: 1, most: 1024 };
}

/// How the figures of several threads are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Across {
    /// Their sum.
    Sum,
    /// Their maximum.
    Largest,
}

/// A figure that a workload measures itself, beside the operating system's account of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figure {
    /// Its name in `figure NAME VALUE`.
    pub name: &'static str,
    /// Its label in tables and pictures, with its unit.
    pub label: &'static str,
    /// Whether it is the subject of the workload, instead of the CPU time of the process.
    pub headline: bool,
    /// How several threads' values are combined.
    pub across: Across,
}

/// A step of a workload.
#[derive(Clone, Debug)]
pub struct Line {
    /// The text for people, of one or more lines.
    pub text: String,
    /// The check value, which every program that does the same work prints.
    pub check: String,
    /// The measurements, by the names in [`Workload::figures`].
    pub figures: Vec<(&'static str, f64)>,
    /// The fields for JSON.
    pub fields: Value,
}

impl Line {
    /// The step of a workload whose only result is a checksum, with what was counted and its number.
    pub(crate) fn checked(workload: &str, (what, number): (&str, u64), checksum: u64) -> Line {
        let checksum = format!("0x{checksum:016x}");
        let check = format!("{workload} {what} {number} checksum {checksum}");
        let fields = Map::from_iter([(what.into(), json!(number)), ("checksum".into(), json!(checksum))]);
        Line { text: check.clone(), check, figures: Vec::new(), fields: fields.into() }
    }

    /// Adds a measurement, also to the text and to the fields.
    pub(crate) fn add_figure(&mut self, name: &'static str, value: f64) {
        self.text += &format!("\n{} {value:.3}", name.replace('_', " "));
        self.fields[name] = json!(value);
        self.figures.push((name, value));
    }
}

/// An N that a workload does not take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfRangeError {
    workload: &'static str,
    n: N,
    given: u64,
}

/// A number of threads that a workload does not run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadsOutOfRangeError {
    workload: &'static str,
    threads: Threads,
    given: u64,
}

impl fmt::Display for ThreadsOutOfRangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ThreadsOutOfRangeError { workload, threads, given } = self;
        match threads.most {
            1 => write!(f, "{workload} runs on one thread, not {given}: it measures the heap as a whole"),
            most => {
                write!(f, "{workload} runs on 1 to {most} threads (usually {}), not {given}", threads.usual)
            }
        }
    }
}

impl std::error::Error for ThreadsOutOfRangeError {}

impl fmt::Display for OutOfRangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OutOfRangeError { workload, n, given } = self;
        write!(f, "{workload} takes a {} of 1 to {} (usually {}), not {given}", n.unit, n.most, n.usual)
    }
}

impl std::error::Error for OutOfRangeError {}

impl Workload {
    /// `n` if the workload takes it, its default if there is none.
    pub fn check(&self, n: Option<u64>) -> Result<u64, OutOfRangeError> {
        match n.unwrap_or(self.n.usual) {
            n if (1..=self.n.most).contains(&n) => Ok(n),
            given => Err(OutOfRangeError { workload: self.name, n: self.n, given }),
        }
    }

    /// `threads` if the workload runs on that many, its default if there is none.
    pub fn check_threads(&self, threads: Option<u64>) -> Result<u32, ThreadsOutOfRangeError> {
        let Threads { usual, most } = self.threads;
        match threads.unwrap_or(usual.into()) {
            threads if (1..=most.into()).contains(&threads) => Ok(threads as u32),
            given => Err(ThreadsOutOfRangeError { workload: self.name, threads: self.threads, given }),
        }
    }
}
