//! What a workload is to those who run it: a name, the sizes it takes, and a function that reports what it finds.
//! [`ALL`](crate::ALL) lists them; adding one is its file and its entry there.

use crate::threads_error::ThreadsError;
use heapwood::Mutator;
use serde_json::Value;
use std::fmt;

/// A benchmark program.
pub struct Workload {
    /// What it is called on the command line.
    pub name: &'static str,
    /// One line about it.
    pub about: &'static str,
    /// What N counts.
    pub n: N,
    /// How many threads may each do the whole of it.
    pub threads: Threads,
    /// The bytes that one thread keeps alive at once at the least, for an N within its range.
    pub least_bytes: fn(u64) -> u128,
    /// The figures it measures itself, in the order of its lines.
    pub figures: &'static [Figure],
    /// Runs it on several threads that share its work, if they do.
    pub shared: Option<Share>,
    /// Runs it for an N within its range, reporting each line as soon as it is known.
    pub run: fn(&Mutator, u64, &mut dyn FnMut(Line)),
}

/// Runs a workload for an N within its range on so many threads, which share the work, the calling one among them; reports each line.
pub type Share = fn(&Mutator, u32, u64, &mut dyn FnMut(Line)) -> Result<(), ThreadsError>;

/// What a workload's one number means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct N {
    /// What is counted, such as "depth".
    pub unit: &'static str,
    /// The number if none is given.
    pub usual: u64,
    /// The largest; the smallest is 1.
    pub most: u64,
}

/// How many threads a workload may run on, each doing the whole of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Threads {
    /// The number if none is given.
    pub usual: u32,
    /// The largest; the smallest is 1.
    pub most: u32,
}

impl Threads {
    /// What it measures belongs to the whole heap.
    pub const ONE: Threads = Threads { usual: 1, most: 1 };
    /// One, unless more are wanted.
    pub const USUALLY_ONE: Threads = Threads { usual: 1, most: 1024 };
}

/// What a figure of several threads is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Across {
    /// The sum of theirs.
    Sum,
    /// The largest of theirs.
    Largest,
}

/// A figure that a workload measures itself, beside what the operating system says of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figure {
    /// Its name in `figure NAME VALUE`.
    pub name: &'static str,
    /// What it is called in tables and pictures, with its unit.
    pub label: &'static str,
    /// Whether it, rather than the CPU time of the whole process, is what the workload is for.
    pub headline: bool,
    /// What it is if several threads have it.
    pub across: Across,
}

/// A step of a workload.
#[derive(Clone, Debug)]
pub struct Line {
    /// The step for people to read; may have several lines.
    pub text: String,
    /// What every program that does the same work prints at this step.
    pub check: String,
    /// What was measured, by the names in [`Workload::figures`].
    pub figures: Vec<(&'static str, f64)>,
    /// The step for machines.
    pub fields: Value,
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
    /// `n` if the workload takes it, its usual number if there is none.
    pub fn check(&self, n: Option<u64>) -> Result<u64, OutOfRangeError> {
        match n.unwrap_or(self.n.usual) {
            n if (1..=self.n.most).contains(&n) => Ok(n),
            given => Err(OutOfRangeError { workload: self.name, n: self.n, given }),
        }
    }

    /// `threads` if the workload runs on so many, its usual number if there is none.
    pub fn check_threads(&self, threads: Option<u64>) -> Result<u32, ThreadsOutOfRangeError> {
        let Threads { usual, most } = self.threads;
        match threads.unwrap_or(usual.into()) {
            threads if (1..=most.into()).contains(&threads) => Ok(threads as u32),
            given => Err(ThreadsOutOfRangeError { workload: self.name, threads: self.threads, given }),
        }
    }
}
