//! Lines on standard output, and output files. Whether a file can be written is checked before anything runs for
//! minutes. Invariant: if a line cannot be written (a full disk), the program ends with the reason, where `println!`
//! would panic.

use crate::error::CommandError;
use crate::legible::{complain, legible};
use serde::Serialize;
use std::fmt::{Arguments, Display};
use std::io::Write;
use std::path::Path;

/// Writes a line and a newline.
pub fn line(text: Arguments<'_>) {
    written(writeln!(std::io::stdout(), "{text}"));
}

/// Ends the program if writing to standard output has failed.
pub fn written(outcome: std::io::Result<()>) {
    if let Err(e) = outcome {
        complain(format_args!("the output could not be written: {e}"));
        std::process::exit(1);
    }
}

/// As `println!`, by [`output::line`](crate::output::line).
#[macro_export]
macro_rules! say {
    ($($text:tt)*) => { $crate::output::line(format_args!($($text)*)) };
}

/// Checks that a file can be created or overwritten; `what` names it in the message.
///
/// # Errors
/// It cannot be written, and why.
pub fn check_writable(path: &Path, what: &str) -> Result<(), CommandError> {
    let is_new = !path.exists();
    let open = std::fs::OpenOptions::new().create(true).append(true).open(path);
    // A full device reports an error for an empty write, which leaves every other file unchanged.
    open.and_then(|mut file| file.write(&[])).map_err(|e| cannot_write(path, what, e))?;
    // A run that fails leaves no file.
    if is_new { std::fs::remove_file(path).map_err(|e| cannot_write(path, what, e)) } else { Ok(()) }
}

/// The error for a file that cannot be written.
fn cannot_write(path: &Path, what: &str, why: impl Display) -> CommandError {
    CommandError::run(format!("the {what} cannot be written to {}: {why}", legible(path)))
}

/// Writes a file; `what` names it in the message.
///
/// # Errors
/// It cannot be written, and why.
pub fn write_file(path: &Path, what: &str, content: impl AsRef<[u8]>) -> Result<(), CommandError> {
    std::fs::write(path, content).map_err(|e| cannot_write(path, what, e))
}

/// Writes a drawn picture to a file.
///
/// # Errors
/// It could not be drawn or cannot be written, and why.
pub fn write_picture(path: &Path, drawn: Result<String, impl Display>) -> Result<(), CommandError> {
    let svg = drawn.map_err(|e| cannot_write(path, "picture", e))?;
    write_file(path, "picture", svg)
}

/// Writes one line of JSON.
///
/// # Errors
/// A value has no form in JSON.
pub fn json(of: &impl Serialize) -> Result<(), CommandError> {
    line(format_args!("{}", serde_json::to_string(of).map_err(CommandError::run)?));
    Ok(())
}
