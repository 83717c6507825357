//! Errors of the command, with its exit code: 1 if the operation failed, 2 for a wrong command line, and 128 plus the
//! signal's number if it was interrupted, as shells have it.

use std::fmt::Display;
use std::process::ExitCode;

/// A message for the user, and the exit code.
#[derive(Debug)]
pub struct CommandError {
    /// The text on standard error.
    pub message: String,
    code: u8,
}

impl CommandError {
    /// The operation has failed.
    pub fn run(why: impl Display) -> Self {
        CommandError { message: why.to_string(), code: 1 }
    }

    /// The command line asks for something that does not exist.
    pub fn usage(why: impl Display) -> Self {
        CommandError { message: why.to_string(), code: 2 }
    }

    /// A signal ended it.
    pub fn interrupted(signal: i32) -> Self {
        CommandError {
            message: "interrupted; every program it had started was ended".into(),
            code: 128 + signal as u8,
        }
    }

    /// The exit code.
    pub fn code(&self) -> ExitCode {
        ExitCode::from(self.code)
    }
}
