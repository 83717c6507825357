//! The frame of a program, from its command line to its exit code. Exit codes: 0 success, 1 the operation failed, 2
//! the command line is wrong, 128 + n signal n ended it. Invariant: an error in the command line is reported before
//! anything runs.

use crate::error::CommandError;
use crate::legible::{self, escaped};
use crate::output::written;
use clap::Parser;
use clap::error::{ContextKind, ContextValue};
use std::io::Write;
use std::process::{ExitCode, Termination};

/// Parses the command line and runs the program under this name, whose result may be an exit code. `main` calls it first.
pub fn main<A: Parser, T: Termination>(
    name: &'static str,
    run: impl FnOnce(A) -> Result<T, CommandError>,
) -> ExitCode {
    restore_broken_pipe();
    legible::name(name);
    let args = match A::try_parse() {
        Ok(args) => args,
        Err(answer) => return self::answer(answer),
    };
    match run(args) {
        Ok(done) => done.report(),
        Err(failure) => {
            legible::complain(&failure.message);
            failure.code()
        }
    }
}

/// Restores the default action of SIGPIPE, so that the process ends quietly when no process reads its output any more
/// (`| head -1`), as other commands do. Rust's start-up code ignores the signal, so writes fail instead, and
/// `println!` panics.
fn restore_broken_pipe() {
    // SAFETY: the default action needs no handler; no other thread runs yet.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
}

/// Prints the parser's help, or its error.
fn answer(answer: clap::Error) -> ExitCode {
    let code = ExitCode::from(answer.exit_code() as u8);
    if answer.use_stderr() {
        // Without styles: a terminal could not tell them from those in an argument that the message repeats.
        legible::as_it_is(quoting(answer).render().to_string().trim_end());
    } else {
        written(answer.print().and_then(|()| std::io::stdout().flush()));
    }
    code
}

/// The error, with the repeated parts of the command line on one line and escaped.
fn quoting(mut error: clap::Error) -> clap::Error {
    for kind in [ContextKind::InvalidArg, ContextKind::InvalidValue, ContextKind::InvalidSubcommand] {
        if let Some(ContextValue::String(given)) = error.get(kind)
            && let shown = escaped(given)
            && shown != *given
        {
            error.insert(kind, ContextValue::String(shown));
            // The suggestion would repeat it, too.
            error.remove(ContextKind::Suggested);
        }
    }
    error
}
