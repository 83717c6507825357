//! Messages on standard error, and the names in them. Invariant: no control character but a line end gets there, whatever
//! names and texts a message repeats, so that nobody's file name moves the cursor or colours the terminal; and a message
//! takes no memory, of which there may be none left.

use std::ffi::OsStr;
use std::fmt::{self, Display, Write as _};
use std::io::Write as _;
use std::sync::OnceLock;

/// What this program is called in its messages.
static NAME: OnceLock<&'static str> = OnceLock::new();

/// From now on messages begin with this name; only the first call counts.
pub fn name(program: &'static str) {
    let _ = NAME.set(program);
}

/// Writes a message to standard error behind the program's name.
pub fn complain(text: impl Display) {
    as_it_is(format_args!("{}: {text}", NAME.get().unwrap_or(&"heapwood")));
}

/// Writes lines to standard error. If that cannot be done, there is nobody to tell.
pub fn as_it_is(text: impl Display) {
    let mut lines = Lines { bytes: [0; 512], len: 0 };
    let _ = writeln!(lines, "{text}");
    lines.flush();
}

/// A name for a message: as it is, or quoted if it has what cannot be seen or moves the cursor.
pub fn legible(name: &(impl AsRef<OsStr> + ?Sized)) -> String {
    let name = name.as_ref().to_string_lossy();
    match name.chars().all(is_visible) {
        true => name.into_owned(),
        false => format!("{name:?}"),
    }
}

/// A text on one line, with escape sequences for what cannot be seen.
pub fn escaped(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if is_visible(c) { shown.push(c) } else { shown.extend(c.escape_debug()) }
    }
    shown
}

/// Whether a character shows itself and does nothing else.
fn is_visible(c: char) -> bool {
    matches!(c, '"' | '\'' | '\\') || c.escape_debug().len() == 1
}

/// What is on its way to standard error.
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
