//! Lines for standard output and standard error, and files. If a line cannot be written (a full disk), the program ends
//! with the reason: `println!` would panic. Whether a file can be written is asked before anything runs for minutes.
//! Invariant: no control character but a line end reaches standard error, whatever names and texts a message repeats, so
//! that nobody's file name moves the cursor or colours the terminal.

use crate::failure::Failure;
use serde::Serialize;
use std::ffi::OsStr;
use std::fmt::{Arguments, Display};
use std::io::Write;
use std::path::Path;

/// Writes a line and a newline.
pub(crate) fn line(text: Arguments<'_>) {
    written(writeln!(std::io::stdout(), "{text}"));
}

/// Ends the program if something for standard output could not be written.
pub(crate) fn written(outcome: std::io::Result<()>) {
    if let Err(e) = outcome {
        complain(format_args!("heapwood: the output could not be written: {e}"));
        std::process::exit(1);
    }
}

/// Writes a line to standard error. If that cannot be written either, there is nobody to tell.
pub(crate) fn complain(text: impl Display) {
    let lines = text.to_string().lines().map(|line| escaped(line) + "\n").collect::<String>();
    let _ = std::io::stderr().write_all(lines.as_bytes());
}

/// Whether a character shows itself and does nothing else.
fn is_visible(c: char) -> bool {
    matches!(c, '"' | '\'' | '\\') || c.escape_debug().len() == 1
}

/// A text on one line, with escape sequences for what cannot be seen.
pub(crate) fn escaped(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if is_visible(c) { shown.push(c) } else { shown.extend(c.escape_debug()) }
    }
    shown
}

/// A name for a message: as it is, or quoted if it has what cannot be seen or moves the cursor.
pub(crate) fn legible(name: &(impl AsRef<OsStr> + ?Sized)) -> String {
    let name = name.as_ref().to_string_lossy();
    match name.chars().all(is_visible) {
        true => name.into_owned(),
        false => format!("{name:?}"),
    }
}

/// `println!` by way of [`line()`].
macro_rules! say {
    ($($text:tt)*) => { $crate::output::line(format_args!($($text)*)) };
}
pub(crate) use say;

/// Whether a file can be made or overwritten; `what` it is goes into the message.
pub(crate) fn check_writable(path: &Path, what: &str) -> Result<(), Failure> {
    let is_new = !path.exists();
    let open = std::fs::OpenOptions::new().create(true).append(true).open(path);
    open.map(drop).map_err(|e| cannot_write(path, what, e))?;
    // Nothing is left there if the run comes to nothing.
    if is_new { std::fs::remove_file(path).map_err(|e| cannot_write(path, what, e)) } else { Ok(()) }
}

/// That it cannot.
pub(crate) fn cannot_write(path: &Path, what: &str, why: impl Display) -> Failure {
    Failure::run(format!("the {what} cannot be written to {}: {why}", legible(path)))
}

/// Writes a file of its own for what was drawn.
pub(crate) fn write_picture(path: &Path, drawn: Result<String, impl Display>) -> Result<(), Failure> {
    let svg = drawn.map_err(|e| cannot_write(path, "picture", e))?;
    std::fs::write(path, svg).map_err(|e| cannot_write(path, "picture", e))
}

/// Writes one line of JSON.
pub(crate) fn json(of: &impl Serialize) -> Result<(), Failure> {
    line(format_args!("{}", serde_json::to_string(of).map_err(Failure::run)?));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn names_are_quoted_where_they_must() {
        for plain in ["a.json", "/tmp/naïve file", "it's", "C:\\x", "語"] {
            assert_eq!(legible(plain), plain);
        }
        assert_eq!(legible("a\x1b[31m"), "\"a\\u{1b}[31m\"");
        assert_eq!(legible("a\nb\u{9b}\u{202e}"), "\"a\\nb\\u{9b}\\u{202e}\"");
        assert_eq!(legible(OsStr::from_bytes(b"\xff")), "\u{fffd}");
    }
}
