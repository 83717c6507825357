//! Why the command ends with another exit code than 0: 1 if what was asked for failed, 2 if it cannot be asked for,
//! and 128 and the signal's number if it was interrupted, as shells have it.

use std::fmt::Display;
use std::process::ExitCode;

/// A message for the user and the exit code that goes with it.
#[derive(Debug)]
pub struct CommandError {
    /// What is said on standard error.
    pub message: String,
    code: u8,
}

impl CommandError {
    /// What was asked for did not work out.
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
