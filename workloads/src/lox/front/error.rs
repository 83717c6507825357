//! What is wrong with a program, in a sentence with a line.

use std::fmt;

/// An error of a Lox program: of its text, or of its run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoxError {
    /// The line, from 1 on.
    pub line: u32,
    /// The sentence, without a capital or a full stop.
    pub message: String,
}

impl fmt::Display for LoxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for LoxError {}
