//! A program in a heap of its own, with a session. The heap collects between the calls in which the program runs.
#![forbid(unsafe_code)]

use super::front::{LoxError, Program};
use super::machine::{Machine, Progress, State};
use heapwood::session::Session;
use heapwood::{Config, HeapError, Stats};

/// Why a program did not run to its end.
#[derive(Debug)]
pub enum RunError {
    /// There is no heap.
    Heap(HeapError),
    /// The program made a mistake.
    Lox(LoxError),
}

impl std::fmt::Display for RunError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RunError::Heap(error) => error.fmt(f),
            RunError::Lox(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for RunError {}

/// Runs a program, and passes what it prints to `print`, line by line. Returns the heap's statistics.
///
/// # Errors
/// There is no heap, or the program made a mistake.
pub fn run(config: Config, program: &Program, print: &mut dyn FnMut(&str)) -> Result<Stats, RunError> {
    let mut session = Session::<State>::new(config, |m| State::new(m, program)).map_err(RunError::Heap)?;
    let mut machine = Machine::new(program, print);
    while session.mutate(|m, state| machine.go_on(m, state)).map_err(RunError::Lox)?
        == Progress::CollectionDue
    {}
    Ok(session.stats())
}
