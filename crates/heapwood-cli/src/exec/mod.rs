//! `heapwood exec`: an unmodified program of libgc on Heapwood, with proof that it is. The library connects to a socket when a
//! process makes its heap, and the command reads the process's mappings.
//!
//! | module | content |
//! |---|---|
//! | `library` | where the library is, and the folder that leads a program to it |
//! | `elf` | what an ELF file says of itself |
//! | `refusal` | programs that would not load the library |
//! | `witness` | processes that say that they have loaded it |
//! | `check` | the symbols that a program imports |
//! | `compare` | pairs of runs |
//! | `expression` | lines that are not compared |
//!
//! Invariant: a success says that each process of the program that made a heap of libgc made it with this library.

mod check;
mod compare;
mod elf;
mod expression;
mod library;
mod refusal;
mod witness;

use crate::args::Exec;
use heapwood_report::CommandError;
use library::Library;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus};
use witness::Witness;

pub(crate) fn run(args: &Exec) -> Result<ExitCode, CommandError> {
    let library = Library::find(args.library.as_deref())?;
    if let Some(program) = &args.check {
        check::run(&library, &found(program)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let [program, arguments @ ..] = &args.program[..] else {
        return Err(CommandError::usage("heapwood exec: name a program behind `--`"));
    };
    let program = found(Path::new(program))?;
    refusal::look(&library, &program)?;
    match args.compare {
        Some(pairs) => compare::run(&library, &program, arguments, pairs, args.ignore.as_deref()),
        None => {
            let witness = Witness::new()?;
            let mut command = Command::new(&program);
            library.lead(command.args(arguments));
            witness.be_told_by(&mut command);
            let status = command
                .status()
                .map_err(|e| CommandError::run(format_args!("{}: {e}", program.display())))?;
            let seen = witness.end();
            seen.check(&library, &program)?;
            if !args.quiet {
                seen.summary();
            }
            Ok(code(status))
        }
    }
}

/// The exit code of a program, as shells have it.
fn code(status: ExitStatus) -> ExitCode {
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    ExitCode::from(code as u8)
}

/// The file of a program, as a shell finds it.
fn found(program: &Path) -> Result<PathBuf, CommandError> {
    if program.components().count() > 1 || program.is_absolute() {
        return match program.is_file() {
            true => Ok(program.to_owned()),
            false => Err(CommandError::usage(format_args!("there is no program {}", program.display()))),
        };
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file()).ok_or_else(
        || {
            CommandError::usage(format_args!(
                "there is no program {} in the folders of PATH",
                program.display()
            ))
        },
    )
}
