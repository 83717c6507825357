//! The text of a file of the system, or the reason why it cannot be read: what findings are made from. Invariant: nothing but
//! reading happens here, so tests give findings the texts of other machines.

use std::path::Path;

/// What a file says, or why it says nothing.
pub(super) type Text = std::io::Result<String>;

/// Paths in /proc/self/maps need not be UTF-8.
pub(super) fn read(path: impl AsRef<Path>) -> Text {
    std::fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}
