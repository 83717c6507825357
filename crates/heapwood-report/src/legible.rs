//! Messages on standard error, and names in them. Messages allocate nothing, since memory may be exhausted. Invariant:
//! no control character except a line end is written, so no file name that a message repeats can move the cursor or
//! colour the terminal.

use std::ffi::OsStr;
use std::fmt::{self, Display, Write as _};
use std::io::Write as _;
use std::sync::OnceLock;

/// The program's name in its messages.
static NAME: OnceLock<&'static str> = OnceLock::new();

/// Sets the program's name in messages; only the first call counts.
pub fn name(program: &'static str) {
    let _ = NAME.set(program);
}

/// Writes a message with the program's name to standard error.
pub fn complain(text: impl Display) {
    as_it_is(format_args!("{}: {text}", NAME.get().unwrap_or(&"heapwood")));
}

/// Writes lines to standard error. Errors of this are ignored.
pub fn as_it_is(text: impl Display) {
    let mut lines = Lines { bytes: [0; 512], len: 0 };
    let _ = writeln!(lines, "{text}");
    lines.flush();
}

/// A name for a message, quoted if it has invisible or control characters.
pub fn legible(name: &(impl AsRef<OsStr> + ?Sized)) -> String {
    let name = name.as_ref().to_string_lossy();
    match name.chars().all(is_visible) {
        true => name.into_owned(),
        false => format!("{name:?}"),
    }
}

/// A text on one line, with escape sequences for invisible characters.
pub fn escaped(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if is_visible(c) { shown.push(c) } else { shown.extend(c.escape_debug()) }
    }
    shown
}

/// Whether a character is printable, and nothing else.
fn is_visible(c: char) -> bool {
    matches!(c, '"' | '\'' | '\\') || c.escape_debug().len() == 1
}

/// Writes to standard error line by line.
struct Lines {
    bytes: [u8; 512],
    len: usize,
}

impl Lines {
    fn push(&mut self, c: char) {
        let mut bytes = [0; 4];
        let bytes = c.encode_utf8(&mut bytes).as_bytes();
        if self.len + bytes.len() > self.bytes.len() {
            self.flush();
        }
        self.bytes[self.len..self.len + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }

    fn flush(&mut self) {
        let _ = std::io::stderr().write_all(&self.bytes[..self.len]);
        self.len = 0;
    }
}

impl fmt::Write for Lines {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            match c == '\n' || is_visible(c) {
                true => self.push(c),
                false => c.escape_debug().for_each(|c| self.push(c)),
            }
        }
        Ok(())
    }
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
