//! Errors of a workload on several threads: a thread could not be started or attached, or the results of threads
//! differ. Invariant: an error names the thread and the next step.

use heapwood::HeapError;
use std::fmt;
use std::io;

/// Why a run on several threads has no result.
#[derive(Debug)]
pub enum ThreadsError {
    /// The system started no thread.
    Spawn {
        /// Its number, from 1.
        thread: u32,
        /// The number of threads.
        threads: u32,
        /// The system's error.
        why: io::Error,
    },
    /// A thread could not be attached.
    Attach {
        /// Its number, from 1.
        thread: u32,
        /// The heap's error.
        why: HeapError,
    },
    /// A thread's results differ from the first's.
    Differs {
        /// Its number, from 1.
        thread: u32,
        /// The number of the check value, from 1.
        line: usize,
        /// The thread's value.
        here: Option<String>,
        /// The first thread's value.
        first: Option<String>,
    },
}

impl fmt::Display for ThreadsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ThreadsError::Spawn { thread, threads, why } => write!(
                f,
                "thread {thread} of {threads} cannot be started: {why}; use fewer, or allow the process more (ulimit -u)"
            ),
            ThreadsError::Attach { thread, why } => {
                write!(f, "thread {thread} cannot be attached to the heap: {why}")
            }
            ThreadsError::Differs { thread, line, here, first } => {
                let show = |said: &Option<String>| {
                    said.as_deref().map_or("nothing".into(), |text| format!("{text:?}"))
                };
                write!(
                    f,
                    "the threads did not find the same: in check value {line} thread {thread} has {}, but thread 1 {}: the \
                     heap has lost or mixed up objects",
                    show(here),
                    show(first)
                )
            }
        }
    }
}

impl std::error::Error for ThreadsError {}
