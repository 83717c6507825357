//! Why a workload on several threads failed: it got no thread, a thread could not join the heap, or the threads differ in what they
//! found. Invariant: it names the thread, and says what to do next.

use heapwood::HeapError;
use std::fmt;
use std::io;

/// Why what several threads did is worth nothing.
#[derive(Debug)]
pub enum ThreadsError {
    /// The system gave no thread.
    Spawn {
        /// Its number, from 1.
        thread: u32,
        /// How many there were to be.
        threads: u32,
        /// What the system says.
        why: io::Error,
    },
    /// A thread could not join the heap.
    Attach {
        /// Its number, from 1.
        thread: u32,
        /// What the heap says.
        why: HeapError,
    },
    /// A thread found something else than the first.
    Differs {
        /// Its number, from 1.
        thread: u32,
        /// The number of the check value, from 1.
        line: usize,
        /// What the thread found.
        here: Option<String>,
        /// What the first one did.
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
            ThreadsError::Attach { thread, why } => write!(f, "thread {thread} cannot join the heap: {why}"),
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
