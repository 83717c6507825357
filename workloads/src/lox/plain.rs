//! A program in a heap without a session. The heap collects at any allocation; what the program uses is on the thread's stack, and in
//! objects.

use super::front::{LoxError, Program};
use super::machine::{Machine, Progress, State};
use heapwood::Mutator;

/// Runs a program, and passes what it prints to `print`, line by line.
///
/// # Errors
/// A mistake that the program made.
pub fn run(m: &Mutator, program: &Program, print: &mut dyn FnMut(&str)) -> Result<(), LoxError> {
    let state = m.alloc(State::new(m, program));
    let mut machine = Machine::new(program, print);
    while machine.go_on(m, &state)? == Progress::CollectionDue {}
    Ok(())
}
