//! A program from its command line to its exit code. Whatever is wrong with the command line is said before anything
//! runs. Exit codes: 0 done, 1 what was asked for failed, 2 the command line is wrong, 128 + n signal n ended it.

use crate::error::CommandError;
use crate::legible::{self, escaped};
use crate::output::written;
use clap::Parser;
use clap::error::{ContextKind, ContextValue};
use std::io::Write;
use std::process::ExitCode;

/// Parses the command line and runs the program that is called so. Call it first in `main`.
pub fn main<A: Parser>(name: &'static str, run: impl FnOnce(A) -> Result<(), CommandError>) -> ExitCode {
    restore_broken_pipe();
    legible::name(name);
    let args = match A::try_parse() {
        Ok(args) => args,
        Err(answer) => return self::answer(answer),
    };
    match run(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            legible::complain(&failure.message);
            failure.code()
        }
    }
}

/// Lets the process end quietly when nobody reads its output any more (`| head -1`), as other commands do. Rust's
/// start-up code ignores SIGPIPE, so that writing fails instead, and `println!` panics.
fn restore_broken_pipe() {
    // SAFETY: the default action needs no handler; no other thread runs yet that could care.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
}

/// Says what the parser has to say instead of arguments, such as help or what is wrong with them.
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

/// The error with what it repeats of the command line on one line and visible.
fn quoting(mut error: clap::Error) -> clap::Error {
    for kind in [ContextKind::InvalidArg, ContextKind::InvalidValue, ContextKind::InvalidSubcommand] {
        if let Some(ContextValue::String(given)) = error.get(kind)
            && let shown = escaped(given)
            && shown != *given
        {
            error.insert(kind, ContextValue::String(shown));
            // That would repeat it, too.
            error.remove(ContextKind::Suggested);
        }
    }
    error
}
